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
from rayrelief.conventions import FloatArray
from rayrelief.methods.ordered.evidence import COSTS, Costs, least_jump_costs
from rayrelief.methods.ordered.minimum_cut import source_side
from rayrelief.methods.ordered.parts import BENT, SURE
from rayrelief.methods.ordered.places import border_cost, closing, find_closings

# Parts around a tear that are asked, and edges of their borders, at most: else a ground on which
# much stands would be asked anew for each of these. It may move alone.
TOGETHER, EDGES = 64, 20_000
FOLLOWS = 1.0  # what must be lost if a part stays behind, for it to be asked
SWEEPS = 2


def group_shifts(borders: Borders) -> tuple[FloatArray, int]:
    """Shift (C,) of each part after parts and groups have moved, and how often some have."""
    edges, pairs, of_parts = _by_pair(borders)
    shifts = np.zeros(len(borders.stays))
    by_length = np.argsort(-of_parts[2], kind="stable")
    moving = by_length[~borders.stays[by_length]]
    moves = _move_parts(edges, pairs, of_parts, moving, shifts)
    moves += _move_groups(edges, pairs, of_parts, borders.stays, shifts)
    return shifts, moves


def _by_pair(borders: Borders) -> tuple[Any, Any, Any]:
    """Edges sorted by their pairs of parts, all told from the first of the two.

    With the parts of the pairs, and where each begins (P + 1,); and with where the pairs of each
    part begin (C + 1,), these (2 P,), and how many edges each part has (C,).
    """
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
    both = np.concatenate(pairs[:2])
    starts = np.concatenate(([0], np.cumsum(np.bincount(both, minlength=parts))))
    own = np.argsort(both, kind="stable") % len(begins)
    return edges, pairs, (starts, own, np.bincount(np.append(first, second), minlength=parts))


@njit(cache=True, error_model="numpy")
def _least_costs(half_width: Any, lead: Any, costs: Costs) -> Any:
    least = np.empty((len(lead), 2), dtype=np.float32)
    for k in range(len(lead)):
        least[k] = least_jump_costs(half_width[k], lead[k], costs)
    return least


def _move_parts(edges: Any, pairs: Any, of_parts: Any, moving: Any, shifts: FloatArray) -> int:
    """Shift parts, one after the other, to where all of their borders cost least; counts moves.

    Borders with many small neighbours may each have too little to tell.
    """
    lists = *of_parts[:2], np.arange(len(shifts))
    place, saved = np.empty((2, len(shifts)))
    is_old = np.ones(len(shifts), dtype=np.bool_)  # since the part or one beside it has moved
    moves = 0
    for _ in range(SWEEPS):
        chosen = moving[is_old[moving]]
        find_closings(edges, pairs, lists, chosen, shifts, place, saved)
        is_old[chosen] = False
        moves += _move_alone(edges, pairs, lists, moving, shifts, (place, saved, is_old), COSTS)
    return moves


@njit(cache=True, nogil=True, error_model="numpy")  # a bar goes on
def _move_alone(
    edges: Any, pairs: Any, lists: Any, parts: Any, shifts: Any, known: Any, costs: Costs
) -> int:
    """Shift parts to their known places, those that are old found anew; counts moves."""
    begins, own, _ = lists
    place, saved, is_old = known
    moves = 0
    for part in parts:
        if is_old[part]:
            place[part], saved[part] = closing(edges, pairs, lists, part, shifts, costs)
            is_old[part] = False
        if saved[part] > SURE:
            shifts[part] += place[part]
            moves += 1
            for p in own[begins[part] : begins[part + 1]]:
                is_old[pairs[0][p]] = is_old[pairs[1][p]] = True
    return moves


def _move_groups(edges: Any, pairs: Any, of_parts: Any, stays: Any, shifts: FloatArray) -> int:
    """Shift parts and those that follow them, for each border; counts moves."""
    first, second, count = pairs[0], pairs[1], len(pairs[0])
    every = np.arange(count + 1)
    lists = every, every[:-1], first  # each border by itself
    place, saved = np.empty((2, count))
    apart, standing = np.full((2, count), np.nan)  # what borders cost as they are, once known
    moves = 0
    for _ in range(SWEEPS):
        now = shifts[first] - shifts[second]
        changed = np.flatnonzero(now != apart)
        find_closings(edges, pairs, lists, changed, shifts, place, saved)
        apart = now
        order = np.argsort(-saved, kind="stable")
        known = order[saved[order] > SURE], place, apart, standing
        found: int = _move_together(edges, pairs, lists, of_parts, stays, shifts, known, COSTS)
        moves += found
        if not found:
            break
    return moves


@njit(cache=True, nogil=True, error_model="numpy")  # a bar goes on
def _move_together(
    edges: Any,
    pairs: Any,
    lists: Any,
    of_parts: Any,
    stays: Any,
    shifts: Any,
    known: Any,
    costs: Costs,
) -> int:
    """Shift parts and those that follow them to the known places; counts moves.

    A border whose parts have been shifted since is looked at anew.
    """
    first, second = pairs[0], pairs[1]
    begins, own, length = of_parts
    order, places, apart, standing = known
    # Place in a region, and pull of it.
    around = (np.full(len(shifts), -1), np.zeros(len(shifts)), standing)
    alone = np.empty((len(first), 2))
    moves = 0
    for p in order:
        place = places[p]
        if shifts[first[p]] - shifts[second[p]] != apart[p]:
            place, gain = closing(edges, pairs, lists, p, shifts, costs)
            if gain <= SURE:
                continue
        best, best_shift, follows = -SURE, 0.0, first[:0]
        for part, shift in ((first[p], place), (second[p], -place)):
            if stays[part] or length[part] > EDGES:
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
            for part in follows:
                standing[own[begins[part] : begins[part + 1]]] = np.nan
    return moves


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
    place, pull, standing = around
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
            lost = border_cost(edges, pairs, p, moved, np.inf, costs)
            if np.isnan(standing[p]):
                standing[p] = border_cost(edges, pairs, p, apart, np.inf, costs)
            lost -= standing[p]
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
