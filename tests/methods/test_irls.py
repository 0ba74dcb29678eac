"""The kernels do what the plain loops of the reference do, and the loop says how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayrelief.cameras.orthographic import Orthographic
from rayrelief.discontinuity import relative_jump
from rayrelief.errors import Outcome
from rayrelief.formulation import bini, ray_plane
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.graph import PixelGraph, pixel_graph
from rayrelief.methods.edge_terms import EdgeModel, edge_terms, normal_equations
from rayrelief.methods.irls import iterate
from rayrelief.solvers.base import Laplacian, PreparedSolver, Solution
from rayrelief.solvers.conjugate_gradient import ConjugateGradient
from rayrelief.solvers.dense import Dense
from reference import edge_loop
from reference.random_maps import facing_normals, plane_depth, random_mask, random_rays

SEED = st.integers(0, 2**32 - 1)
SIZE = (6, 7)
Builders = tuple[Callable[..., EdgeEquations], Callable[..., list[edge_loop.Edge]]]
FORMULATIONS = ["ray_plane", "bini", "orthographic"]
CONNECTIVITIES = [4, "diagonal", 8]
every_case = pytest.mark.parametrize(
    ("formulation", "connectivity", "jumps"),
    [
        (formulation, connectivity, jumps)
        for formulation in FORMULATIONS
        for connectivity in CONNECTIVITIES
        for jumps in ((False,) if formulation == "bini" else (False, True))
    ],
)


@dataclass
class Problem:
    """The same random equations for the library and for the reference."""

    equations: EdgeEquations
    edges: list[edge_loop.Edge]
    mask: np.ndarray
    rng: np.random.Generator

    @classmethod
    def random(cls, formulation, connectivity, seed):
        rng = np.random.default_rng(seed)
        mask = random_mask(rng, *SIZE, density=0.85)
        graph = pixel_graph(mask, connectivity)
        if formulation == "orthographic":
            places = Orthographic(0.3, 2.0, 3.0).origins(*SIZE)
            normals = facing_normals(rng, np.tile([0.0, 0.0, 1.0], (*SIZE, 1)))
        else:
            places = random_rays(rng, *SIZE, unit=bool(rng.integers(2)))
            normals = facing_normals(rng, places)
        builders: dict[
            str, tuple[Callable[..., EdgeEquations], Callable[..., list[edge_loop.Edge]]]
        ] = {
            "ray_plane": (ray_plane.central_equations, edge_loop.ray_plane_edges),
            "bini": (bini.central_equations, edge_loop.bini_edges),
            "orthographic": (ray_plane.orthographic_equations, edge_loop.orthographic_edges),
        }
        build, build_reference = builders[formulation]
        equations = build(graph, graph.gather(normals), graph.gather(places))
        return cls(equations, build_reference(mask, normals, places, connectivity), mask, rng)

    @property
    def graph(self) -> PixelGraph:
        return self.equations.graph

    def values(self, x: np.ndarray) -> edge_loop.Values:
        """x (N,) as the reference wants it."""
        image = self.graph.scatter(x)
        return {(int(v), int(u)): float(image[v, u]) for v, u in np.argwhere(self.mask)}

    def nodes(self, values: edge_loop.Values) -> np.ndarray:
        """Values of the reference as x (N,)."""
        image = np.full(SIZE, np.nan)
        for pixel, value in values.items():
            image[pixel] = value
        return self.graph.gather(image)

    def on_edges(self, values: dict[tuple[edge_loop.Pixel, edge_loop.Pixel], float]) -> np.ndarray:
        """Values by (a, b) as (D, N), zero on missing edges."""
        array = np.zeros(self.graph.neighbours.shape)
        for d, nodes, neighbours in self.graph.edges():
            for a, b in zip(nodes, neighbours, strict=True):
                at_a, at_b = (divmod(int(self.graph.pixels[i]), SIZE[1]) for i in (a, b))
                array[d, a] = values[at_a, at_b]
        return array


def centred(graph: PixelGraph, x: np.ndarray) -> np.ndarray:
    """Without the free constant of each component."""
    means = np.bincount(graph.component_of_node, x) / np.diff(graph.starts)
    return x - means[graph.component_of_node]


@every_case
@settings(max_examples=5, deadline=None)
@given(seed=SEED)
def test_edge_terms_are_those_of_the_reference(formulation, connectivity, jumps, seed):
    problem = Problem.random(formulation, connectivity, seed)
    x = 0.2 * problem.rng.normal(size=problem.graph.size)
    values, model = problem.values(x), edge_loop.Model(jumps=jumps)
    terms = edge_terms(problem.equations, EdgeModel(model.k, jumps, model.q, model.rho), x)
    exists = problem.graph.exists
    beta = edge_loop.activations(problem.edges, values, model)
    targets = {
        (e.a, e.b): e.target(values[e.a] - values[e.b], beta[e.a, e.b]) for e in problem.edges
    }
    expected_weights = problem.on_edges(edge_loop.weights(problem.edges, values, model.k))
    # A weight is the exponential of a large number: digits of the number are lost in it.
    np.testing.assert_allclose(terms.weights[exists], expected_weights[exists], rtol=1e-6)
    np.testing.assert_allclose(
        terms.activation[exists], problem.on_edges(beta)[exists], rtol=1e-8, atol=1e-15
    )
    np.testing.assert_allclose(
        terms.target[exists], problem.on_edges(targets)[exists], rtol=1e-9, atol=1e-12
    )
    energy = normal_equations(
        problem.equations, EdgeModel(model.k, jumps, model.q, model.rho), x
    ).energy
    assert energy == pytest.approx(edge_loop.energy(problem.edges, values, model), rel=1e-6)


@every_case
@settings(max_examples=5, deadline=None)
@given(seed=SEED)
def test_normal_equations_are_those_of_the_reference(formulation, connectivity, jumps, seed):
    problem = Problem.random(formulation, connectivity, seed)
    x = 0.1 * problem.rng.normal(size=problem.graph.size)
    normal = normal_equations(problem.equations, EdgeModel(2.0, jumps), x)
    system, rhs = normal.system, normal.rhs
    matrix, w, right = edge_loop.rows(
        problem.edges, problem.values(x), edge_loop.Model(jumps=jumps)
    )
    row_major = np.argsort(problem.graph.pixels)
    expected = matrix.T @ (w[:, None] * matrix)
    found = np.stack([system @ unit for unit in np.eye(problem.graph.size)])
    rounding = 2 * np.finfo(np.float32).eps * np.abs(expected).max()
    np.testing.assert_allclose(found[np.ix_(row_major, row_major)], expected, atol=rounding)
    largest = np.abs(right / np.linalg.norm(matrix, axis=1)).max()
    np.testing.assert_allclose(rhs[row_major], matrix.T @ (w * right), atol=4 * rounding * largest)
    assert (system.conductance[~problem.graph.exists] == 0).all()
    for d, a, b in problem.graph.edges():
        np.testing.assert_array_equal(system.conductance[d, a], system.conductance[d ^ 1, b])


@given(seed=SEED)
@settings(max_examples=10, deadline=None)
def test_rounded_weights_do_not_move_the_surface(seed):
    """Equations that a surface satisfies are satisfied by it in the normal equations, too."""
    equations, truth = smooth_problem()
    x = 0.01 * np.random.default_rng(seed).normal(size=truth.size)
    normal = normal_equations(equations, EdgeModel(2.0), x)
    assert normal.system.conductance.dtype == np.float32
    largest = np.abs(normal.system.conductance).max()
    np.testing.assert_allclose(normal.rhs, normal.system @ truth, atol=1e-15 * largest)


@every_case
@settings(max_examples=5, deadline=None)
@given(seed=SEED)
def test_one_outer_iteration_is_that_of_the_reference(formulation, connectivity, jumps, seed):
    problem = Problem.random(formulation, connectivity, seed)
    # Gentle, so that no pixel hangs on weights next to zero, whose position nothing determines.
    start = 0.01 * problem.rng.normal(size=problem.graph.size)
    model = edge_loop.Model(jumps=jumps)
    loop = iterate(
        problem.equations,
        EdgeModel(model.k, jumps, model.q, model.rho),
        Dense(),
        start=start,
        max_iterations=1,
        tolerance=None,
    )
    expected = edge_loop.outer_iteration(problem.edges, problem.values(start), model)
    np.testing.assert_allclose(
        centred(problem.graph, loop.x), problem.nodes(expected), rtol=1e-6, atol=1e-8
    )


@every_case
@settings(max_examples=3, deadline=None)
@given(seed=SEED)
def test_a_run_from_a_flat_start_is_that_of_the_reference(formulation, connectivity, jumps, seed):
    problem = Problem.random(formulation, connectivity, seed)
    loop = iterate(
        problem.equations,
        EdgeModel(0.5, jumps),
        Dense(),
        start=None,
        max_iterations=4,
        tolerance=None,
    )
    x = problem.values(np.zeros(problem.graph.size))
    # alpha is zero in the first iteration: every edge counts as continuous.
    x = edge_loop.outer_iteration(problem.edges, x, edge_loop.Model(0.5, jumps=False))
    for _ in range(3):
        x = edge_loop.outer_iteration(problem.edges, x, edge_loop.Model(0.5, jumps))
    np.testing.assert_allclose(
        centred(problem.graph, loop.x), problem.nodes(x), rtol=1e-5, atol=1e-7
    )


@settings(max_examples=15, deadline=None)
@given(SEED, st.sampled_from([2.0, 30.0, 1000.0]), st.sampled_from([5.0, 50.0, 500.0]))
def test_the_argument_of_the_logarithm_stays_positive_in_every_iteration(seed, k, q):
    rng = np.random.default_rng(seed)
    rays = random_rays(rng, 12, 13)
    graph = pixel_graph(random_mask(rng, 12, 13, density=0.9))
    normals = facing_normals(rng, rays, spread=1.6)
    equations = ray_plane.central_equations(graph, graph.gather(normals), graph.gather(rays))
    model = EdgeModel(k, jumps=True, q=q)
    solver = Recording(ConjugateGradient(rtol=1e-6), [])
    loop = iterate(equations, model, solver, start=None, max_iterations=15, tolerance=None)
    assert len(solver.iterates) == len(loop.history) == 15
    graph = equations.graph
    eps = ray_plane.omega_eps(graph.gather(normals), graph.gather(rays))
    omega = np.exp(equations.offset)
    for number, x in enumerate(solver.iterates, start=1):
        beta = edge_terms(equations, model, x).activation
        alpha = relative_jump(x - x[graph.neighbours], omega, eps)
        argument = (omega + eps * alpha * beta)[graph.exists]
        assert argument.min() > 0, f"iteration {number}, seed {seed}"
        assert np.isfinite(argument).all()


@dataclass(frozen=True)
class Recording:
    """A solver that keeps every iterate."""

    solver: ConjugateGradient
    iterates: list[np.ndarray]

    def prepare(self, system: Laplacian, previous: object = None) -> RecordingPrepared:
        return RecordingPrepared(self.solver.prepare(system), self.iterates)


@dataclass(frozen=True)
class RecordingPrepared:
    prepared: PreparedSolver
    iterates: list[np.ndarray]

    def solve(self, rhs: np.ndarray, start: np.ndarray, tighten: float = 1.0) -> Solution:
        solution = self.prepared.solve(rhs, start, tighten)
        self.iterates.append(solution.x)
        return solution


def smooth_problem(size=(9, 10)):
    """Equations of a slanted plane, which the first solve satisfies."""
    rays = random_rays(np.random.default_rng(4), *size)
    graph = pixel_graph(np.ones(size, dtype=bool))
    normal = np.array([0.3, -0.2, -1.0]) / np.linalg.norm([0.3, -0.2, -1.0])
    nodes = graph.gather(rays)
    truth = np.log(plane_depth(normal, nodes))
    return ray_plane.central_equations(graph, np.broadcast_to(normal, nodes.shape), nodes), truth


def rough_problem():
    """Equations of random normals, which no surface satisfies."""
    rng = np.random.default_rng(4)
    rays = random_rays(rng, 9, 10)
    graph = pixel_graph(np.ones((9, 10), dtype=bool))
    normals = graph.gather(facing_normals(rng, rays))
    return ray_plane.central_equations(graph, normals, graph.gather(rays))


@dataclass(frozen=True)
class Broken:
    """A solver whose solution is not a number from a certain call on."""

    good_calls: int
    calls: list[int]

    def prepare(self, system: Laplacian, previous: object = None) -> Broken:
        del system
        return self

    def solve(self, rhs: np.ndarray, start: np.ndarray, tighten: float = 1.0) -> Solution:
        del rhs, tighten
        self.calls.append(1)
        x = start + 1.0 if len(self.calls) <= self.good_calls else np.full(len(start), np.nan)
        return Solution(x, steps=1, converged=True)


@dataclass(frozen=True)
class Alternating:
    """A solver that goes back and forth between two surfaces."""

    surfaces: tuple[np.ndarray, np.ndarray]
    calls: list[float]

    def prepare(self, system: Laplacian, previous: object = None) -> Alternating:
        del system
        return self

    def solve(self, rhs: np.ndarray, start: np.ndarray, tighten: float = 1.0) -> Solution:
        del rhs, start
        self.calls.append(tighten)
        return Solution(self.surfaces[len(self.calls) % 2].copy(), steps=1, converged=True)


def run(equations, **changes):
    options = {
        "solver": Dense(),
        "start": None,
        "max_iterations": 20,
        "tolerance": 1e-6,
        **changes,
    }
    return iterate(equations, EdgeModel(2.0, jumps=True), **options)


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_surfaces_that_alternate_the_one_of_lower_energy_is_taken(order):
    equations = rough_problem()
    rng = np.random.default_rng(6)
    surfaces = [0.1 * rng.normal(size=90), 0.3 * rng.normal(size=90)]
    model = EdgeModel(2.0, jumps=True)
    energies = [normal_equations(equations, model, x).energy for x in surfaces]
    one, other = surfaces[::order]
    solver = Alternating((one, other), [])
    loop = run(equations, solver=solver)
    assert loop.outcome is Outcome.ALTERNATES
    assert loop.outcome.ok
    np.testing.assert_array_equal(loop.x, surfaces[int(np.argmin(energies))])
    assert loop.history[-1].energy == min(energies)
    # Seen to alternate, it is solved again twice, more tightly, before that counts.
    assert solver.calls[-1] == pytest.approx(1e-4)
    assert len(solver.calls) < 10


@pytest.mark.parametrize("limit", [3, 4, 5, 6])
def test_at_the_limit_too_the_one_of_lower_energy_is_taken(limit):
    equations = rough_problem()
    rng = np.random.default_rng(6)
    surfaces = [0.1 * rng.normal(size=90), 0.3 * rng.normal(size=90)]
    model = EdgeModel(2.0, jumps=True)
    energies = [normal_equations(equations, model, x).energy for x in surfaces]
    loop = run(equations, solver=Alternating((surfaces[0], surfaces[1]), []), max_iterations=limit)
    np.testing.assert_array_equal(loop.x, surfaces[int(np.argmin(energies))])


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


@dataclass
class Scripted:
    """A solver whose solutions are given."""

    surfaces: list[np.ndarray]
    calls: int = 0

    def prepare(self, system: Laplacian, previous: object = None) -> Scripted:
        del system
        return self

    def solve(self, rhs: np.ndarray, start: np.ndarray, tighten: float = 1.0) -> Solution:
        del rhs, start
        self.calls += 1
        return Solution(self.surfaces[self.calls - 1].copy(), steps=1, converged=True)


def wandering_surfaces(count):
    rng = np.random.default_rng(9)
    relief = rng.normal(size=90)
    return [relief + 0.004 * rng.normal(size=90) for _ in range(count)]


def test_a_surface_that_wanders_is_done():
    surfaces = wandering_surfaces(20)
    loop = run(rough_problem(), solver=Scripted(surfaces))
    assert loop.outcome is Outcome.WANDERS
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
    model = EdgeModel(2.0, jumps=True)
    iterates = [run(equations, tolerance=None, max_iterations=n).x for n in (1, 2, 3)]
    history = run(equations, tolerance=None, max_iterations=3).history
    for x, iteration in zip(iterates, history, strict=True):
        assert iteration.energy == normal_equations(equations, model, x).energy
        assert iteration.inner_iterations == 1
        assert iteration.seconds > 0
    for old, new, iteration in zip(iterates[:-1], iterates[1:], history[1:], strict=True):
        expected = np.std(new - old) / np.std(new)
        assert iteration.change == pytest.approx(expected, rel=1e-9)
    assert history[0].change == pytest.approx(1.0), "the flat start has no relief of its own"


@settings(max_examples=20, deadline=None)
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
