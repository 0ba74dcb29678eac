"""Segments: fixed pieces of the components of a graph, whose sums are added in order.

So any number of threads gives the same bits. The kernels here are inlined (solvers/kernels.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.compiled import njit
from rayrelief.conventions import FloatArray
from rayrelief.pieces import shares, side_by_side

SEGMENT = 2048  # nodes: the working set of a segment stays in the first-level cache
SEGMENTS_AT_A_TIME = 64  # of components in pieces of their own: enough to pay for a call

Segments = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def segments_of(starts: npt.NDArray[np.int64]) -> Segments:
    """Cut components that start at these nodes (C + 1,): (S + 1,) bounds, (S,) components."""
    counts = (np.diff(starts) + SEGMENT - 1) // SEGMENT
    owner = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.append(starts[owner] + within * SEGMENT, starts[-1]), owner


def of_each(
    segments: Segments, fill: Callable[..., None], count: int, *arguments: Any
) -> FloatArray:
    """So many numbers of each segment (S, count), on several threads.

    ``fill(out, segments, *arguments, some)``, a kernel that releases the GIL, puts out those of a
    slice of the segments.
    """
    numbers = np.empty((len(segments[1]), count))
    some = shares(len(numbers), SEGMENTS_AT_A_TIME)
    side_by_side(partial(fill, numbers, segments, *arguments), some)
    return numbers


def of_components(segments: Segments, numbers: FloatArray) -> FloatArray:
    """Sums (count, C) of the numbers (S, count) of segments: bincount adds in order."""
    return np.stack([np.bincount(segments[1], weights=each) for each in numbers.T])


@njit(inline="always")
def for_each(segments: Any) -> Any:
    """Room for a number of each segment."""
    return np.empty(len(segments[1]))


@njit(inline="always")
def ends(segments: Any, k: int) -> Any:
    """First node of segment k, and that of the next one."""
    bounds, _ = segments
    return bounds[k], bounds[k + 1]


@njit(inline="always", error_model="numpy")
def sums(numbers: Any, segments: Any) -> Any:
    """Sum of the segments of each component, in order."""
    _, owner = segments
    total = np.zeros(owner[-1] + 1)
    for k in range(len(numbers)):
        total[owner[k]] += numbers[k]
    return total
