"""How a run of the loop ends, and what it says of the way there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import fewer_examples
from rayrelief.backends.cpu import CPU
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.errors import Outcome
from rayrelief.formulation import ray_plane
from rayrelief.graph import pixel_graph
from rayrelief.laws.bilateral import Bilateral
from rayrelief.methods.reweighted import iterate
from rayrelief.operators import Operator
from rayrelief.solvers.base import LinearSolution
from rayrelief.solvers.conjugate_gradient import ConjugateGradient
from rayrelief.solvers.dense import Dense
from reference.problems import normal_equations, problem_of, rough_problem, smooth_problem
from reference.random_maps import facing_normals

SEED = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class Broken:
    """A solver whose solution is not a number from a certain call on."""

    good_calls: int
    calls: list[int]

    def prepare(self, operator: Operator) -> Broken:
        del operator
        return self

    def solve(self, rhs: np.ndarray, start: np.ndarray, tighten: float = 1.0) -> LinearSolution:
        del rhs, tighten
        self.calls.append(1)
        x = start + 1.0 if len(self.calls) <= self.good_calls else np.full(len(start), np.nan)
        return LinearSolution(x, steps=1, converged=True)


@dataclass(frozen=True)
class Scripted:
    """A solver whose solutions are given, again and again; it keeps how tight they should be."""

    surfaces: Sequence[np.ndarray]
    calls: list[float] = field(default_factory=list)

    def prepare(self, operator: Operator) -> Scripted:
        del operator
        return self

    def solve(self, rhs: np.ndarray, start: np.ndarray, tighten: float = 1.0) -> LinearSolution:
        del rhs, start
        x = self.surfaces[len(self.calls) % len(self.surfaces)]
        self.calls.append(tighten)
        return LinearSolution(x.copy(), steps=1, converged=True)


def run(equations, solver=None, start=None, **changes):
    options = {"max_iterations": 20, "tolerance": 1e-6, **changes}
    problem = problem_of(equations, start=start)
    return iterate(problem, Bilateral(2.0, jumps=True), solver or Dense(), CPU(), **options)


def two_surfaces(equations):
    """One of lower energy, one of higher."""
    rng = np.random.default_rng(6)
    surfaces = [scale * rng.normal(size=90) for scale in (0.1, 0.3)]
    law = Bilateral(2.0, jumps=True)
    return sorted(surfaces, key=lambda x: normal_equations(equations, law, x).energy)


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_surfaces_that_alternate_the_one_of_lower_energy_is_taken(order):
    equations = rough_problem()
    lower, higher = two_surfaces(equations)
    solver = Scripted((lower, higher)[::order])
    loop = run(equations, solver=solver)
    assert loop.outcome is Outcome.ALTERNATES
    assert loop.outcome.ok
    np.testing.assert_array_equal(loop.x, lower)
    assert loop.history[-1].energy == min(i.energy for i in loop.history)
    # Seen to alternate, it is solved again twice, more tightly, before that counts.
    assert solver.calls[-1] == pytest.approx(1e-4)
    assert len(solver.calls) < 10


@pytest.mark.parametrize("limit", [3, 4, 5, 6])
def test_at_the_limit_too_the_one_of_lower_energy_is_taken(limit):
    equations = rough_problem()
    lower, higher = two_surfaces(equations)
    loop = run(equations, solver=Scripted((lower, higher)), max_iterations=limit)
    np.testing.assert_array_equal(loop.x, lower)


def test_converged():
    equations, truth = smooth_problem()
    loop = run(equations)
    assert loop.outcome is Outcome.CONVERGED
    # The first solve moves, and the surface at rest is solved again twice, more tightly.
    assert [i.change < 1e-6 for i in loop.history] == [False, True, True, True]
    np.testing.assert_allclose(loop.x - loop.x[0], truth - truth[0], atol=1e-12)


def test_completed_without_a_tolerance():
    loop = run(smooth_problem()[0], tolerance=None, max_iterations=7)
    assert loop.outcome is Outcome.COMPLETED
    assert [i.number for i in loop.history] == [1, 2, 3, 4, 5, 6, 7]


def test_completed_where_the_surface_has_settled_above_the_tolerance():
    loop = run(rough_problem(), tolerance=1e-300, max_iterations=6)
    assert 1e-300 < loop.history[-1].change < 0.1
    assert loop.outcome is Outcome.COMPLETED


def wandering_surfaces(count):
    rng = np.random.default_rng(9)
    relief = rng.normal(size=90)
    return [relief + 0.004 * rng.normal(size=90) for _ in range(count)]


def test_a_surface_that_wanders_is_done():
    surfaces = wandering_surfaces(20)
    loop = run(rough_problem(), solver=Scripted(surfaces))
    assert loop.outcome is Outcome.OSCILLATES
    assert loop.outcome.ok
    assert len(loop.history) == 12
    np.testing.assert_array_equal(loop.x, surfaces[11])


def test_without_a_tolerance_a_surface_may_wander_on():
    loop = run(rough_problem(), solver=Scripted(wandering_surfaces(20)), tolerance=None)
    assert loop.outcome is Outcome.COMPLETED
    assert len(loop.history) == 20


@pytest.mark.parametrize("by", ["limit", "callback"])
def test_no_run_ends_on_an_excursion(by):
    surfaces = wandering_surfaces(12)
    surfaces[10] = surfaces[10] + np.random.default_rng(1).normal(size=90)
    ending: dict[str, dict[str, Any]] = {
        "limit": {"max_iterations": 11},
        "callback": {"callback": lambda iteration: iteration.number == 11},
    }
    loop = run(rough_problem(), solver=Scripted(surfaces), **ending[by])
    assert len(loop.history) == 11
    assert loop.outcome is {"limit": Outcome.COMPLETED, "callback": Outcome.STOPPED}[by]
    np.testing.assert_array_equal(loop.x, surfaces[9])
    following = run(rough_problem(), solver=Scripted(surfaces), max_iterations=12)
    np.testing.assert_array_equal(following.x, surfaces[11])


def test_the_iteration_limit_is_a_failure_while_the_surface_moves():
    loop = run(smooth_problem()[0], max_iterations=1)
    assert loop.outcome is Outcome.ITERATION_LIMIT
    assert not loop.outcome.ok
    assert len(loop.history) == 1


def turning_surfaces(step, until):
    """Surfaces of equal relief, each a step (radians) from the one before, up to some number."""
    one, other = np.linalg.qr(np.random.default_rng(8).normal(size=(90, 2)))[0].T
    one, other = (each - each.mean() for each in (one, other))
    angles = step * np.minimum(np.arange(130), until)
    return [np.cos(angle) * one + np.sin(angle) * other for angle in angles]


@pytest.mark.parametrize(
    ("step", "until", "given", "outcome", "count"),
    [
        (0.05, 59, None, Outcome.CONVERGED, 63),
        (0.05, 59, 40, Outcome.ITERATION_LIMIT, 40),
        (0.05, 130, None, Outcome.ITERATION_LIMIT, 120),
        (0.01, 130, None, Outcome.COMPLETED, 40),
    ],
    ids=["until it is done", "not beyond what is given", "not for ever", "not if it moves little"],
)
def test_a_surface_that_still_moves_goes_on(step, until, given, outcome, count):
    surfaces = turning_surfaces(step, until)
    loop = run(rough_problem(), solver=Scripted(surfaces), max_iterations=given)
    assert loop.outcome is outcome
    assert len(loop.history) == count
    np.testing.assert_array_equal(loop.x, surfaces[count - 1])


@pytest.mark.parametrize("tolerance", [None, 1e-6])
def test_the_solver_limit_is_a_failure(tolerance):
    solver = ConjugateGradient(rtol=1e-13, max_steps=2)
    loop = run(rough_problem(), solver=solver, tolerance=tolerance, max_iterations=3)
    assert loop.outcome is Outcome.SOLVER_LIMIT
    assert not loop.outcome.ok
    assert [i.inner_iterations for i in loop.history] == [2, 2, 2]


def test_the_callback_stops_the_run():
    numbers = []

    def stop_at_three(iteration):
        numbers.append(iteration.number)
        return iteration.number == 3

    loop = run(rough_problem(), tolerance=None, callback=stop_at_three)
    assert loop.outcome is Outcome.STOPPED
    assert loop.outcome.ok
    assert numbers == [1, 2, 3] == [i.number for i in loop.history]


@pytest.mark.parametrize("mask", [np.ones((1, 1)), np.eye(4)], ids=["pixel", "diagonal"])
def test_no_equations(mask):
    graph = pixel_graph(mask.astype(bool))
    rays = np.tile([0.0, 0.0, 1.0], (graph.size, 1))
    loop = run(ray_plane.central_equations(graph, -rays, rays))
    assert loop.outcome is Outcome.NO_EQUATIONS
    assert loop.history == ()
    np.testing.assert_array_equal(loop.x, 0)


@pytest.mark.parametrize("good_calls", [0, 2])
def test_what_is_not_finite_ends_the_run_at_the_last_good_iterate(good_calls):
    loop = run(rough_problem(), solver=Broken(good_calls, []), tolerance=None)
    assert loop.outcome is Outcome.NOT_FINITE
    assert not loop.outcome.ok
    assert len(loop.history) == good_calls
    np.testing.assert_array_equal(loop.x, good_calls)


def test_the_history_describes_the_iterates():
    equations = rough_problem()
    law = Bilateral(2.0, jumps=True)
    iterates = [run(equations, tolerance=None, max_iterations=n).x for n in (1, 2, 3)]
    history = run(equations, tolerance=None, max_iterations=3).history
    for x, iteration in zip(iterates, history, strict=True):
        assert iteration.energy == normal_equations(equations, law, x).energy
        assert iteration.inner_iterations == 1
        assert iteration.seconds > 0
    for old, new, iteration in zip(iterates[:-1], iterates[1:], history[1:], strict=True):
        expected = np.std(new - old) / np.std(new)
        assert iteration.change == pytest.approx(expected, rel=1e-9)
    assert history[0].change == pytest.approx(1.0), "the flat start has no relief of its own"


@fewer_examples(2)
@given(SEED, st.booleans(), st.integers(-7, 7).map(lambda n: 2.0**n))
def test_the_change_ignores_the_scale_and_the_constants_of_the_components(seed, split, scale):
    rng = np.random.default_rng(seed)
    mask = np.ones((7, 9), dtype=bool)
    mask[:, 4] = not split
    graph = pixel_graph(mask)
    normals = facing_normals(rng, np.tile([0.0, 0.0, 1.0], (graph.size, 1)))
    changes = []
    for size in (1.0, scale):
        origins = graph.gather(Orthographic(size).origins(7, 9))
        equations = ray_plane.orthographic_equations(graph, normals, origins)
        start = size * graph.component_of_node.astype(float)
        loop = run(equations, start=start, tolerance=None, max_iterations=4)
        changes.append([i.change for i in loop.history])
    np.testing.assert_allclose(changes[0], changes[1], rtol=1e-6)
