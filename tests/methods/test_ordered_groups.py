"""Groups of parts: the cheapest choice of what follows, and what no part can do alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import fewer_examples
from rayrelief.backends.base import Borders
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.integration import integrate
from rayrelief.methods.ordered.evidence import COSTS, fit_cost, jump_cost, least_jump_costs
from rayrelief.methods.ordered.groups import (
    EDGES,
    SWEEPS,
    TOGETHER,
    _by_pair,
    _cheapest,
    _move_parts,
    _move_together,
    group_shifts,
)
from rayrelief.methods.ordered.parts import BENT, PIXELS_PER_PART, SURE, staying
from rayrelief.methods.ordered.places import LARGEST, NEAR, border_cost, closing, find_closings
from rayrelief.synthetic import GALLERY


def pairs_of(n, links):
    """Pairs of parts, where those of each part begin, and which they are."""
    first, second = np.array(links, dtype=np.int64).reshape(-1, 2).T
    own = [np.flatnonzero((first == i) | (second == i)) for i in range(n)]
    begins = np.cumsum([0, *map(len, own)])
    return (first, second, np.arange(len(links) + 1)), (begins, np.concatenate(own))


@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_what_follows_is_the_cheapest_of_all_choices(n, seed):
    rng = np.random.default_rng(seed)
    links = [(i, j) for i in range(n + 1) for j in range(i)]  # part n is none of the region
    alone = rng.normal(0.0, 20.0, (len(links), 2))
    alone[:, 1] = np.maximum(alone[:, 1], -alone[:, 0])  # else a cut is not exact
    pairs, of_parts = pairs_of(n + 1, links)
    place = np.append(np.arange(n), -1)
    found, told = _cheapest(pairs, of_parts, np.arange(n), place, alone)

    def change(moves):
        torn = zip(links, alone, strict=True)
        return sum(
            cost[0] if moves[i] else cost[1] for (i, j), cost in torn if moves[i] != moves[j]
        )

    choices = [(*each, False) for each in product((False, True), repeat=n)]
    chosen = (*(i in found for i in range(n)), False)
    best = min(map(change, choices))
    assert change(chosen) == pytest.approx(told) == pytest.approx(best)


@pytest.mark.parametrize("mover", [0, 1])
def test_of_what_two_parts_save_the_larger_saving_counts(mover):
    pairs, of_parts = pairs_of(3, [(1, 0), (2, 0), (2, 1)])  # part 2 is none of the region
    alone = np.zeros((3, 2))
    alone[0, 1 - mover], alone[0, mover] = -5.0, 1.0  # one moves and the other stays, or so
    alone[1:, 1] = 3.0  # against part 2
    found, told = _cheapest(pairs, of_parts, np.arange(2), np.array([0, 1, -1]), alone)
    assert (found.tolist(), told) == ([mover], -2.0)


def borders(links, stays, edges=10):
    """Borders of so many edges each, between parts that are so many pixels apart."""
    here, there, apart = np.repeat(np.array(links).T, edges, axis=1)
    one = np.ones(len(apart), dtype=np.float32)
    told = apart, one, 0.3 * one, 0.07 * one, 0.0 * one
    parts = np.arange(len(stays), dtype=np.int32)
    return Borders(here.astype(np.int32), there.astype(np.int32), *told, parts, np.array(stays))


def floor_of(things):
    """Part 0 is the wall, 1 the floor, 20 pixels too far; things stand on it, and on each other."""
    links = [(1, 0, 20.0), *((k, k - 1 if k % 3 else 1, 0.0) for k in range(2, things))]
    return borders(links, [k == 0 for k in range(things)])


def test_a_floor_goes_to_its_wall_with_all_that_stands_on_it():
    shifts, moves = group_shifts(floor_of(TOGETHER // 2))
    np.testing.assert_allclose(shifts[1:], -20.0)
    assert (shifts[0], moves) == (0.0, 1)


def test_a_floor_on_which_far_too_much_stands_is_not_asked():
    borders = floor_of(EDGES)
    assert np.bincount(borders.there)[1] > EDGES
    assert group_shifts(borders)[1] == 0


@given(st.lists(st.integers(1, 6), min_size=1, max_size=40))
def test_the_largest_and_the_smallest_of_too_many_stay(sizes):
    counts = np.array(sizes)
    stays = staying(counts, np.empty(0, dtype=np.int64))
    assert stays[np.argmax(counts)]
    moving = counts[~stays]
    assert len(moving) <= max(counts.sum() // PIXELS_PER_PART, np.count_nonzero(counts >= 4))
    if len(moving):
        others = np.delete(counts, np.argmax(counts))
        np.testing.assert_array_equal(np.sort(moving), np.sort(others[others >= moving.min()]))


def test_a_ground_with_too_many_edges_may_move_alone():
    pairs = EDGES // 10 + 1
    shifts, moves = group_shifts(borders([(1, 0, 20.0)] * pairs, [True, False]))
    np.testing.assert_allclose(shifts, [0.0, -20.0])
    assert moves == 1


@pytest.mark.parametrize(("neighbours", "moves"), [(1, 0), (9, 1)])
def test_many_small_neighbours_have_enough_to_tell_together(neighbours, moves):
    links = [(0, k, 20.0) for k in range(1, neighbours + 1)]
    shifts, count = group_shifts(borders(links, [False] + [True] * neighbours, edges=1))
    assert count == moves
    assert shifts[0] == -20.0 * moves


def test_what_is_held_stays_and_what_hangs_on_it():
    links = [(1, 0, 20.0), (2, 1, 0.0), (3, 2, 0.0)]
    shifts, moves = group_shifts(borders(links, [True, False, False, True]))
    assert (moves, np.abs(shifts).max()) == (0, 0.0)


def cost(borders, shifts):
    """Sum over all edges, by the plain formulas."""
    total = 0.0
    for k, (here, there) in enumerate(zip(borders.here, borders.there, strict=True)):
        residual = borders.residual[k] + (shifts[here] - shifts[there]) * borders.focal[k]
        edge = borders.half_width[k], borders.lead[k]
        jump = jump_cost(residual, *edge, least_jump_costs(*edge, COSTS), COSTS)
        total += min(fit_cost(residual, np.hypot(borders.sigma[k], BENT)), jump)
    return total


def random_borders(seed: int, parts: int = 9, pairs: int = 24, edges: int = 8) -> Borders:
    """Parts at random places, whose borders close here and there."""
    rng = np.random.default_rng(seed)
    here, there = rng.integers(0, parts, (2, pairs)).repeat(edges, axis=1)
    apart = rng.choice((0.0, 20.0, -35.0), parts) + rng.normal(size=parts)
    inside = here != there
    here, there = here[inside].astype(np.int32), there[inside].astype(np.int32)
    single = np.float32
    half_width = rng.normal(0.0, 0.7, len(here)).astype(single)
    return Borders(
        here=here,
        there=there,
        residual=apart[here] - apart[there] + rng.choice((0.0, 15.0), len(here)),
        focal=rng.uniform(0.5, 2.0, len(here)).astype(single),
        half_width=half_width,
        sigma=np.hypot(single(0.03), single(0.2) * half_width),
        lead=rng.normal(0.0, 2.0, len(here)).astype(single),
        parts=np.arange(parts, dtype=np.int32),
        stays=rng.random(parts) < 0.2,
    )


@fewer_examples(20)
@given(st.integers(0, 2**32 - 1))
def test_moves_lower_the_cost_whichever_side_an_edge_is_told_from(seed):
    borders = random_borders(seed)
    shifts, moves = group_shifts(borders)
    assert cost(borders, shifts) <= cost(borders, np.zeros(len(shifts))) - SURE * moves
    assert not shifts[borders.stays].any()

    sides: dict[str, Any] = {"here": borders.there, "there": borders.here}
    turned = replace(borders, residual=-borders.residual, lead=-borders.lead, **sides)
    np.testing.assert_allclose(group_shifts(turned)[0], shifts)


@fewer_examples(20)
@given(st.integers(0, 2**32 - 1))
def test_a_part_closes_where_all_of_its_borders_cost_least(seed):
    borders = random_borders(seed)
    edges, pairs, (starts, own, _) = _by_pair(borders)
    parts = np.arange(len(borders.stays))
    for part in parts:
        place, saved = closing(edges, pairs, (starts, own, parts), part, 0.0 * parts, COSTS)
        of_part = (borders.here == part) | (borders.there == part)
        gaps = np.where(borders.here == part, -1.0, 1.0) * borders.residual
        places = (gaps / borders.focal)[of_part & (abs(gaps) > NEAR) & (abs(gaps) < LARGEST)]
        costs = [cost(borders, each * (parts == part)) for each in (0.0, *places)]
        assert saved == pytest.approx(costs[0] - min(costs), abs=1e-4)
        assert cost(borders, place * (parts == part)) == pytest.approx(min(costs), abs=1e-4)


@given(st.integers(0, 2**32 - 1))
def test_places_found_side_by_side_are_those_found_one_after_the_other(seed):
    borders = random_borders(seed)
    edges, pairs, of_parts = _by_pair(borders)
    parts = np.arange(len(borders.stays))
    lists = (*of_parts[:2], parts)
    shifts, moves = np.zeros(len(parts)), 0
    for part in np.tile(parts, SWEEPS):
        place, saved = closing(edges, pairs, lists, part, shifts, COSTS)
        if saved > SURE:
            shifts[part] += place
            moves += 1
    found = np.zeros(len(parts))
    assert _move_parts(edges, pairs, of_parts, parts, found) == moves
    np.testing.assert_array_equal(found, shifts)


def test_what_borders_cost_is_forgotten_where_parts_have_moved():
    moves = 0
    for seed in range(20):
        borders = random_borders(seed)
        edges, pairs, of_parts = _by_pair(borders)
        first, second, count = pairs[0], pairs[1], len(pairs[0])
        every = np.arange(count + 1)
        lists = every, every[:-1], first
        shifts = np.zeros(len(borders.stays))
        place, saved = np.empty((2, count))
        apart, standing = np.zeros(count), np.full(count, np.nan)
        find_closings(edges, pairs, lists, every[:-1], shifts, place, saved)
        known = np.flatnonzero(saved > SURE), place, apart, standing
        moves += _move_together(edges, pairs, lists, of_parts, borders.stays, shifts, known, COSTS)
        for p in np.flatnonzero(~np.isnan(standing)):
            now = shifts[first[p]] - shifts[second[p]]
            assert standing[p] == border_cost(edges, pairs, p, now, np.inf, COSTS)
    assert moves > 20


def test_a_crowd_of_which_groups_were_torn_is_put_right():
    scene = GALLERY["crowd"](240, 320, seed=9)
    depth = integrate(scene.normals, scene.camera).depth
    assert depth_errors(depth, np.asarray(scene.depth), "scale").re < 0.15  # 0.56 without groups
