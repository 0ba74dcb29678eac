"""The way of a surface: at rest, to and fro, wandering, straying, under way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayrelief.graph import pixel_graph
from rayrelief.methods.motion import (
    EXCURSION,
    STEPS,
    UNDER_WAY,
    WANDERING,
    WINDOW,
    Motion,
    relative_change,
    remembered,
)

GRAPH = pixel_graph(np.ones((6, 8), dtype=bool))
RELIEF = np.random.default_rng(3).normal(size=GRAPH.size)
RELIEF -= RELIEF.mean()
RELIEF /= np.sqrt((RELIEF**2).mean())
ACROSS = np.random.default_rng(5).normal(size=GRAPH.size)
ACROSS -= ACROSS.mean() + RELIEF * (ACROSS @ RELIEF) / (RELIEF @ RELIEF)
ACROSS /= np.sqrt((ACROSS**2).mean())


def at(position):
    return RELIEF + position * ACROSS


def path(positions, tolerance=1e-6):
    """Motion of a relief that is displaced by so much, at right angles to itself."""
    surfaces = [np.zeros(GRAPH.size), *map(at, positions)]
    motion = Motion(GRAPH, surfaces[0], tolerance)
    for old, new in itertools.pairwise(surfaces):
        motion.add(old, new)
    return motion


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-1e3, 1e3),
)
def test_the_change_is_free_of_scale_and_of_each_component_s_shift(seed, scale, shift):
    mask = np.ones((5, 7), dtype=bool)
    mask[:, 3] = False
    graph = pixel_graph(mask)
    rng = np.random.default_rng(seed)
    new, old = rng.normal(size=(2, graph.size))
    shifts = np.array([shift, -2 * shift])[graph.component_of_node]
    moved = relative_change(graph, scale * new + shifts, scale * old - shifts)
    assert moved == pytest.approx(relative_change(graph, new, old), rel=1e-6)


def test_the_change_is_the_displacement_over_the_relief():
    new = RELIEF + 0.01 * ACROSS
    assert relative_change(GRAPH, new, RELIEF) == pytest.approx(0.01 / np.hypot(1, 0.01))


def test_what_is_remembered_is_enough_to_compare_with():
    x = 1e3 + RELIEF
    assert relative_change(GRAPH, x, remembered(GRAPH, x)) < 1e-7


def test_at_rest():
    motion = path([0.3, 0.1, 0.1 + 1e-8])
    assert motion.rests
    assert not motion.alternates


def test_alternating():
    motion = path([0.1, 0.2, 0.1, 0.2])
    assert motion.alternates
    assert not motion.rests


def test_the_first_two_iterations_cannot_alternate():
    start = RELIEF.copy()
    motion = Motion(GRAPH, start, 1e-6)
    motion.add(start, RELIEF + 0.1 * ACROSS)
    motion.add(RELIEF + 0.1 * ACROSS, RELIEF)
    assert not motion.alternates


def to_and_fro(amplitude, count=2 * WINDOW):
    rng = np.random.default_rng(8)
    return list(amplitude * (np.resize([0.5, -0.5], count) + 0.2 * rng.uniform(size=count)))


def test_small_steps_to_and_fro_wander():
    motion = path(to_and_fro(0.9 * WANDERING))
    assert motion.wanders
    assert not motion.strays
    assert not motion.under_way(RELIEF)


def test_large_steps_to_and_fro_do_not_count_as_wandering():
    assert not path(to_and_fro(1.5 * WANDERING)).wanders


def test_only_at_the_end_of_a_window_is_wandering_seen():
    assert not path(to_and_fro(0.9 * WANDERING, 2 * WINDOW - 1)).wanders


def test_the_first_window_begins_at_the_start_and_never_wanders():
    assert not path(to_and_fro(0.9 * WANDERING, WINDOW)).wanders


def test_small_steps_in_one_direction_do_not_wander():
    step = 0.9 * WANDERING / WINDOW
    assert WINDOW > STEPS
    assert not path(step * np.arange(2 * WINDOW)).wanders


def test_without_a_tolerance_only_changes_are_kept():
    motion = path(to_and_fro(0.01), tolerance=None)
    assert len(motion.changes) == 2 * WINDOW
    assert not (motion.rests)
    assert not (motion.alternates)
    assert not (motion.wanders)
    assert not (motion.strays)
    assert not motion.under_way(RELIEF)


@pytest.mark.parametrize(("times", "strays"), [(0.8, False), (1.25, True)])
def test_an_iterate_far_from_both_before_it_is_an_excursion(times, strays):
    usual = 0.01
    positions = [usual * (n % 3) for n in range(WINDOW)]  # the nearer of two is one step away
    assert path([*positions, positions[-1] + times * EXCURSION * usual]).strays is strays


def test_the_way_back_from_an_excursion_is_none():
    positions = [0.01 * (n % 3) for n in range(WINDOW)]
    assert not path([*positions, 0.5, positions[-1]]).strays


@pytest.mark.parametrize(("times", "under_way"), [(0.9, False), (1.2, True)])
def test_under_way_is_what_a_window_has_moved(times, under_way):
    # Displacements across keep the relief: the distance is that of the positions over its size.
    step = times * UNDER_WAY / WINDOW
    motion = path(step * (np.arange(2 * WINDOW) - 2 * WINDOW + 1))
    assert motion.under_way(RELIEF) is under_way


def test_a_run_shorter_than_a_window_is_under_way_by_its_last_step():
    assert path([0.5, 0.1]).under_way(at(0.1))
    assert not path([0.5, 0.1, 0.11]).under_way(at(0.11))


def test_what_came_after_the_last_window_counts():
    calm = to_and_fro(0.01, 3 * WINDOW)
    assert not path(calm).under_way(at(calm[-1]))
    assert path([*calm, 0.1, 0.2, 0.3]).under_way(at(0.3))


@pytest.mark.parametrize("count", [WINDOW + 2, 3 * WINDOW - 1])
def test_an_excursion_that_is_not_returned_does_not_count(count):
    calm = to_and_fro(0.01, count)
    motion = path([*calm, 0.8])
    assert motion.strays
    assert not motion.under_way(at(calm[-1]))


def test_an_excursion_is_no_end_and_no_landmark():
    calm = to_and_fro(0.0005, 2 * WINDOW - 1)
    motion = path([*calm, 0.012])
    assert motion.strays
    assert not motion.wanders


def test_alternation_is_seen_with_the_tightest_tolerance():
    assert path([0.1, 0.2, 0.1, 0.2], tolerance=1e-12).alternates


def test_settings_of_the_rules_are_those_that_were_measured():
    assert (WINDOW, WANDERING, STEPS, EXCURSION, UNDER_WAY) == (6, 0.02, 1.5, 5.0, 0.2)


def test_usual_steps_are_medians():
    """Two excursions in a window make its mean step large, and its end no better."""
    positions = [*to_and_fro(0.002, WINDOW), 0.0, 0.1, 0.001, 0.1, 0.001, 0.008]
    assert not path(positions).wanders
