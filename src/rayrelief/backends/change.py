"""How far a surface has moved, free of scale, shift and unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.graph import PixelGraph
from rayrelief.solvers.kernels import SUMMED, block_range


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


@njit(cache=True, parallel=True)
def _squares(starts: Any, anchored: Any, new: Any, old: Any) -> Any:
    """Squared distances from the free means, of new - old and of new; largest |new|."""
    moved = relief = largest = 0.0
    for c in range(len(starts) - 1):
        first, end = starts[c], starts[c + 1]
        blocks = (end - first + SUMMED - 1) // SUMMED
        sums = np.zeros((blocks, 3))
        if blocks == 1:
            sums[0, 0], sums[0, 1] = _moments(new, old, first, end)
        else:
            for k in prange(blocks):
                lo, hi = block_range(k, SUMMED, first, end)
                sums[k, 0], sums[k, 1] = _moments(new, old, lo, hi)
        mean_moved = 0.0 if anchored[c] else _total(sums, 0) / (end - first)
        mean_new = _total(sums, 1) / (end - first)
        if blocks == 1:
            sums[0] = _distances(new, old, mean_moved, mean_new, first, end)
        else:
            for k in prange(blocks):
                lo, hi = block_range(k, SUMMED, first, end)
                sums[k] = _distances(new, old, mean_moved, mean_new, lo, hi)
        moved += _total(sums, 0)
        relief += _total(sums, 1)
        largest = max(largest, sums[:, 2].max())
    return moved, relief, largest


@njit(inline="always")
def _moments(new: Any, old: Any, lo: int, hi: int) -> Any:
    moved = total = 0.0
    for i in range(lo, hi):
        moved += new[i] - old[i]
        total += new[i]
    return moved, total


@njit(inline="always")
def _distances(new: Any, old: Any, mean_moved: float, mean_new: float, lo: int, hi: int) -> Any:
    moved = relief = largest = 0.0
    for i in range(lo, hi):
        moved += (new[i] - old[i] - mean_moved) ** 2
        relief += (new[i] - mean_new) ** 2
        largest = max(largest, abs(new[i]))
    return moved, relief, largest


@njit(inline="always")
def _total(sums: Any, column: int) -> float:
    """Sum of a column, in order."""
    total = 0.0
    for k in range(len(sums)):
        total += sums[k, column]
    return total


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
