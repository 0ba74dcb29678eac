"""Parts that are continuous, each moved as a whole to where its border is most likely."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.backends.base import Computation, MovesParts, Vector
from rayrelief.compiled import njit
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.formulation.intervals import IntervalEquations
from rayrelief.graph import Int32Array, PixelGraph
from rayrelief.laws.ordered import with_intervals
from rayrelief.methods.ordered.evidence import CONSTANTS, LARGEST, continuous, jumping

SMALLEST = 8  # pixels of a part that is moved
SWEEPS = 2
CANDIDATES = 100  # places that are tried for a part
NEAR = 10.0  # pixels: closer places were open to the redescending stage, which knows better
SURE = 8.0  # gain in log-likelihood that a move must bring, or a contact have
BENT = 0.1  # pixels by which a part may be bent at its border

KERNEL_CONSTANTS = CONSTANTS | {
    "near": NEAR,
    "gain": SURE,
    "bent": BENT,
    "smallest": SMALLEST,
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


def moved(
    computation: Computation,
    equations: EdgeEquations | None,
    x: Vector,
    level: tuple[float, float],
    held: BoolArray | None,
) -> tuple[Vector, int]:
    """Move the parts of a surface, found at a level, where it is computed if that is possible.

    Returns the surface, and the number of moves.
    """
    if isinstance(computation, MovesParts):
        return computation.move_parts(x, level, KERNEL_CONSTANTS, SWEEPS)
    if equations is None:
        raise LookupError("parts are moved on the CPU, which needs their equations")
    known, values = with_intervals(equations), np.array(x)
    moves = move_parts(known, values, continuous_parts(known, values, *level), held)
    return (values, moves) if moves else (x, 0)


def move_parts(
    equations: IntervalEquations, x: FloatArray, parts: Int32Array, held: BoolArray | None = None
) -> int:
    """Move parts (N,), larger ones first, to their most likely places, in x (N,) itself.

    Returns the number of moves. The largest part stays where it is, and so do those with a node
    that is held (N,).
    """
    sizes = np.bincount(parts)
    by_size = np.argsort(-sizes, kind="stable")
    movable = by_size[sizes[by_size] >= SMALLEST][1:]
    if held is not None:
        movable = movable[~np.isin(movable, parts[held])]
    shifts, borders = np.zeros(len(sizes)), borders_of(equations.graph, parts, len(sizes))
    moves: int = _move(edges_of(equations, x), parts, borders, movable, shifts)
    x += shifts[parts]
    return moves


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
def _move(edges: Any, parts: Any, borders: Any, movable: Any, shifts: Any) -> int:
    """Shift (C,) of each part; returns how many moves there were."""
    neighbours, gamma, half_width, sigma, lead = edges[0], edges[2], edges[3], edges[4], edges[5]
    starts, crossing = borders
    nodes, moves = len(parts), 0
    for _ in range(SWEEPS):
        for part in movable:
            border = crossing[starts[part] : starts[part + 1]]
            n = len(border)
            gap, focal, width, spread, ahead = np.empty((5, n))
            for k in range(n):
                d, a = border[k] // nodes, border[k] % nodes
                i, j = parts[a], parts[neighbours[d, a]]
                sign = 1.0 if i == part else -1.0
                focal[k] = gamma[d, a]
                moved = (shifts[i] - shifts[j]) * focal[k]
                gap[k] = sign * (residual_of(edges, d, a) + moved)
                width[k], ahead[k] = half_width[d, a], sign * lead[d, a]
                spread[k] = math.hypot(sigma[d, a], BENT)
            # Every edge that may close is a place to try; of many, evenly many smaller and larger.
            closing = np.sort((-gap / focal)[(np.abs(gap) < LARGEST) & (focal > 0.0)])
            here = _likelihood(0.0, gap, focal, width, spread, ahead)
            best, shift = here + SURE, 0.0
            tried = min(len(closing), CANDIDATES)
            for c in range(tried):
                place = closing[c * (len(closing) - 1) // max(tried - 1, 1)]
                if abs(place) * np.mean(focal) < NEAR:
                    continue
                there = _likelihood(place, gap, focal, width, spread, ahead)
                if there > best:
                    best, shift = there, place
            if shift != 0.0:
                shifts[part] += shift
                moves += 1
    return moves


@njit(error_model="numpy")
def _likelihood(shift: float, gap: Any, focal: Any, width: Any, spread: Any, ahead: Any) -> float:
    """Log-likelihood of a border whose part moves by a shift."""
    total = 0.0
    for k in range(len(gap)):
        residual = gap[k] + shift * focal[k]
        density = continuous(residual, width[k], spread[k]) + jumping(residual, width[k], ahead[k])
        total += math.log(density)
    return total
