"""Kernels and loop do what the plain loops of the reference do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import fewer_examples
from rayrelief.backends.cpu import CPU
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.formulation import bini, ray_plane
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.graph import PixelGraph, pixel_graph
from rayrelief.jumps import relative_jump
from rayrelief.laws.bilateral import Bilateral
from rayrelief.methods.reweighted import iterate
from rayrelief.operators import Operator
from rayrelief.solvers.base import LinearSolution, PreparedSolver
from rayrelief.solvers.conjugate_gradient import ConjugateGradient
from rayrelief.solvers.dense import Dense
from reference import edge_loop
from reference.problems import normal_equations, problem_of, smooth_problem
from reference.random_maps import facing_normals, random_mask, random_rays

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
@fewer_examples(10)
@given(seed=SEED)
def test_edge_terms_are_those_of_the_reference(formulation, connectivity, jumps, seed):
    problem = Problem.random(formulation, connectivity, seed)
    x = 0.2 * problem.rng.normal(size=problem.graph.size)
    values, model = problem.values(x), edge_loop.Model(jumps=jumps)
    law = Bilateral(model.k, jumps, model.q, model.rho)
    terms = law.terms(problem.equations, x)
    exists = problem.graph.exists
    beta = edge_loop.activations(problem.edges, values, model)
    targets = {
        (e.a, e.b): e.target(values[e.a] - values[e.b], beta[e.a, e.b]) for e in problem.edges
    }
    expected_weights = problem.on_edges(edge_loop.weights(problem.edges, values, model.k))
    # A weight is the exponential of a large number: digits of the number are lost in it.
    np.testing.assert_allclose(
        terms.weights[exists], expected_weights[exists], rtol=1e-6, atol=1e-300
    )
    assert (terms.activation is not None) == jumps
    if terms.activation is not None:
        np.testing.assert_allclose(
            terms.activation[exists], problem.on_edges(beta)[exists], rtol=1e-8, atol=1e-15
        )
        np.testing.assert_array_equal(law.cuts(terms)[exists], terms.activation[exists] > 0.5)
    np.testing.assert_allclose(
        terms.target[exists], problem.on_edges(targets)[exists], rtol=1e-9, atol=1e-12
    )
    energy = normal_equations(problem.equations, law, x).energy
    assert energy == pytest.approx(edge_loop.energy(problem.edges, values, model), rel=1e-6)


@every_case
@fewer_examples(10)
@given(seed=SEED)
def test_normal_equations_are_those_of_the_reference(formulation, connectivity, jumps, seed):
    problem = Problem.random(formulation, connectivity, seed)
    x = 0.1 * problem.rng.normal(size=problem.graph.size)
    normal = normal_equations(problem.equations, Bilateral(2.0, jumps), x)
    system, rhs = normal.operator, normal.rhs
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
@fewer_examples(5)
def test_rounded_weights_do_not_move_the_surface(seed):
    """Equations that a surface satisfies are satisfied by it in the normal equations, too."""
    equations, truth = smooth_problem()
    x = 0.01 * np.random.default_rng(seed).normal(size=truth.size)
    normal = normal_equations(equations, Bilateral(2.0), x)
    assert normal.operator.conductance.dtype == np.float32
    largest = np.abs(normal.operator.conductance).max()
    np.testing.assert_allclose(normal.rhs, normal.operator @ truth, atol=1e-15 * largest)


@every_case
@fewer_examples(10)
@given(seed=SEED)
def test_one_outer_iteration_is_that_of_the_reference(formulation, connectivity, jumps, seed):
    problem = Problem.random(formulation, connectivity, seed)
    # Gentle, so that no pixel hangs on weights next to zero, whose position nothing determines.
    start = 0.01 * problem.rng.normal(size=problem.graph.size)
    model = edge_loop.Model(jumps=jumps)
    law = Bilateral(model.k, jumps, model.q, model.rho)
    started = problem_of(problem.equations, start=start)
    loop = iterate(started, law, Dense(), CPU(), max_iterations=1)
    expected = edge_loop.outer_iteration(problem.edges, problem.values(start), model)
    np.testing.assert_allclose(
        centred(problem.graph, loop.x), problem.nodes(expected), rtol=1e-6, atol=1e-8
    )


@every_case
@fewer_examples(17)
@given(seed=SEED)
def test_a_run_from_a_flat_start_is_that_of_the_reference(formulation, connectivity, jumps, seed):
    problem = Problem.random(formulation, connectivity, seed)
    flat = problem_of(problem.equations)
    loop = iterate(flat, Bilateral(0.5, jumps), Dense(), CPU(), max_iterations=4)
    x = problem.values(np.zeros(problem.graph.size))
    # alpha is zero in the first iteration: every edge counts as continuous.
    x = edge_loop.outer_iteration(problem.edges, x, edge_loop.Model(0.5, jumps=False))
    for _ in range(3):
        x = edge_loop.outer_iteration(problem.edges, x, edge_loop.Model(0.5, jumps))
    np.testing.assert_allclose(
        centred(problem.graph, loop.x), problem.nodes(x), rtol=1e-5, atol=1e-7
    )


@fewer_examples(3)
@given(SEED, st.sampled_from([2.0, 30.0, 1000.0]), st.sampled_from([5.0, 50.0, 500.0]))
def test_the_argument_of_the_logarithm_stays_positive_in_every_iteration(seed, k, q):
    rng = np.random.default_rng(seed)
    rays = random_rays(rng, 12, 13)
    graph = pixel_graph(random_mask(rng, 12, 13, density=0.9))
    normals = facing_normals(rng, rays, spread=1.6)
    equations = ray_plane.central_equations(graph, graph.gather(normals), graph.gather(rays))
    law = Bilateral(k, jumps=True, q=q)
    solver = Recording(ConjugateGradient(rtol=1e-6), [])
    loop = iterate(problem_of(equations), law, solver, CPU(), max_iterations=15)
    assert len(solver.iterates) == len(loop.history) == 15
    graph = equations.graph
    eps = ray_plane.omega_eps(graph.gather(normals), graph.gather(rays))
    omega = np.exp(equations.offset)
    for number, x in enumerate(solver.iterates, start=1):
        beta = law.terms(equations, x).activation
        assert beta is not None
        alpha = relative_jump(x - x[graph.neighbours], omega, eps)
        argument = (omega + eps * alpha * beta)[graph.exists]
        assert argument.min() > 0, f"iteration {number}, seed {seed}"
        assert np.isfinite(argument).all()


@dataclass(frozen=True)
class Recording:
    """A solver that keeps every iterate."""

    solver: ConjugateGradient
    iterates: list[np.ndarray]

    def prepare(self, operator: Operator) -> RecordingPrepared:
        return RecordingPrepared(self.solver.prepare(operator), self.iterates)


@dataclass(frozen=True)
class RecordingPrepared:
    prepared: PreparedSolver
    iterates: list[np.ndarray]

    def solve(self, rhs: np.ndarray, start: np.ndarray, tighten: float = 1.0) -> LinearSolution:
        solution = self.prepared.solve(rhs, start, tighten)
        self.iterates.append(solution.x)
        return solution
