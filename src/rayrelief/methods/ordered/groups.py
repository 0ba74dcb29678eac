"""Parts, alone or in groups, moved to where a border closes: a minimum cut says which follow.

Where two parts are torn from each other, one of them cannot always close the tear alone: what
stands on it would be torn off. So for each tear the parts around it are asked together which of
them move by the same shift. A part that moves while its neighbour stays changes the cost of their
border; the cheapest choice for all of them is a minimum cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rayrelief.backends.base import Borders
from rayrelief.compiled import njit
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.formulation.intervals import IntervalEquations
from rayrelief.graph import Int32Array
from rayrelief.methods.ordered.evidence import (
    COSTS,
    Costs,
    fit_cost,
    jump_cost,
    least_jump_costs,
)
from rayrelief.methods.ordered.minimum_cut import source_side
from rayrelief.methods.ordered.parts import BENT, SURE

# Parts around a tear that are asked, and edges of their borders, at most: else a ground on which
# much stands would be asked anew for each of these. It may move alone.
TOGETHER, EDGES = 64, 20_000
FOLLOWS = 1.0  # what must be lost if a part stays behind, for it to be asked
SWEEPS = 2
CANDIDATES = 100  # places that are tried for a tear,
LARGEST = 200.0  # by as many pixels at most,
NEAR = 5.0  # and at least: closer ones were open to the redescending stage, which knows better


def borders_between(
    equations: IntervalEquations,
    x: FloatArray,
    parts: Int32Array,
    stays: BoolArray,
) -> Borders:
    """Edges of those of the parts (N,) of a surface (N,) that do not stay (C,)."""
    of_direction = []
    for d, towards in enumerate(equations.graph.neighbours[::2]):
        a = np.flatnonzero(parts != parts[towards])
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


def group_shifts(borders: Borders) -> tuple[FloatArray, int]:
    """Shift (C,) of each part after parts and groups have moved, and how often some have."""
    parts = len(borders.stays)
    turned = borders.here > borders.there
    first = np.where(turned, borders.there, borders.here).astype(np.int64)
    second = np.where(turned, borders.here, borders.there).astype(np.int64)
    order = np.argsort(first * parts + second, kind="stable")
    first, second = first[order], second[order]
    begins = np.flatnonzero(np.diff(first * parts + second, prepend=-1))
    sign = np.where(turned, np.float32(-1.0), np.float32(1.0))[order]
    half_width, lead = borders.half_width[order], borders.lead[order] * sign
    edges = (
        borders.residual[order] * sign,
        borders.focal[order],
        np.hypot(borders.sigma, BENT)[order],
        half_width,
        lead,
        _least_costs(half_width, lead, COSTS),
    )
    pairs = first[begins], second[begins], np.append(begins, len(order))
    shifts = np.zeros(parts)
    lengths = np.bincount(np.append(first, second), minlength=parts)
    of_parts = (*_pairs_of_parts(pairs, parts), lengths)
    by_length = np.argsort(-lengths, kind="stable")
    moving = by_length[~borders.stays[by_length]]
    alone: int = _move_alone(edges, pairs, of_parts, moving, shifts, COSTS)
    together: int = _move(edges, pairs, of_parts, borders.stays, shifts, COSTS)
    return shifts, alone + together


def _pairs_of_parts(pairs: Any, parts: int) -> tuple[Any, Any]:
    """Where the pairs of each part begin (C + 1,), and the pairs (2 P,)."""
    both = np.concatenate(pairs[:2])
    counts = np.bincount(both, minlength=parts)
    return np.concatenate(([0], np.cumsum(counts))), np.argsort(both, kind="stable") % len(pairs[0])


@njit(cache=True, error_model="numpy")
def _least_costs(half_width: Any, lead: Any, costs: Costs) -> Any:
    least = np.empty((len(lead), 2), dtype=np.float32)
    for k in range(len(lead)):
        least[k] = least_jump_costs(half_width[k], lead[k], costs)
    return least


@njit(cache=True, error_model="numpy")
def _move_alone(
    edges: Any, pairs: Any, of_parts: Any, parts: Any, shifts: Any, costs: Costs
) -> int:
    """Shift parts, one after the other, to where all of their borders cost least; counts moves.

    Borders with many small neighbours may each have too little to tell.
    """
    begins, own = of_parts[:2]
    moves = 0
    for _ in range(SWEEPS):
        for part in parts:
            borders = own[begins[part] : begins[part + 1]]
            place, saved = _closing(edges, pairs, borders, part, shifts, costs)
            if saved > SURE:
                shifts[part] += place
                moves += 1
    return moves


@njit(cache=True, error_model="numpy")
def _move(edges: Any, pairs: Any, of_parts: Any, stays: Any, shifts: Any, costs: Costs) -> int:
    """Shift parts and those that follow them, for each border; counts moves."""
    first, second = pairs[0], pairs[1]
    count = len(first)
    around = (np.full(len(shifts), -1), np.zeros(len(shifts)))  # place in a region, pull of it
    alone = np.empty((count, 2))
    every = np.arange(count)
    moves = 0
    for _ in range(SWEEPS):
        before = moves
        closing, apart, saved = np.empty((3, count))
        for p in range(count):
            border = every[p : p + 1]
            apart[p] = shifts[first[p]] - shifts[second[p]]
            closing[p], saved[p] = _closing(edges, pairs, border, first[p], shifts, costs)
        for p in np.argsort(-saved, kind="mergesort"):
            if saved[p] <= SURE:
                break
            place, border = closing[p], every[p : p + 1]
            if shifts[first[p]] - shifts[second[p]] != apart[p]:
                place, gain = _closing(edges, pairs, border, first[p], shifts, costs)
                if gain <= SURE:
                    continue
            best, best_shift, follows = -SURE, 0.0, first[:0]
            for part, shift in ((first[p], place), (second[p], -place)):
                if stays[part] or of_parts[2][part] > EDGES:
                    continue
                region = _gather(
                    edges, pairs, of_parts, stays, shifts, part, shift, around, alone, costs
                )
                moving, change = _cheapest(pairs, of_parts, region, around[0], alone)
                around[0][region] = -1
                if change < best:
                    best, best_shift, follows = change, shift, moving
            if len(follows):
                shifts[follows] += best_shift
                moves += 1
        if moves == before:
            break
    return moves


@njit(cache=True, error_model="numpy")
def _cost(edges: Any, pairs: Any, pair: int, apart: float, costs: Costs) -> float:
    """Cost of the border of a pair whose first part is shifted further than its second."""
    residual, focal, sigma, half_width, lead, least = edges
    total = 0.0
    for k in range(pairs[2][pair], pairs[2][pair + 1]):
        r = residual[k] + apart * focal[k]
        jump = jump_cost(r, half_width[k], lead[k], least[k], costs)
        total += min(fit_cost(r, sigma[k]), jump)
    return total


@njit(cache=True, error_model="numpy")
def _closing(edges: Any, pairs: Any, borders: Any, part: int, shifts: Any, costs: Costs) -> Any:
    """The shift of a part at which some of its borders cost least, and what it saves.

    Of the places at which an edge closes, evenly many smaller and larger are tried.
    """
    residual, focal = edges[0], edges[1]
    first, second, begins = pairs
    now, count = 0.0, 0
    for p in borders:
        now += _cost(edges, pairs, p, shifts[first[p]] - shifts[second[p]], costs)
        count += begins[p + 1] - begins[p]
    if now <= SURE:
        return 0.0, 0.0
    places, count = np.empty(count), 0
    for p in borders:
        apart, sign = shifts[first[p]] - shifts[second[p]], -1.0 if first[p] == part else 1.0
        for k in range(begins[p], begins[p + 1]):
            gap = residual[k] + apart * focal[k]
            if NEAR < abs(gap) < LARGEST and focal[k] > 0.0:
                places[count] = sign * gap / focal[k]
                count += 1
    places = np.sort(places[:count])
    best, shift = now, 0.0
    tried = min(count, CANDIDATES)
    for c in range(tried):
        place = places[c * (count - 1) // max(tried - 1, 1)]
        there = 0.0
        for p in borders:
            apart = shifts[first[p]] - shifts[second[p]]
            moved = apart + place if first[p] == part else apart - place
            there += _cost(edges, pairs, p, moved, costs)
        if there < best:
            best, shift = there, place
    return shift, now - best


@njit(cache=True, error_model="numpy")
def _gather(
    edges: Any,
    pairs: Any,
    of_parts: Any,
    stays: Any,
    shifts: Any,
    part: int,
    shift: float,
    around: Any,
    alone: Any,
    costs: Costs,
) -> Any:
    """Parts that may follow one which shifts: those that would lose most if they stayed behind.

    Notes what it costs for each of their pairs if one of the two is shifted alone.
    """
    first, second = pairs[0], pairs[1]
    begins, own, length = of_parts
    place, pull = around
    region = np.empty(TOGETHER, dtype=np.int64)
    touched = np.empty(0, dtype=np.int64)
    chosen: Any = part
    members, edges_left = 0, EDGES
    while chosen >= 0:
        place[chosen] = members
        region[members] = chosen
        members += 1
        edges_left -= length[chosen]
        news = own[begins[chosen] : begins[chosen + 1]]
        beside, fresh = np.empty(len(news), dtype=np.int64), 0
        for p in news:
            a, b = first[p], second[p]
            apart = shifts[a] - shifts[b]
            side = 0 if a == chosen else 1
            moved = apart + shift if side == 0 else apart - shift
            lost = _cost(edges, pairs, p, moved, costs) - _cost(edges, pairs, p, apart, costs)
            alone[p, side] = lost
            other = b if side == 0 else a
            if pull[other] == 0.0:
                beside[fresh] = other
                fresh += 1
            pull[other] += lost
        touched = np.concatenate((touched, beside[:fresh]))
        chosen, most = -1, FOLLOWS
        if members < TOGETHER:
            for other in touched:
                fits = place[other] < 0 and not stays[other] and length[other] <= edges_left
                if fits and pull[other] > most:
                    chosen, most = other, pull[other]
    pull[touched] = 0.0
    return region[:members]


@njit(cache=True, error_model="numpy")
def _cheapest(pairs: Any, of_parts: Any, region: Any, place: Any, alone: Any) -> Any:
    """Parts of a region whose shift saves most while all others stay, and what it changes."""
    first, second = pairs[0], pairs[1]
    begins, own = of_parts[:2]
    n = len(region)
    lost, left = np.zeros((n, n)), np.zeros(n)  # if the row moves and the column stays, or all else
    for i in range(n):
        part = region[i]
        for p in own[begins[part] : begins[part + 1]]:
            side = 0 if first[p] == part else 1
            j = place[second[p] if side == 0 else first[p]]
            if j < 0:
                left[i] += alone[p, side]
            else:
                lost[i, j] += alone[p, side]
    capacity = np.zeros((n + 2, n + 2))  # the source moves, the sink stays
    source, sink, rises = n, n + 1, left.copy()
    for i in range(n):
        for j in range(i):
            here, there = lost[i, j], lost[j, i]
            # Where both ways together save, the lesser saving counts as a loss instead: an upper
            # bound of what it costs.
            if here + there < 0.0:
                here, there = (here, -here) if here < there else (-there, there)
            capacity[i, j] = here + there
            rises[i] -= there
            rises[j] += there
    for i in range(n):
        capacity[source, i], capacity[i, sink] = max(-rises[i], 0.0), max(rises[i], 0.0)
    moves = source_side(capacity, source, sink)[:n]
    change = 0.0
    for i in range(n):
        if moves[i]:
            change += left[i]
            for j in range(n):
                if not moves[j]:
                    change += lost[i, j]
    return region[moves], change
