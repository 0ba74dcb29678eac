"""Where the borders of a part close: the shift at which they cost least."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rayrelief.compiled import njit
from rayrelief.methods.ordered.evidence import COSTS, Costs, fit_cost, jump_cost
from rayrelief.methods.ordered.parts import SURE
from rayrelief.pieces import side_by_side

CANDIDATES = 100  # places that are tried,
LARGEST = 200.0  # by as many pixels at most,
NEAR = 5.0  # and at least: closer ones were open to the redescending stage, which knows better
SHARES = 64  # of the work


def find_closings(
    edges: Any, pairs: Any, lists: Any, chosen: Any, shifts: Any, found: Any, saved: Any
) -> None:
    """``closing`` of the chosen of all lists, side by side: where, and what is saved there."""
    # By turns: long borders, which take most time, often stand side by side.
    shares = [chosen[share::SHARES] for share in range(min(SHARES, len(chosen)))]
    side_by_side(partial(_find_closings, edges, pairs, lists, shifts, found, saved, COSTS), shares)


@njit(cache=True, nogil=True, error_model="numpy")
def _find_closings(
    edges: Any,
    pairs: Any,
    lists: Any,
    shifts: Any,
    found: Any,
    saved: Any,
    costs: Costs,
    chosen: Any,
) -> None:
    for i in chosen:
        found[i], saved[i] = closing(edges, pairs, lists, i, shifts, costs)


@njit(cache=True, error_model="numpy")
def closing(edges: Any, pairs: Any, lists: Any, which: int, shifts: Any, costs: Costs) -> Any:
    """The shift of a part at which the borders of a list cost least, and what it saves.

    Of the places at which an edge closes, evenly many smaller and larger are tried.
    """
    residual, focal = edges[0], edges[1]
    first, second, begins = pairs
    starts, members, movers = lists
    part, borders = movers[which], members[starts[which] : starts[which + 1]]
    now, count = 0.0, 0
    for p in borders:
        now += border_cost(edges, pairs, p, shifts[first[p]] - shifts[second[p]], np.inf, costs)
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
            there += border_cost(edges, pairs, p, moved, best - there, costs)
            if there >= best:
                break
        if there < best:
            best, shift = there, place
    return shift, now - best


@njit(cache=True, error_model="numpy")
def border_cost(edges: Any, pairs: Any, pair: int, apart: float, most: float, costs: Costs) -> Any:
    """Cost of the border of a pair whose first part is shifted further than its second.

    Infinite as soon as it is more than ``most``: no edge costs less than nothing.
    """
    residual, focal, sigma, half_width, lead, least = edges
    total = 0.0
    for k in range(pairs[2][pair], pairs[2][pair + 1]):
        r = residual[k] + apart * focal[k]
        jump = jump_cost(r, half_width[k], lead[k], least[k], costs)
        total += min(fit_cost(r, sigma[k]), jump)
        if total > most:
            return np.inf
    return total
