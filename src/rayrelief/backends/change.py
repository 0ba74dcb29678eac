"""How far a surface has moved, free of scale, shift and unit."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.compiled import njit
from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.graph import PixelGraph
from rayrelief.pieces import shares, side_by_side
from rayrelief.solvers.segments import (
    SEGMENTS_AT_A_TIME,
    Segments,
    ends,
    of_components,
    of_each,
    segments_of,
)


def relative_change(
    graph: PixelGraph, anchored: BoolArray, new: FloatArray, old: npt.NDArray[np.floating[Any]]
) -> float:
    """Root mean square of new - old over that of new without each component's mean.

    A free component may move as a whole: its mean does not count as a change.
    """
    segments = segments_of(graph.starts)
    means = _means(segments, new, old)
    means[0, anchored] = 0.0
    squares = of_each(segments, _add_squares, 3, new, old, means)
    largest = float(squares[:, 2].max())
    moved, relief, _ = of_components(segments, squares).sum(axis=1)
    if not np.isfinite(moved + relief):
        return float("nan")
    relief = max(relief, (1e-12 * largest) ** 2 * graph.size)
    return float(np.sqrt(moved / relief)) if relief > 0 else 0.0


@njit(cache=True, nogil=True)
def _add(out: Any, segments: Any, new: Any, old: Any, some: Any) -> None:
    """Sums of new - old, and of new."""
    for k in range(some.start, some.stop):
        lo, hi = ends(segments, k)
        moved = total = 0.0
        for i in range(lo, hi):
            moved += new[i] - old[i]
            total += new[i]
        out[k, 0], out[k, 1] = moved, total


@njit(cache=True, nogil=True)
def _add_squares(out: Any, segments: Any, new: Any, old: Any, means: Any, some: Any) -> None:
    """Squared distances from the means, of new - old and of new; largest |new|."""
    for k in range(some.start, some.stop):
        lo, hi = ends(segments, k)
        shift, mean = means[0, segments[1][k]], means[1, segments[1][k]]
        moved = relief = largest = 0.0
        for i in range(lo, hi):
            moved += (new[i] - old[i] - shift) ** 2
            relief += (new[i] - mean) ** 2
            largest = max(largest, abs(new[i]))
        out[k, 0], out[k, 1], out[k, 2] = moved, relief, largest


def remembered(graph: PixelGraph, anchored: BoolArray, x: FloatArray) -> SingleArray:
    """x without each free component's mean, in single precision: enough to compare with."""
    segments, centred = segments_of(graph.starts), np.empty(len(x), dtype=np.float32)
    means = _means(segments, x, x)[1]
    means[anchored] = 0.0
    some = shares(len(segments[1]), SEGMENTS_AT_A_TIME)
    side_by_side(partial(_centre, segments, x, means, centred), some)
    return centred


def _means(segments: Segments, new: FloatArray, old: npt.NDArray[np.floating[Any]]) -> FloatArray:
    """Means of new - old, and of new, in each component (2, C)."""
    sums = of_components(segments, of_each(segments, _add, 2, new, old))
    means: FloatArray = sums / np.bincount(segments[1], weights=np.diff(segments[0]))
    return means


@njit(cache=True, nogil=True)
def _centre(segments: Any, x: Any, means: Any, centred: Any, some: Any) -> None:
    for k in range(some.start, some.stop):
        lo, hi = ends(segments, k)
        mean = means[segments[1][k]]
        for i in range(lo, hi):
            centred[i] = x[i] - mean
