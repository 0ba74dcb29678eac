"""Parts that are continuous, their borders, and which of them may be moved."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.backends.base import Borders, Integers
from rayrelief.compiled import njit
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.formulation.intervals import IntervalEquations
from rayrelief.graph import IndexArray, Int32Array, PixelGraph
from rayrelief.pieces import shares, side_by_side

# Of more parts than these, or than one for so many pixels on average, the smallest stay.
MOST, PIXELS_PER_PART = 65536, 4
SURE = 8.0  # what a move must save, or a contact have
BENT = 0.1  # pixels by which a part may be bent at its border
NODES_AT_A_TIME = 1 << 16  # whose neighbours are looked at

_Borders = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def continuous_parts(
    equations: IntervalEquations, x: FloatArray, deviations: float, half_width: float
) -> Int32Array:
    """Label (N,) of the parts that edges join which have a small residual, and no wide valley.

    Ridges join however wide they are: a body bends there, and hides nothing but itself.
    """
    joined: BoolArray = np.empty(equations.sigma.shape, dtype=np.bool_)
    _find_fitting(edges_of(equations, x), deviations, half_width, joined)
    return equations.graph.parts(joined)


def staying(sizes: Integers, held: Integers) -> BoolArray:
    """Which parts (C,) of so many pixels are not to be moved.

    Those are the largest one, those that are held, and the smallest of too many: all parts of one
    size may be moved, or none.
    """
    room = min(MOST, int(sizes.sum()) // PIXELS_PER_PART)
    few = (size for size in range(1, PIXELS_PER_PART) if np.count_nonzero(sizes >= size) <= room)
    stays: BoolArray = sizes < next(few, PIXELS_PER_PART)
    stays[np.argmax(sizes)] = True
    stays[held] = True
    return stays


def edges_of(equations: IntervalEquations, x: FloatArray) -> tuple[Any, ...]:
    """What kernels read: of all edges towards even directions, and x."""
    return (
        equations.graph.neighbours[::2],
        equations.offset,
        equations.gamma,
        equations.half_width,
        equations.sigma,
        equations.lead,
        x,
    )


def borders_between(
    equations: IntervalEquations,
    x: FloatArray,
    parts: Int32Array,
    stays: BoolArray,
) -> Borders:
    """Edges of those of the parts (N,) of a surface (N,) that do not stay (C,)."""
    of_direction = []
    for d, towards in enumerate(equations.graph.neighbours[::2]):
        a = _leaving(parts, towards)
        a = a[~(stays[parts[a]] & stays[parts[towards[a]]])]
        b, focal = towards[a], equations.gamma[d, a]
        residual = (x[a] - x[b] - equations.offset[d, a]) * focal
        intervals = (equations.half_width[d, a], equations.sigma[d, a], equations.lead[d, a])
        of_direction.append((parts[a], parts[b], residual, focal, *intervals))
    here, there, residual, focal, half_width, sigma, lead = map(
        np.concatenate, zip(*of_direction, strict=True)
    )
    return Borders(
        here,
        there,
        residual,
        focal,
        half_width,
        sigma,
        lead,
        np.arange(len(stays), dtype=np.int32),
        stays,
    )


def _leaving(parts: Int32Array, towards: IndexArray) -> npt.NDArray[np.int64]:
    """Nodes whose neighbour in one direction belongs to another part, in order."""

    def leaving(some: slice) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64]
        found = np.flatnonzero(parts[some] != np.take(parts, towards[some])) + some.start
        return found

    return np.concatenate(side_by_side(leaving, shares(len(parts), NODES_AT_A_TIME)))


def borders_of(graph: PixelGraph, parts: Int32Array, count: int) -> _Borders:
    """Edges that leave each part, as direction * N + node, (E,), and where each begins (C + 1,)."""
    starts = np.zeros(count + 1, dtype=np.int64)
    _count_borders(graph.neighbours[::2], parts, starts)
    np.cumsum(starts, out=starts)
    edges = np.empty(starts[-1], dtype=np.int64)
    _collect_borders(graph.neighbours[::2], parts, starts[:-1].copy(), edges)
    return starts, edges


@njit(inline="always", error_model="numpy")
def residual_of(edges: Any, d: int, a: int) -> Any:
    """Residual of an edge in pixels."""
    neighbours, offset, gamma, x = edges[0], edges[1], edges[2], edges[6]
    return (x[a] - x[neighbours[d, a]] - offset[d, a]) * gamma[d, a]


@njit(cache=True, error_model="numpy")
def _find_fitting(edges: Any, deviations: float, widest: float, fitting: Any) -> None:
    half_width, sigma, x = edges[3], edges[4], edges[6]
    for d in range(len(fitting)):
        for a in range(len(x)):
            near = abs(residual_of(edges, d, a)) < deviations * sigma[d, a]
            fitting[d, a] = near and half_width[d, a] < widest


@njit(cache=True)
def _count_borders(neighbours: Any, parts: Any, starts: Any) -> None:
    for d in range(len(neighbours)):
        for a in range(len(parts)):
            i, j = parts[a], parts[neighbours[d, a]]
            if i != j:
                starts[i + 1] += 1
                starts[j + 1] += 1


@njit(cache=True)
def _collect_borders(neighbours: Any, parts: Any, free: Any, edges: Any) -> None:
    nodes = len(parts)
    for d in range(len(neighbours)):
        for a in range(nodes):
            i, j = parts[a], parts[neighbours[d, a]]
            if i != j:
                edges[free[i]] = d * nodes + a
                edges[free[j]] = d * nodes + a
                free[i] += 1
                free[j] += 1
