"""Every linear solver solves every graph Operator; a new one is tested by adding a line."""

from __future__ import annotations

import sys

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import fewer_examples
from rayrelief.errors import InputError
from rayrelief.graph import PixelGraph, pixel_graph
from rayrelief.operators import Operator
from rayrelief.solvers.conjugate_gradient import ConjugateGradient
from rayrelief.solvers.dense import Dense
from rayrelief.solvers.direct import Direct
from rayrelief.solvers.pyamg_solver import PyAMG
from rayrelief.solvers.segments import SEGMENT
from reference.random_maps import random_mask
from reference.solvers import every_solver, every_solver_of_large_maps, needs_pyamg

SEED = st.integers(0, 2**32 - 1)
CONNECTIVITY = st.sampled_from([4, "diagonal", 8])
# Components of at most one block are solved side by side, larger ones block by block.
MASKS = {
    "below one block": np.ones((20, 31), dtype=bool),
    "one block": np.ones((32, SEGMENT // 32), dtype=bool),
    "above one block": np.ones((46, 47), dtype=bool),
    "above and below": np.tile(np.arange(80) % 47 != 46, (46, 1)),
}


def random_system(
    rng: np.random.Generator, graph: PixelGraph, orders_of_magnitude: float
) -> Operator:
    """Symmetric conductances, spread evenly over so many orders of magnitude."""
    conductance = np.zeros(graph.neighbours.shape, dtype=np.float32)
    for d, a, b in graph.edges():
        if d % 2 == 0:
            conductance[d, a] = 10 ** rng.uniform(-orders_of_magnitude, 0, len(a))
            conductance[d ^ 1, b] = conductance[d, a]
    return Operator(graph, conductance)


def centred(graph: PixelGraph, x: np.ndarray) -> np.ndarray:
    """Without the free constant of each component."""
    means = np.bincount(graph.component_of_node, x) / np.diff(graph.starts)
    return x - means[graph.component_of_node]


def dense_solution(system: Operator, rhs: np.ndarray) -> np.ndarray:
    """Least-squares solution of the matrix that multiplying by unit vectors spells out."""
    matrix = np.stack([system @ unit for unit in np.eye(system.graph.size)], axis=1)
    np.testing.assert_array_equal(matrix, matrix.T)
    return np.linalg.lstsq(matrix, rhs, rcond=None)[0]


@every_solver
@fewer_examples(1)
@given(
    seed=SEED,
    height=st.integers(1, 12),
    width=st.integers(1, 12),
    density=st.floats(0, 1),
    connectivity=CONNECTIVITY,
)
def test_agrees_with_the_dense_reference(solver, seed, height, width, density, connectivity):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, height, width, density=density), connectivity)
    system = random_system(rng, graph, 1)
    rhs = system @ rng.normal(size=graph.size)
    solution = solver.prepare(system).solve(rhs, rng.normal(size=graph.size))
    assert solution.converged
    np.testing.assert_allclose(
        centred(graph, solution.x), centred(graph, dense_solution(system, rhs)), atol=1e-8
    )


@every_solver
@fewer_examples(2)
@given(seed=SEED, density=st.floats(0.3, 1), connectivity=CONNECTIVITY)
def test_meets_its_residual_over_twelve_orders_of_magnitude(solver, seed, density, connectivity):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 11, 12, density=density), connectivity)
    system = random_system(rng, graph, 12)
    rhs = system @ rng.normal(size=graph.size)
    solution = solver.prepare(system).solve(rhs, np.zeros(graph.size))
    residual = rhs - system @ solution.x
    for lo, hi in zip(graph.starts[:-1], graph.starts[1:], strict=True):
        # The coarse grids of PyAMG lose some digits over so many orders.
        rtol = 1e-7 if isinstance(solver, PyAMG) else 1e-9
        limit = rtol * np.linalg.norm(rhs[lo:hi])
        assert np.linalg.norm(residual[lo:hi]) <= limit, f"component of {hi - lo} nodes"


@every_solver_of_large_maps
@pytest.mark.parametrize("name", MASKS)
def test_solves_graphs_of_any_number_of_blocks(solver, name):
    graph = pixel_graph(MASKS[name])
    rng = np.random.default_rng(5)
    system = random_system(rng, graph, 1)
    expected = rng.normal(size=graph.size)
    solution = solver.prepare(system).solve(system @ expected, np.zeros(graph.size))
    assert solution.converged
    np.testing.assert_allclose(centred(graph, solution.x), centred(graph, expected), atol=1e-7)


