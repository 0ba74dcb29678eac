"""How far a surface has moved, free of scale, shift and unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.compiled import njit
from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.graph import PixelGraph


def relative_change(
    graph: PixelGraph, anchored: BoolArray, new: FloatArray, old: npt.NDArray[np.floating[Any]]
) -> float:
    """Root mean square of new - old over that of new without each component's mean.

    A free component may move as a whole: its mean does not count as a change.
    """
    moved, relief, largest = _squares(graph.starts, anchored, new, old)
    if not np.isfinite(moved + relief):
        return float("nan")
    relief = max(relief, (1e-12 * largest) ** 2 * graph.size)
    return float(np.sqrt(moved / relief)) if relief > 0 else 0.0


@njit(cache=True)
def _squares(starts: Any, anchored: Any, new: Any, old: Any) -> Any:
    """Squared distances from the free means, of new - old and of new; largest |new|."""
    moved = relief = largest = 0.0
    for c in range(len(starts) - 1):
        lo, hi = starts[c], starts[c + 1]
        mean_moved = mean_new = 0.0
        for i in range(lo, hi):
            mean_moved += new[i] - old[i]
            mean_new += new[i]
        mean_moved = 0.0 if anchored[c] else mean_moved / (hi - lo)
        mean_new /= hi - lo
        for i in range(lo, hi):
            moved += (new[i] - old[i] - mean_moved) ** 2
            relief += (new[i] - mean_new) ** 2
            largest = max(largest, abs(new[i]))
    return moved, relief, largest


def remembered(graph: PixelGraph, anchored: BoolArray, x: FloatArray) -> SingleArray:
    """x without each free component's mean, in single precision: enough to compare with."""
    centred = np.empty(len(x), dtype=np.float32)
    _centre(graph.starts, anchored, x, centred)
    return centred


@njit(cache=True)
def _centre(starts: Any, anchored: Any, x: Any, centred: Any) -> None:
    for c in range(len(starts) - 1):
        lo, hi = starts[c], starts[c + 1]
        mean = 0.0
        for i in range(lo, hi):
            mean += x[i] - x[lo]
        mean = 0.0 if anchored[c] else x[lo] + mean / (hi - lo)
        for i in range(lo, hi):
            centred[i] = x[i] - mean
