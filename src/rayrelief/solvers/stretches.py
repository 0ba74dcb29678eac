"""Stretches: nodes in a row whose neighbours in a pair of directions are equally far on.

Products with the matrix (``flow`` in solvers/kernels.py) then read no neighbours, and fill the
vector unit. Where a mask is so ragged that stretches are short, neighbours are looked up.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.compiled import njit
from rayrelief.graph import Int32Array, PixelGraph
from rayrelief.operators import Operator
from rayrelief.pieces import shares, side_by_side
from rayrelief.solvers.segments import SEGMENT, SEGMENTS_AT_A_TIME, Segments, ends

MOST = SEGMENT // 20  # in a segment; from there on it is as fast to look neighbours up

Stretches = tuple[npt.NDArray[np.int64], Int32Array]


def stretches_of(graph: PixelGraph, segments: Segments) -> Stretches:
    """First stretch of each pair of directions and segment (D / 2, S + 1), and all of them (n, 4).

    A stretch is its first node, the one behind its last, and how far on its neighbours are in
    either direction. A segment with more than ``MOST`` has none.
    """
    counts = np.zeros((len(graph.neighbours) // 2, len(segments[1])), dtype=np.int64)
    some = list(shares(counts.shape[1], SEGMENTS_AT_A_TIME))
    side_by_side(partial(_count, graph.neighbours, segments, counts), some)
    counts[counts > MOST] = 0
    starts = np.concatenate(([0], np.cumsum(counts)))
    segment = np.arange(counts.shape[1] + 1)
    first = starts[counts.shape[1] * np.arange(len(counts))[:, None] + segment]
    table = np.empty((int(starts[-1]), 4), dtype=np.int32)
    side_by_side(partial(_fill, graph.neighbours, segments, first, table), some)
    return first, table


def matrix_of(operator: Operator, stretches: Stretches) -> tuple[Any, ...]:
    """What ``flow`` takes."""
    return *stretches, operator.graph.neighbours, operator.conductance, operator.anchors


@njit(inline="always")
def _begins(neighbours: Any, d: int, i: int, lo: int) -> Any:
    """Whether node i begins a stretch of directions d and d + 1, in a segment from lo on."""
    if i == lo:
        return True
    there = neighbours[d, i] != neighbours[d, i - 1] + 1
    return there or neighbours[d + 1, i] != neighbours[d + 1, i - 1] + 1


@njit(cache=True, nogil=True)
def _count(neighbours: Any, segments: Any, counts: Any, some: Any) -> None:
    for pair in range(len(counts)):
        for k in range(some.start, some.stop):
            lo, hi = ends(segments, k)
            for i in range(lo, hi):
                counts[pair, k] += _begins(neighbours, 2 * pair, i, lo)


@njit(cache=True, nogil=True)
def _fill(neighbours: Any, segments: Any, first: Any, table: Any, some: Any) -> None:
    for pair in range(len(first)):
        d = 2 * pair
        for k in range(some.start, some.stop):
            at, end = first[pair, k], first[pair, k + 1]
            if at == end:
                continue
            lo, hi = ends(segments, k)
            for i in range(lo, hi):
                if _begins(neighbours, d, i, lo):
                    if i > lo:
                        table[at - 1, 1] = i
                    table[at, 0] = i
                    table[at, 2] = np.int64(neighbours[d, i]) - i
                    table[at, 3] = np.int64(neighbours[d + 1, i]) - i
                    at += 1
            table[end - 1, 1] = hi