@every_solver_of_large_maps
@pytest.mark.parametrize("name", MASKS)
def test_gives_the_same_bits_for_any_number_of_threads(solver, name):
    graph = pixel_graph(MASKS[name])
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("one core: there is nothing to compare with")
    rng = np.random.default_rng(7)
    system = random_system(rng, graph, 1)
    rhs, start = system @ rng.normal(size=graph.size), rng.normal(size=graph.size)
    before = numba.get_num_threads()
    results = []
    try:
        for threads in (1, 1, 2):
            numba.set_num_threads(threads)
            results.append(solver.prepare(system).solve(rhs, start))
    finally:
        numba.set_num_threads(before)
    assert {result.x.tobytes() for result in results} == {results[0].x.tobytes()}
    assert {result.steps for result in results} == {results[0].steps}


@every_solver
def test_modifies_neither_right_hand_side_nor_start_nor_matrix(solver):
    rng = np.random.default_rng(3)
    graph = pixel_graph(random_mask(rng, 50, 50, density=0.95))
    system = random_system(rng, graph, 2)
    rhs, start = system @ rng.normal(size=graph.size), rng.normal(size=graph.size)
    arrays = (rhs, start, system.conductance, graph.neighbours)
    before = [array.copy() for array in arrays]
    prepared = solver.prepare(system)
    first = prepared.solve(rhs, start)
    assert not np.shares_memory(first.x, start)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    # What was prepared serves any number of right-hand sides.
    np.testing.assert_array_equal(prepared.solve(rhs, start).x, first.x)


@every_solver
@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("begin", ["zero", "constant", "random"])
def test_without_a_right_hand_side_the_solution_is_constant(solver, connectivity, begin):
    rng = np.random.default_rng(11)
    graph = pixel_graph(random_mask(rng, 9, 10, density=0.6), connectivity)
    system = random_system(rng, graph, 1)
    start = {
        "zero": np.zeros(graph.size),
        "constant": rng.normal(size=graph.component_count)[graph.component_of_node],
        "random": rng.normal(size=graph.size),
    }[begin]
    solution = solver.prepare(system).solve(np.zeros(graph.size), start)
    assert solution.converged
    np.testing.assert_allclose(centred(graph, solution.x), 0, atol=1e-10)


@every_solver
def test_isolated_pixels_keep_their_start(solver):
    mask = np.zeros((5, 5), dtype=bool)
    mask[::2, ::2] = True
    graph = pixel_graph(mask)
    start = np.arange(graph.size, dtype=float)
    system = Operator(graph, np.zeros(graph.neighbours.shape, dtype=np.float32))
    solution = solver.prepare(system).solve(np.zeros(graph.size), start)
    assert solution.converged
    np.testing.assert_array_equal(solution.x, start)


@every_solver
def test_conductances_of_zero_split_a_component(solver):
    graph = pixel_graph(np.ones((1, 6), dtype=bool))
    conductance = np.zeros(graph.neighbours.shape, dtype=np.float32)
    conductance[0] = [1, 1, 0, 1, 1, 0]
    conductance[1] = [0, 1, 1, 0, 1, 1]
    expected = np.array([0.0, 1.0, 2.0, 5.0, 3.0, 4.0])
    system = Operator(graph, conductance)
    solution = solver.prepare(system).solve(system @ expected, np.zeros(6))
    assert solution.converged
    for part in (slice(0, 3), slice(3, 6)):
        np.testing.assert_allclose(np.diff(solution.x[part]), np.diff(expected[part]), atol=1e-9)


@every_solver
@fewer_examples(4)
@given(seed=SEED, shape=st.sampled_from([(9, 10), (46, 47)]), link=st.floats(-300, -20))
def test_next_to_nothing_on_the_right_leads_nowhere(solver, seed, shape, link):
    # Two plateaus that a jump separates, after an inexact solve: all that is left is rounding.
    if isinstance(solver, Dense) and shape != (9, 10):
        return
    rng = np.random.default_rng(seed)
    graph = pixel_graph(np.ones(shape, dtype=bool))
    system = random_system(rng, graph, 1)
    left = graph.pixels % shape[1] < shape[1] // 2
    for d, a, b in graph.edges():
        system.conductance[d, a[left[a] != left[b]]] *= 10.0**link
    plateaus = np.where(left, 1.3, 2.1)
    start = plateaus + 1e-3 * rng.normal(size=graph.size)
    solution = solver.prepare(system).solve(system @ plateaus, start)
    assert solution.converged
    for part in (left, ~left):
        np.testing.assert_allclose(solution.x[part], np.mean(solution.x[part]), atol=1e-9)
        assert np.mean(solution.x[part]) == pytest.approx(plateaus[part][0], abs=5e-3)


def test_the_step_limit_is_reported():
    rng = np.random.default_rng(2)
    for name in ("below one block", "above one block"):
        graph = pixel_graph(MASKS[name])
        system = random_system(rng, graph, 2)
        rhs = system @ rng.normal(size=graph.size)
        solution = ConjugateGradient(rtol=1e-12, max_steps=3).prepare(system).solve(rhs, 0 * rhs)
        assert not solution.converged
        assert solution.steps == 3


