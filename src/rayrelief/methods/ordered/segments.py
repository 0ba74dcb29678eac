"""Segments: where the surface jumps, which parts it falls into, and what their places rest on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.compiled import njit
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.formulation.intervals import IntervalEquations
from rayrelief.graph import Int32Array, label_components
from rayrelief.methods.base import SMALLEST, Support
from rayrelief.methods.ordered.evidence import (
    COSTS,
    Costs,
    fit_cost,
    jump_cost,
    jump_odds,
    least_jump_cost,
    order_probability,
    outside,
)
from rayrelief.methods.ordered.parts import (
    BENT,
    SURE,
    borders_of,
    continuous_parts,
    edges_of,
    residual_of,
)

SMALLEST_JUMP = 0.5  # pixels outside of the interval
CLEAR = 0.5  # odds of a jump below which an edge may show a contact: else a rim looks the same
AGAINST = 2.0  # how much an edge that jumps counts against a contact beside it, at most


def find_jumps(equations: IntervalEquations, x: FloatArray) -> BoolArray:
    """Whether a jump across each directed edge (D, N) costs less than a continuous surface."""
    graph = equations.graph
    jumps: BoolArray = np.zeros(graph.neighbours.shape, dtype=np.bool_)
    _find_jumps(edges_of(equations, x), jumps, COSTS)
    return jumps


def find_segments(
    equations: IntervalEquations, x: FloatArray, deviations: float, half_width: float
) -> tuple[Int32Array, tuple[Support, ...]]:
    """Label (N,) of each node's segment, and what the place of each segment rests on.

    Specks join the segment that they touch most.
    """
    graph = equations.graph
    parts = continuous_parts(equations, x, deviations, half_width)
    while True:
        sizes = np.bincount(parts)
        touched, support = _contacts(equations, x, parts, len(sizes))
        joins = np.where(sizes < SMALLEST, touched, np.arange(len(sizes), dtype=np.int32))
        groups = np.empty_like(touched)
        count = label_components(joins[None].astype(np.uint32), groups)
        parts = groups[parts]
        if count == len(sizes):
            break
    component = np.empty_like(touched)
    component[parts] = graph.component_of_node
    by_size = np.argsort(-sizes, kind="stable")
    largest = by_size[np.unique(component[by_size], return_index=True)[1]]
    support[largest] = Support.CONTACT  # the others rest on it
    return parts, tuple(map(Support, support.tolist()))


def _contacts(
    equations: IntervalEquations, x: FloatArray, parts: Int32Array, count: int
) -> tuple[Int32Array, npt.NDArray[np.int8]]:
    """The neighbour (C,) that each part touches most, itself if none, and the support (C,)."""
    touched, support = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int8)
    borders = borders_of(equations.graph, parts, count)
    _find_contacts(edges_of(equations, x), parts, borders, touched, support, COSTS)
    return touched, support


@njit(inline="always", error_model="numpy")
def _saved_by_a_jump(
    residual: float, half_width: float, sigma: float, lead: float, costs: Costs
) -> Any:
    """By how much a jump costs less than a continuous surface.

    The surface is what it is: that a jump is in order makes it no likelier there.
    """
    least = least_jump_cost(half_width, lead, costs)
    fits = fit_cost(residual, math.hypot(sigma, BENT))
    return fits - jump_cost(residual, half_width, lead, (least, least), costs)


@njit(cache=True, error_model="numpy")
def _find_jumps(edges: Any, jumps: Any, costs: Costs) -> None:
    half_width, sigma, lead, x = edges[3], edges[4], edges[5], edges[6]
    neighbours = edges[0]
    for d in range(len(sigma)):
        for a in range(len(x)):
            b = neighbours[d, a]
            if b == a:
                continue
            residual, h = residual_of(edges, d, a), half_width[d, a]
            large = abs(outside(residual, h)) > SMALLEST_JUMP
            saved = _saved_by_a_jump(residual, h, sigma[d, a], lead[d, a], costs)
            jumps[2 * d, a] = jumps[2 * d + 1, b] = large and saved > 0.0


@njit(cache=True, error_model="numpy")
def _find_contacts(
    edges: Any, parts: Any, borders: Any, touched: Any, support: Any, costs: Costs
) -> None:
    neighbours, half_width, sigma, lead = edges[0], edges[3], edges[4], edges[5]
    starts, crossing = borders
    nodes = len(parts)
    contact = np.zeros(len(touched))
    for part in range(len(touched)):
        border = crossing[starts[part] : starts[part + 1]]
        order = 0.0
        best, most = part, 0.0
        for e in border:
            d, a = e // nodes, e % nodes
            i, j = parts[a], parts[neighbours[d, a]]
            other = j if i == part else i
            residual, h = residual_of(edges, d, a), half_width[d, a]
            if jump_odds(h, lead[d, a], costs) < CLEAR:
                saved = _saved_by_a_jump(residual, h, sigma[d, a], lead[d, a], costs)
                contact[other] += max(-saved, -AGAINST)
            known = order_probability(h, lead[d, a], costs)
            order += math.log(known / (1.0 - known))
        for e in border:
            d, a = e // nodes, e % nodes
            i, j = parts[a], parts[neighbours[d, a]]
            other = j if i == part else i
            if contact[other] > most or (contact[other] == most > 0.0 and other < best):
                best, most = other, contact[other]
        for e in border:
            d, a = e // nodes, e % nodes
            contact[parts[a]] = contact[parts[neighbours[d, a]]] = 0.0
        touched[part] = best
        rests_on = Support.NOTHING
        if most >= SURE:
            rests_on = Support.CONTACT
        elif order >= SURE:
            rests_on = Support.ORDER
        support[part] = rests_on
