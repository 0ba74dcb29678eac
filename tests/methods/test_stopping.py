"""The way of a surface: at rest, alternating, oscillating, straying, moving."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rayrelief.backends.cpu import CPUComputation
from rayrelief.errors import Outcome
from rayrelief.graph import pixel_graph
from rayrelief.methods.stopping import StoppingRule, Watch
from rayrelief.solvers.dense import Dense
from reference.problems import equations_of, problem_of

RULE = StoppingRule()
GRAPH = pixel_graph(np.ones((6, 8), dtype=bool))
RELIEF = np.random.default_rng(3).normal(size=GRAPH.size)
RELIEF -= RELIEF.mean()
RELIEF /= np.sqrt((RELIEF**2).mean())
ACROSS = np.random.default_rng(5).normal(size=GRAPH.size)
ACROSS -= ACROSS.mean() + RELIEF * (ACROSS @ RELIEF) / (RELIEF @ RELIEF)
ACROSS /= np.sqrt((ACROSS**2).mean())


def at(position):
    return RELIEF + position * ACROSS


def watch_from(start, tolerance=1e-6):
    return Watch(CPUComputation(problem_of(equations_of(GRAPH)), Dense()), start, tolerance, RULE)


def path(positions, tolerance=1e-6):
    """Watch a relief that is displaced by so much, at right angles to itself."""
    surfaces = [np.zeros(GRAPH.size), *map(at, positions)]
    watch = watch_from(surfaces[0], tolerance)
    for old, new in itertools.pairwise(surfaces):
        watch.add(old, new, 1.0)
    return watch


def test_a_run_pauses_after_enough_iterations_and_whole_windows_more():
    watch = watch_from(RELIEF)
    pauses = []
    for number in range(1, RULE.enough + 2 * RULE.window + 2):
        watch.changes.append(1.0)
        if watch.pauses:
            pauses.append(number)
    assert pauses == [RULE.enough + k * RULE.window for k in range(3)]


def test_at_rest():
    watch = path([0.3, 0.1, 0.1 + 1e-8])
    assert watch.rests
    assert not watch.alternates


def test_alternating():
    watch = path([0.1, 0.2, 0.1, 0.2])
    assert watch.alternates
    assert not watch.rests


def test_the_first_two_iterations_cannot_alternate():
    start = RELIEF.copy()
    watch = watch_from(start)
    watch.add(start, RELIEF + 0.1 * ACROSS, 1.0)
    watch.add(RELIEF + 0.1 * ACROSS, RELIEF, 1.0)
    assert not watch.alternates


def to_and_fro(amplitude, count=2 * RULE.window):
    rng = np.random.default_rng(8)
    return list(amplitude * (np.resize([0.5, -0.5], count) + 0.2 * rng.uniform(size=count)))


def test_small_steps_to_and_fro_oscillate():
    watch = path(to_and_fro(0.9 * RULE.oscillation))
    assert watch.oscillates
    assert not watch.strays
    assert not watch.moves(RELIEF)


def test_large_steps_to_and_fro_do_not_count_as_oscillating():
    assert not path(to_and_fro(1.5 * RULE.oscillation)).oscillates


def test_only_at_the_end_of_a_window_is_oscillation_seen():
    assert not path(to_and_fro(0.9 * RULE.oscillation, 2 * RULE.window - 1)).oscillates


def test_the_first_window_begins_at_the_start_and_never_oscillates():
    assert not path(to_and_fro(0.9 * RULE.oscillation, RULE.window)).oscillates


def test_small_steps_in_one_direction_do_not_oscillate():
    step = 0.9 * RULE.oscillation / RULE.window
    assert RULE.window > RULE.wandering
    assert not path(step * np.arange(2 * RULE.window)).oscillates


def test_without_a_tolerance_only_changes_are_kept():
    watch = path(to_and_fro(0.01), tolerance=None)
    assert len(watch.changes) == 2 * RULE.window
    assert not (watch.rests)
    assert not (watch.alternates)
    assert not (watch.oscillates)
    assert not (watch.strays)
    assert not watch.moves(RELIEF)


@pytest.mark.parametrize(("times", "strays"), [(0.8, False), (1.25, True)])
def test_an_iterate_far_from_both_before_it_is_an_excursion(times, strays):
    usual = 0.01
    positions = [usual * (n % 3) for n in range(RULE.window)]  # the nearer of two is one step away
    assert path([*positions, positions[-1] + times * RULE.excursion * usual]).strays is strays


def test_the_way_back_from_an_excursion_is_none():
    positions = [0.01 * (n % 3) for n in range(RULE.window)]
    assert not path([*positions, 0.5, positions[-1]]).strays


@pytest.mark.parametrize(("times", "moves"), [(0.9, False), (1.2, True)])
def test_moving_is_what_a_window_has_moved(times, moves):
    # Displacements across keep the relief: the distance is that of the positions over its size.
    step = times * RULE.moving / RULE.window
    watch = path(step * (np.arange(2 * RULE.window) - 2 * RULE.window + 1))
    assert watch.moves(RELIEF) is moves


def test_a_run_shorter_than_a_window_moves_by_its_last_step():
    assert path([0.5, 0.1]).moves(at(0.1))
    assert not path([0.5, 0.1, 0.11]).moves(at(0.11))


def test_what_came_after_the_last_window_counts():
    calm = to_and_fro(0.01, 3 * RULE.window)
    assert not path(calm).moves(at(calm[-1]))
    assert path([*calm, 0.1, 0.2, 0.3]).moves(at(0.3))


@pytest.mark.parametrize("count", [RULE.window + 2, 3 * RULE.window - 1])
def test_an_excursion_that_is_not_returned_does_not_count(count):
    calm = to_and_fro(0.01, count)
    watch = path([*calm, 0.8])
    assert watch.strays
    assert not watch.moves(at(calm[-1]))


def test_an_excursion_is_no_end_and_no_landmark():
    calm = to_and_fro(0.0005, 2 * RULE.window - 1)
    watch = path([*calm, 0.012])
    assert watch.strays
    assert not watch.oscillates


def test_alternation_is_seen_with_the_tightest_tolerance():
    assert path([0.1, 0.2, 0.1, 0.2], tolerance=1e-12).alternates


def test_usual_steps_are_medians():
    """Two excursions in a window make its mean step large, and its end no better."""
    positions = [*to_and_fro(0.002, RULE.window), 0.0, 0.1, 0.001, 0.1, 0.001, 0.008]
    assert not path(positions).oscillates


def judged(positions, energies, tolerance=1e-6, solved=True):
    """What is said of each iterate in turn."""
    surfaces = [np.zeros(GRAPH.size), *map(at, positions)]
    watch = watch_from(surfaces[0], tolerance)
    said = []
    for (old, new), energy in zip(itertools.pairwise(surfaces), energies, strict=True):
        watch.add(old, new, energy)
        said.append((watch.judge(solved), watch.tightness))
    return said


def test_rest_counts_after_solves_that_are_tighter_and_tighter():
    said = judged([0.3, 0.1, 0.1, 0.1, 0.1], [1.0] * 5)
    assert [outcome for outcome, _ in said] == [None, None, None, None, Outcome.CONVERGED]
    assert [tightness for _, tightness in said[:4]] == pytest.approx([1, 1, 1e-2, 1e-4])


def test_the_first_solve_is_a_tight_one():
    assert watch_from(RELIEF).tightness == pytest.approx(1e-4)
    assert watch_from(RELIEF, tolerance=None).tightness == 1


@pytest.mark.parametrize(("energies", "end"), [((1.0, 2.0), 4), ((2.0, 1.0), 5)])
def test_of_two_states_only_the_one_of_lower_energy_ends_a_run(energies, end):
    said = [outcome for outcome, _ in judged([0.1, 0.2] * 3, energies * 3)]
    assert said.index(Outcome.ALTERNATES) == end


def test_a_solve_that_was_not_finished_never_ends_a_run():
    assert {said for said, _ in judged([0.1] * 9, [1.0] * 9, solved=False)} == {None}
