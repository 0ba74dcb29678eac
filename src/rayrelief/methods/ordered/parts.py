"""Parts that are continuous, each moved as a whole to where its border costs least."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.compiled import njit
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.formulation.intervals import IntervalEquations
from rayrelief.graph import Int32Array, PixelGraph
from rayrelief.methods.ordered.evidence import (
    COSTS,
    LEAST,
    Costs,
    border_cost,
    least_jump_costs,
)

SMALLEST = 8  # pixels: below, a part is a speck, which is moved but not counted as a part
# Of more parts than these, or than one for so many pixels on average, the smallest stay.
MOST, PIXELS_PER_PART = 65536, 4
SWEEPS = 2
CANDIDATES = 100  # places that are tried for a part,
LARGEST = 200.0  # by as many pixels at most,
NEAR = 5.0  # and at least: closer ones were open to the redescending stage, which knows better
SURE = 8.0  # what a move must save, or a contact have
BENT = 0.1  # pixels by which a part may be bent at its border

KERNEL_CONSTANTS: dict[str, float] = COSTS._asdict() | {
    "least": LEAST,
    "largest": LARGEST,
    "near": NEAR,
    "gain": SURE,
    "bent": BENT,
    "most": MOST,
    "pixels_per_part": PIXELS_PER_PART,
    "candidates": CANDIDATES,
}
"""What a GPU has to know to decide alike."""

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


def move_parts(
    equations: IntervalEquations,
    x: FloatArray,
    parts: Int32Array,
    movable: npt.NDArray[np.int64],
) -> int:
    """Move parts (N,), those that are movable, to their cheapest places, in x (N,) itself.

    Returns the number of moves.
    """
    count = int(parts.max()) + 1
    shifts, borders = np.zeros(count), borders_of(equations.graph, parts, count)
    moves: int = _move(edges_of(equations, x), parts, borders, movable, shifts, COSTS)
    x += shifts[parts]
    return moves


def movable_parts(parts: Int32Array, held: BoolArray | None) -> npt.NDArray[np.int64]:
    """Parts (N,) by size, larger ones first.

    The largest stays where it is, and so do those with a node that is held (N,), and the smallest
    of too many: all parts of one size are movable, or none.
    """
    sizes = np.bincount(parts)
    room = min(MOST, sizes.sum() // PIXELS_PER_PART)
    counts = [np.count_nonzero(sizes >= least) for least in range(1, PIXELS_PER_PART + 1)]
    count = next((count for count in counts if count <= room), counts[-1])
    movable = np.argsort(-sizes, kind="stable")[1:count]
    return movable if held is None else movable[~np.isin(movable, parts[held])]


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


@njit(cache=True, error_model="numpy")
def _move(edges: Any, parts: Any, borders: Any, movable: Any, shifts: Any, costs: Costs) -> int:
    """Shift (C,) of each part; returns how many moves there were."""
    neighbours, gamma, half_width, sigma, lead = edges[0], edges[2], edges[3], edges[4], edges[5]
    starts, crossing = borders
    nodes, moves = len(parts), 0
    for _ in range(SWEEPS):
        for part in movable:
            border = crossing[starts[part] : starts[part + 1]]
            n = len(border)
            gap, focal, width, spread, ahead = np.empty((5, n))
            least = np.empty((n, 2))
            for k in range(n):
                d, a = border[k] // nodes, border[k] % nodes
                i, j = parts[a], parts[neighbours[d, a]]
                sign = 1.0 if i == part else -1.0
                focal[k] = gamma[d, a]
                moved = (shifts[i] - shifts[j]) * focal[k]
                gap[k] = sign * (residual_of(edges, d, a) + moved)
                width[k], ahead[k] = half_width[d, a], sign * lead[d, a]
                spread[k] = math.hypot(sigma[d, a], BENT)
                least[k] = least_jump_costs(width[k], ahead[k], costs)
            # Every edge that may close is a place to try.
            closing = np.sort((-gap / focal)[(np.abs(gap) < LARGEST) & (focal > 0.0)])
            border_edges = (gap, focal, spread, width, ahead, least)
            best, shift = border_cost(0.0, border_edges, costs) - SURE, 0.0
            for place in evenly(closing):
                if abs(place) * np.mean(focal) < NEAR:
                    continue
                there = border_cost(place, border_edges, costs)
                if there < best:
                    best, shift = there, place
            if shift != 0.0:
                shifts[part] += shift
                moves += 1
    return moves


@njit(cache=True)
def evenly(places: Any) -> Any:
    """Of many sorted places, evenly many smaller and larger."""
    tried = min(len(places), CANDIDATES)
    return places[np.arange(tried) * (len(places) - 1) // max(tried - 1, 1)]
