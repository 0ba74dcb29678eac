"""Anchored systems: every solver solves them, and multigrid in the cycles that free ones take."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import fewer_examples
from rayrelief.graph import PixelGraph, pixel_graph
from rayrelief.operators import Operator
from rayrelief.solvers import Dense, Direct, Multigrid
from rayrelief.solvers.multigrid.aggregation import aggregate
from rayrelief.solvers.multigrid.anchors import coarse_anchors, held_apart
from rayrelief.solvers.multigrid.galerkin import coarse_rows, interpolation, transposed
from rayrelief.solvers.multigrid.rows import stencil
from reference.random_maps import random_mask
from reference.solvers import every_solver

SEED = st.integers(0, 2**32 - 1)


def conductances(rng: np.random.Generator, graph: PixelGraph, orders: float) -> np.ndarray:
    """Symmetric, spread evenly over so many orders of magnitude."""
    conductance = np.zeros(graph.neighbours.shape, dtype=np.float32)
    for d, a, b in graph.edges():
        if d % 2 == 0:
            conductance[d, a] = conductance[d ^ 1, b] = 10 ** rng.uniform(-orders, 0, len(a))
    return conductance


def anchors_at(nodes: Any, weights: Any, size: int) -> np.ndarray:
    diagonal = np.zeros(size, dtype=np.float32)
    diagonal[nodes] = weights
    return diagonal


@every_solver
@fewer_examples(2)
@given(seed=SEED, density=st.floats(0.2, 1), connectivity=st.sampled_from([4, "diagonal", 8]))
def test_agrees_with_the_dense_reference(solver, seed, density, connectivity):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 8, 9, density=density), connectivity)
    weights = np.where(rng.random(graph.size) < 0.3, 10 ** rng.uniform(-2, 2, graph.size), 0)
    operator = Operator(graph, conductances(rng, graph, 1), weights.astype(np.float32))
    truth, start = rng.normal(size=(2, graph.size))
    rhs = operator @ truth
    solution = solver.prepare(operator).solve(rhs, start)
    assert solution.converged
    matrix = np.stack([operator @ unit for unit in np.eye(graph.size)], axis=1)
    np.testing.assert_allclose(matrix @ solution.x, rhs, atol=1e-8 * max(1, np.abs(matrix).max()))
    held = operator.anchored[graph.component_of_node]
    np.testing.assert_allclose(solution.x[held], truth[held], atol=1e-6)


@every_solver
def test_anchors_hold_their_own_component_only(solver):
    mask = np.ones((6, 13), dtype=bool)
    mask[:, 6] = False
    graph = pixel_graph(mask)
    rng = np.random.default_rng(2)
    operator = Operator(graph, conductances(rng, graph, 1), anchors_at([3], 0.5, graph.size))
    np.testing.assert_array_equal(operator.anchored, [True, False])
    truth = rng.normal(size=graph.size)
    shifted = truth + 5.0
    x = solver.prepare(operator).solve(operator @ truth, shifted).x
    first, second = (graph.component_of_node == label for label in (0, 1))
    np.testing.assert_allclose(x[first], truth[first], atol=1e-8)
    constant = x[second] - truth[second]
    np.testing.assert_allclose(constant, constant[0], atol=1e-8)


@every_solver
def test_isolated_pixels_go_where_their_anchors_hold_them(solver):
    mask = np.zeros((5, 5), dtype=bool)
    mask[::2, ::2] = True
    graph = pixel_graph(mask)
    weights = np.array([2.0, 0, 1e-9, 0, 1e9, 0, 1, 0, 3], dtype=np.float32)
    operator = Operator(graph, np.zeros(graph.neighbours.shape, np.float32), weights)
    start = np.arange(9.0)
    x = solver.prepare(operator).solve(weights * np.full(9, 7.0), start).x
    np.testing.assert_allclose(x, np.where(weights > 0, 7.0, start), rtol=1e-7)


@every_solver
@pytest.mark.parametrize("weight", [1e-9, 1.0, 1e9])
def test_no_anchor_is_too_weak_or_too_strong(solver, weight):
    graph = pixel_graph(np.ones((14, 15), dtype=bool))
    rng = np.random.default_rng(4)
    for nodes in ([100], rng.choice(graph.size, 40, replace=False), np.arange(graph.size)):
        anchors = anchors_at(nodes, weight, graph.size)
        operator = Operator(graph, conductances(rng, graph, 1), anchors)
        truth = 5.0 + rng.normal(size=graph.size)
        solution = solver.prepare(operator).solve(operator @ truth, np.zeros(graph.size))
        assert solution.converged
        # What a weak anchor says is lost in the rounding errors of the right-hand side, in part.
        np.testing.assert_allclose(solution.x, truth, atol=1e-4)


@every_solver
def test_the_weakest_anchors_hold_to_values_that_are_told(solver):
    graph = pixel_graph(np.ones((14, 15), dtype=bool))
    rng = np.random.default_rng(4)
    truth = 5.0 + rng.normal(size=graph.size)
    anchors = anchors_at(rng.choice(graph.size, 40, replace=False), 1e-30, graph.size)
    operator = Operator(graph, conductances(rng, graph, 1), anchors, truth)
    x = solver.prepare(operator).solve(operator @ truth, np.zeros(graph.size)).x
    np.testing.assert_allclose(x, truth, atol=1e-9)


@pytest.mark.parametrize("solver", [Dense(), Direct()], ids=["Dense", "Direct"])
def test_so_they_do_in_parts_that_nothing_joins(solver):
    graph = pixel_graph(np.ones((14, 15), dtype=bool))
    rng = np.random.default_rng(4)
    conductance, left = conductances(rng, graph, 1), graph.pixels % 15 < 7
    for d, there in enumerate(graph.neighbours):
        conductance[d, left != left[there]] = 0.0
    truth, anchors = 5.0 + rng.normal(size=graph.size), np.full(graph.size, 1e-30, np.float32)
    operator = Operator(graph, conductance, anchors, truth)
    x = solver.prepare(operator).solve(operator @ truth, np.zeros(graph.size)).x
    np.testing.assert_allclose(x, truth, atol=1e-9)


@every_solver
@pytest.mark.parametrize(
    ("conductance", "weight", "count", "level"),
    [(1e-6, 1e9, 100, 1e3), (1e-3, 1e9, 1, 1e3), (1.0, 1e18, 1, 5.0), (1e6, 1e-3, 1, 5.0)],
)
def test_strength_is_relative_to_the_edges(solver, conductance, weight, count, level):
    graph = pixel_graph(np.ones((20, 21), dtype=bool))
    rng = np.random.default_rng(9)
    anchors = anchors_at(rng.choice(graph.size, count, replace=False), weight, graph.size)
    operator = Operator(graph, (conductance * graph.exists).astype(np.float32), anchors)
    truth = level + rng.normal(size=graph.size)
    solution = solver.prepare(operator).solve(operator @ truth, np.zeros(graph.size))
    assert solution.converged
    np.testing.assert_allclose(solution.x, truth, atol=1e-4)


def cut_by_circles(side: int, weak: float) -> Operator:
    graph = pixel_graph(np.ones((side, side), dtype=bool))
    v, u = np.divmod(graph.pixels, side)
    inside = np.hypot(v % 50 - 25, u % 50 - 25) < 18
    conductance = np.zeros(graph.neighbours.shape, dtype=np.float32)
    for d, a, b in graph.edges():
        conductance[d, a] = np.where(inside[a] == inside[b], 1.0, weak)
    return Operator(graph, conductance)


@pytest.mark.parametrize("weak", [1.0, 1e-3, 1e-6])
def test_cycles_are_those_of_the_free_system(weak):
    free = cut_by_circles(150, weak)
    rng = np.random.default_rng(3)
    truth, size = rng.normal(size=free.graph.size), free.graph.size
    usual = Multigrid(rtol=1e-6).prepare(free).solve(free @ truth, np.zeros(size)).steps
    cycles = {}
    for weight in (1e-9, 1e-3, 0.3, 1.0, 3.0, 30.0, 1e9):
        for count in (1, 100, size):
            anchors = anchors_at(rng.choice(size, count, replace=False), weight, size)
            operator = Operator(free.graph, free.conductance, anchors)
            solution = Multigrid(rtol=1e-6).prepare(operator).solve(operator @ truth, 0 * truth)
            assert solution.converged
            np.testing.assert_allclose(solution.x, truth, atol=2e-2)
            cycles[weight, count] = solution.steps
    assert max(cycles.values()) <= usual + 3, (usual, cycles)


def test_anchors_of_all_strengths_at_once():
    free = cut_by_circles(150, 1e-3)
    rng = np.random.default_rng(8)
    size = free.graph.size
    for count in (30, 3000, size):
        weights = 10 ** rng.uniform(-9, 9, count)
        anchors = anchors_at(rng.choice(size, count, replace=False), weights, size)
        operator = Operator(free.graph, free.conductance, anchors)
        truth = rng.normal(size=size)
        solution = Multigrid(rtol=1e-8).prepare(operator).solve(operator @ truth, np.zeros(size))
        assert solution.converged
        assert solution.steps <= 25
        np.testing.assert_allclose(solution.x, truth, atol=1e-4)


def test_the_same_bits_for_any_number_of_threads():
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("one core: there is nothing to compare with")
    free = cut_by_circles(200, 1e-3)
    rng = np.random.default_rng(5)
    anchors = np.where(rng.random(free.graph.size) < 0.1, 0.5, 0).astype(np.float32)
    operator = Operator(free.graph, free.conductance, anchors)
    rhs = rng.normal(size=free.graph.size)
    before, found = numba.get_num_threads(), []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            found.append(Multigrid(rtol=1e-6).prepare(operator).solve(rhs, 0 * rhs).x.tobytes())
    finally:
        numba.set_num_threads(before)
    assert found[0] == found[1]


@fewer_examples(3)
@given(seed=SEED)
def test_a_coarse_level_holds_as_much_as_the_fine_one(seed):
    # For constants, the energy of the coarse matrix is that of the fine one, held nodes apart.
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 12, 13, density=0.9))
    weights = np.where(rng.random(graph.size) < 0.3, 10 ** rng.uniform(-3, 1, graph.size), 0)
    fine, anchors = held_apart(
        stencil(Operator(graph, conductances(rng, graph, 2))), weights.astype(np.float32)
    )
    aggregates = aggregate(fine)
    up = interpolation(fine, aggregates)
    down = transposed(up, aggregates.count)
    coarse = coarse_anchors(down, anchors)
    assert coarse.min(initial=0) >= 0
    assert coarse.sum(dtype=float) == pytest.approx(anchors.sum(dtype=float), rel=1e-5)
    assert coarse_rows(fine, up, down).size == len(coarse)