def test_a_good_start_takes_no_step():
    rng = np.random.default_rng(2)
    graph = pixel_graph(MASKS["above one block"])
    system = random_system(rng, graph, 2)
    expected = rng.normal(size=graph.size)
    solution = ConjugateGradient().prepare(system).solve(system @ expected, expected)
    assert solution.converged
    assert solution.steps == 0
    np.testing.assert_array_equal(solution.x, expected)


@fewer_examples(2)
@given(SEED, st.sampled_from([1e-2, 1e-4, 1e-6]))
def test_conjugate_gradients_stop_at_their_tolerance_for_each_component(seed, rtol):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 20, 20, density=0.6))
    system = random_system(rng, graph, 2)
    # Components of very different scale: a common tolerance would ignore the small ones.
    scale = 10.0 ** rng.integers(-6, 6, graph.component_count)
    rhs = system @ rng.normal(size=graph.size) * scale[graph.component_of_node]
    solution = ConjugateGradient(rtol=rtol).prepare(system).solve(rhs, np.zeros(graph.size))
    assert solution.converged
    residual = rhs - system @ solution.x
    for lo, hi in zip(graph.starts[:-1], graph.starts[1:], strict=True):
        assert np.linalg.norm(residual[lo:hi]) <= 1.001 * rtol * np.linalg.norm(rhs[lo:hi])


def test_the_dense_solver_refuses_what_would_fill_the_memory():
    graph = pixel_graph(np.ones((8, 8), dtype=bool))
    system = Operator(graph, graph.exists.astype(float))
    with pytest.raises(InputError, match=r"64 pixels; expected at most 60.*Multigrid"):
        Dense(max_nodes=60).prepare(system)


def test_the_direct_solver_refuses_what_would_fill_the_memory():
    graph = pixel_graph(np.ones((8, 8), dtype=bool))
    system = Operator(graph, graph.exists.astype(float))
    with pytest.raises(InputError, match=r"64 pixels; expected at most 60.*Multigrid"):
        Direct(max_nodes=60).prepare(system)
    assert Direct(max_nodes=64).prepare(system).solve(np.zeros(64), np.zeros(64)).converged


@fewer_examples(4)
@given(seed=SEED, link=st.floats(-11, 0))
def test_the_direct_solver_is_exact_across_a_link_that_its_factors_have_lost(seed, link):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(np.ones((60, 60), dtype=bool))
    system = random_system(rng, graph, 1)
    left = graph.pixels % 60 < 30
    middle = rng.integers(60) * 60 + 29  # the one pixel that is joined to the other side
    for d, a, b in graph.edges():
        across = left[a] != left[b]
        joined = (graph.pixels[a] == middle) | (graph.pixels[b] == middle)
        system.conductance[d, a[across]] = np.where(joined[across], 10.0**link, 0.0)
    solution = (
        Direct().prepare(system).solve(system @ np.where(left, 1.0, 2.0), np.zeros(graph.size))
    )
    np.testing.assert_allclose(solution.x - solution.x[left][0], ~left, atol=1e-12)


@needs_pyamg
def test_pyamg_stops_at_its_tolerance_and_reports_its_step_limit():
    rng = np.random.default_rng(2)
    graph = pixel_graph(MASKS["above one block"])
    system = random_system(rng, graph, 2)
    rhs = system @ rng.normal(size=graph.size)
    loose = PyAMG(rtol=1e-3).prepare(system)
    solution, tight = loose.solve(rhs, 0 * rhs), loose.solve(rhs, 0 * rhs, tighten=1e-3)
    for found, rtol in ((solution, 1e-3), (tight, 1e-6)):
        assert found.converged
        assert np.linalg.norm(rhs - system @ found.x) <= 1.001 * rtol * np.linalg.norm(rhs)
    assert 0 < solution.steps < tight.steps
    stopped = PyAMG(rtol=1e-12, max_steps=1).prepare(system).solve(rhs, 0 * rhs)
    assert (stopped.converged, stopped.steps) == (False, 1)
    assert loose.solve(rhs, solution.x).steps == 0


def test_without_pyamg_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyamg", None)
    graph = pixel_graph(np.ones((2, 2), dtype=bool))
    with pytest.raises(InputError, match=r"not installed.*python -m pip install"):
        PyAMG().prepare(Operator(graph, graph.exists.astype(float)))


@pytest.mark.parametrize("options", [{"rtol": 0.0}, {"max_steps": 0}, {"theta": 1.0}])
def test_pyamg_refuses_settings_that_cannot_work(options):
    with pytest.raises(InputError, match=rf"PyAMG got .*{next(iter(options))} = .*; expected .*"):
        PyAMG(**options)


@pytest.mark.parametrize("floor", [0.0, -1.0, float("inf"), "a"])
def test_a_diagonal_floor_is_a_number_above_0(floor):
    with pytest.raises(InputError, match=r"diagonal_floor is .*; expected a finite number above 0"):
        ConjugateGradient(diagonal_floor=floor)
