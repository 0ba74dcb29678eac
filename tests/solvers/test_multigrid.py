"""What makes multigrid work: aggregates that follow strong edges, exact coarse energies, cycles."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import fewer_examples
from rayrelief.errors import InputError
from rayrelief.graph import pixel_graph
from rayrelief.operators import Operator
from rayrelief.solvers.multigrid import Multigrid, galerkin, packing
from rayrelief.solvers.multigrid.aggregation import STRENGTH, aggregate
from rayrelief.solvers.multigrid.cycle import DAMPING, SERIAL, Restriction, restrict
from rayrelief.solvers.multigrid.galerkin import coarse_rows, interpolation, transposed
from rayrelief.solvers.multigrid.hierarchy import Hierarchy
from rayrelief.solvers.multigrid.rows import Rows, stencil
from rayrelief.solvers.multigrid.solver import (
    EXCUSED,
    REST,
    SETUP_CYCLES,
    PreparedMultigrid,
    _Limits,
)
from reference.random_maps import random_mask

SEED = st.integers(0, 2**32 - 1)
CONNECTIVITY = st.sampled_from([4, "diagonal", 8])


def random_system(rng: np.random.Generator, mask: np.ndarray, connectivity=4, orders=6) -> Operator:
    """Symmetric conductances over so many orders of magnitude, one in ten exactly zero."""
    graph = pixel_graph(mask, connectivity)
    conductance = np.zeros(graph.neighbours.shape, dtype=np.float32)
    for d, a, b in graph.edges():
        if d % 2 == 0:
            drawn = 10 ** rng.uniform(-orders, 0, len(a)) * (rng.random(len(a)) > 0.1)
            conductance[d, a] = conductance[d ^ 1, b] = drawn
    return Operator(graph, conductance)


def cut_by_circles(side: int, weak: float) -> Operator:
    """A square of pixels with weak edges across circles whose size in pixels is constant."""
    graph = pixel_graph(np.ones((side, side), dtype=bool))
    v, u = np.divmod(graph.pixels, side)
    inside = (u % 37 - 18) ** 2 + (v % 37 - 18) ** 2 < 200
    conductance = np.zeros(graph.neighbours.shape, dtype=np.float32)
    for d, a, b in graph.edges():
        conductance[d, a] = np.where(inside[a] == inside[b], 1.0, weak)
    return Operator(graph, conductance)


def dense_transfer(transfer, columns: int) -> np.ndarray:
    matrix = np.zeros((len(transfer.start) - 1, columns))
    rows = np.repeat(np.arange(len(matrix)), np.diff(transfer.start))
    np.add.at(matrix, (rows, transfer.column), transfer.value)
    return matrix


def dense_rows(rows: Rows) -> np.ndarray:
    """The Operator of compressed rows, spelt out."""
    matrix = np.zeros((rows.size, rows.size))
    row = np.repeat(np.arange(rows.size), np.diff(rows.start))
    np.add.at(matrix, (row, rows.column), -rows.value)
    return matrix - np.diag(matrix.sum(axis=1))


@fewer_examples(2)
@given(seed=SEED, density=st.floats(0.3, 1), connectivity=CONNECTIVITY)
def test_aggregates_hold_together_by_strong_edges(seed, density, connectivity):
    rng = np.random.default_rng(seed)
    system = random_system(rng, random_mask(rng, 17, 19, density=density), connectivity)
    graph, conductance = system.graph, system.conductance
    aggregates = aggregate(stencil(system))
    own = aggregates.of_node
    assert set(own) == set(range(aggregates.count))
    conductance = conductance.astype(np.float32)
    strongest = conductance.max(axis=0)
    threshold = STRENGTH * np.maximum(strongest, strongest[graph.neighbours]).astype(float)
    strong = (conductance > 0) & (conductance >= threshold)
    np.testing.assert_array_equal(aggregates.strong.reshape(strong.shape), strong)
    # Every node shares its aggregate with a strong neighbour, with its strongest one, or is alone.
    together = (own == own[graph.neighbours]) & graph.exists
    alone = np.bincount(own)[own] == 1
    hangs_on_strongest = (together & (conductance == strongest) & (strongest > 0)).any(axis=0)
    assert ((together & strong).any(axis=0) | hangs_on_strongest | alone).all()


def test_aggregates_do_not_cross_discontinuities():
    system = cut_by_circles(111, 1e-3)
    aggregates = aggregate(stencil(system))
    own = aggregates.of_node
    for d, a, b in system.graph.edges():
        across = system.conductance[d, a] < 1
        assert not (own[a] == own[b])[across].any()
    assert aggregates.count < system.graph.size / 4


@fewer_examples(2)
@given(seed=SEED, density=st.floats(0.4, 1), connectivity=CONNECTIVITY)
def test_the_coarse_energy_is_that_of_the_interpolation(seed, density, connectivity):
    rng = np.random.default_rng(seed)
    system = random_system(rng, random_mask(rng, 13, 14, density=density), connectivity)
    rows = stencil(system)
    aggregates = aggregate(rows)
    up = interpolation(rows, aggregates)
    down = transposed(up, aggregates.count)
    p = dense_transfer(up, aggregates.count)
    np.testing.assert_array_equal(dense_transfer(down, system.graph.size), p.T)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=2e-7)  # constants are kept
    values, restricted = rng.normal(size=system.graph.size), np.empty(aggregates.count)
    short = Restriction.of(up, down)
    restrict(short.arrays, up.arrays, values, restricted, aggregates.count)
    np.testing.assert_allclose(restricted, p.T @ values, atol=1e-12)
    fine = np.stack([system @ unit for unit in np.eye(system.graph.size)], axis=1)
    expected = p.T @ fine @ p
    found = dense_rows(coarse_rows(rows, up, down))
    np.testing.assert_allclose(found, expected, atol=1e-6 * fine.max(initial=0))


def test_a_coupling_of_1e_minus_30_keeps_its_digits_on_coarse_levels():
    graph = pixel_graph(np.ones((1, 6), dtype=bool))
    conductance = np.zeros(graph.neighbours.shape, dtype=np.float32)
    conductance[0] = [1, 1, 1e-30, 1, 1, 0]
    conductance[1] = [0, 1, 1, 1e-30, 1, 1]
    rows = stencil(Operator(graph, conductance))
    aggregates = aggregate(rows)
    assert aggregates.count == 2
    up = interpolation(rows, aggregates)
    coarse = coarse_rows(rows, up, transposed(up, 2))
    np.testing.assert_allclose(coarse.value, 1e-30, rtol=1e-6)


@fewer_examples(3)
@given(seed=SEED, orders=st.sampled_from([0, 3, 10]))
def test_the_cycle_is_symmetric_and_never_overshoots(seed, orders):
    # Symmetric, eigenvalues of (cycle . L) in [0, 1]: what conjugate gradients ask of it.
    rng = np.random.default_rng(seed)
    system = random_system(rng, random_mask(rng, 9, 10, density=0.9), orders=orders)
    hierarchy = Hierarchy.of(system)
    diagonal = system.conductance.sum(axis=0, dtype=np.float64)
    jacobi = np.divide(DAMPING, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)

    def cycle(r: np.ndarray) -> np.ndarray:
        z = jacobi * r
        hierarchy.correct(r - system @ z, z)
        return z + jacobi * (r - system @ z)

    units = np.eye(system.graph.size)
    matrix = np.stack([cycle(unit) for unit in units], axis=1)
    laplacian = np.stack([system @ unit for unit in units], axis=1)
    joined = diagonal > 0
    root = np.sqrt(diagonal[joined])
    scaled = root[:, None] * matrix[np.ix_(joined, joined)] * root
    np.testing.assert_allclose(scaled, scaled.T, atol=1e-6 * np.abs(scaled).max())
    balanced = laplacian[np.ix_(joined, joined)] / root[:, None] / root
    eigenvalues = np.linalg.eigvals(scaled @ balanced).real
    # What weak conductances join is moved far by next to nothing: so are rounding errors.
    rounding = 1e-6 + 1e-12 * np.abs(scaled).max()
    assert eigenvalues.max() < 1 + 10 * rounding
    assert eigenvalues.min() > -rounding


def test_cycles_do_not_grow_with_the_map_nor_with_the_depth_of_the_cuts():
    cycles = {}
    for side, weak in ((64, 1.0), (64, 1e-6), (512, 1.0), (512, 1e-6), (512, 1e-2)):
        system = cut_by_circles(side, weak)
        rhs = system @ np.random.default_rng(3).normal(size=system.graph.size)
        solution = Multigrid(rtol=1e-6).prepare(system).solve(rhs, np.zeros_like(rhs))
        assert solution.converged
        cycles[side, weak] = solution.steps
    assert max(cycles.values()) <= 20, cycles


def test_the_same_bits_for_any_number_of_threads_on_a_map_of_many_blocks():
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("one core: there is nothing to compare with")
    system = cut_by_circles(400, 1e-3)
    other = Operator(system.graph, cut_by_circles(400, 0.3).conductance)
    rng = np.random.default_rng(5)
    rhs = system @ rng.normal(size=system.graph.size)
    before = numba.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            prepared = Multigrid(rtol=1e-9).prepare(other)
            first = prepared.solve(rhs, np.zeros_like(rhs))
            assert prepared.hierarchy is not None
            assert np.diff(prepared.hierarchy.levels.bounds)[0] > SERIAL, "or nothing is parallel"
            prepared.update(system)
            results.append((first.x, prepared.solve(rhs, np.zeros_like(rhs)).x))
    finally:
        numba.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("weak", [1e-2, 1e-9])
def test_an_old_hierarchy_is_kept_or_replaced_but_never_changes_the_solution(weak):
    whole = cut_by_circles(120, 1.0)
    graph = whole.graph
    prepared = Multigrid(rtol=1e-10).prepare(whole)
    rng = np.random.default_rng(1)
    prepared.solve(whole @ rng.normal(size=graph.size), np.zeros(graph.size))
    cut = Operator(graph, cut_by_circles(120, weak).conductance)
    expected = rng.normal(size=graph.size)
    rhs = cut @ expected
    before = prepared.hierarchy
    prepared.update(cut)
    assert prepared.hierarchy is before
    solution = prepared.solve(rhs, np.zeros(graph.size))
    assert solution.converged
    assert np.linalg.norm(rhs - cut @ solution.x) <= 1.01e-10 * np.linalg.norm(rhs)
    assert (prepared.age == 0) == (prepared.hierarchy is not before)


def spiral(side: int) -> np.ndarray:
    """One line, a pixel wide, that winds from the corner to the middle."""
    mask = np.zeros((side, side), dtype=bool)
    v, u, dv, du = 0, 0, 0, 1
    mask[0, 0] = True
    turns = 0
    while turns < 2:
        nv, nu = v + dv, u + du
        fv, fu = nv + dv, nu + du
        blocked = not (0 <= nv < side and 0 <= nu < side) or mask[nv, nu]
        blocked |= 0 <= fv < side and 0 <= fu < side and bool(mask[fv, fu])
        if blocked:
            dv, du = du, -dv
            turns += 1
            continue
        turns = 0
        v, u = nv, nu
        mask[v, u] = True
    return mask


MASKS = {
    "one pixel": np.ones((1, 1), dtype=bool),
    "one line": np.ones((1, 3000), dtype=bool),
    "checkerboard": np.indices((60, 60)).sum(axis=0) % 2 == 0,
    "10,000 islands": (np.indices((300, 300)) % 3 > 0).all(axis=0),
    "comb": (np.indices((120, 121))[1] % 2 == 0) | (np.indices((120, 121))[0] == 0),
    "spiral": spiral(101),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("orders", [0, 4])
def test_pathological_masks(name, orders):
    graph = pixel_graph(MASKS[name])
    rng = np.random.default_rng(8)
    conductance = np.zeros(graph.neighbours.shape, dtype=np.float32)
    for d, a, b in graph.edges():
        if d % 2 == 0:
            conductance[d, a] = conductance[d ^ 1, b] = 10 ** rng.uniform(-orders, 0, len(a))
    system = Operator(graph, conductance)
    rhs = system @ rng.normal(size=graph.size)
    solution = Multigrid(rtol=1e-8).prepare(system).solve(rhs, np.zeros(graph.size))
    assert solution.converged
    assert np.linalg.norm(rhs - system @ solution.x) <= 1.01e-8 * np.linalg.norm(rhs)


@pytest.mark.parametrize(
    "settings",
    [
        {"rtol": 0},
        {"rtol": -1.0},
        {"rtol": np.inf},
        {"rtol": "a"},
        {"max_steps": 0},
        {"max_steps": 1.5},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(
        InputError, match="expected rtol between 0 and 1, max_steps an integer from 1"
    ):
        Multigrid(**settings)


def test_the_limit_of_cycles_is_reported():
    system = cut_by_circles(64, 1e-3)
    rhs = system @ np.random.default_rng(2).normal(size=system.graph.size)
    solution = Multigrid(rtol=1e-12, max_steps=3).prepare(system).solve(rhs, 0 * rhs)
    assert not solution.converged
    assert solution.steps == 3


@pytest.mark.parametrize("seed", [0, 2])
def test_a_solve_that_went_astray_does_not_call_itself_solved(seed):
    # Conductances over all orders of magnitude that there are: more than sums can tell apart.
    rng = np.random.default_rng(seed)
    graph = pixel_graph(np.ones((150, 150), dtype=bool))
    conductance = np.zeros(graph.neighbours.shape, dtype=np.float32)
    for d, a, b in graph.edges():
        if d % 2 == 0:
            conductance[d, a] = conductance[d ^ 1, b] = 10 ** rng.uniform(-37, 0, len(a))
    system = Operator(graph, conductance)
    rhs = system @ rng.normal(size=graph.size)
    solution = Multigrid(3e-3, max_steps=40).prepare(system).solve(rhs, np.zeros(graph.size))
    small = np.linalg.norm(rhs - system @ solution.x) <= 3.1e-3 * np.linalg.norm(rhs)
    assert small or not solution.converged


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_a_number_is_not_solved(value):
    system = cut_by_circles(20, 1.0)
    rhs = np.zeros(400)
    rhs[7] = value
    assert not Multigrid().prepare(system).solve(rhs, np.zeros(400)).converged


@pytest.mark.parametrize("count", [32_769, 65_537])
def test_pairs_across_the_boundaries_of_blocks_find_each_other(count):
    graph = pixel_graph(np.tile(np.array([True, True, False]), (1, count)))
    system = Operator(graph, graph.exists.astype(np.float32))
    hierarchy = Hierarchy.of(system)
    assert list(np.diff(hierarchy.levels.bounds)[-1:]) == [count]
    assert len(hierarchy.levels.bounds) < 5


def test_components_of_very_different_scale_are_solved_alike():
    mask = np.ones((60, 121), dtype=bool)
    mask[:, 60] = False
    graph = pixel_graph(mask)
    scale = np.where(graph.component_of_node == 0, 1.0, 1e-30)
    system = Operator(graph, (graph.exists * scale).astype(np.float32))
    rhs = system @ np.random.default_rng(4).normal(size=graph.size)
    solution = Multigrid(rtol=1e-6).prepare(system).solve(rhs, np.zeros(graph.size))
    assert solution.converged
    assert solution.steps < 20
    for part in (slice(0, graph.starts[1]), slice(graph.starts[1], None)):
        residual = (rhs - system @ solution.x)[part]
        assert np.linalg.norm(residual) <= 1.01e-6 * np.linalg.norm(rhs[part])


@pytest.mark.parametrize("more", [0.3, 1.2])
def test_rows_are_the_same_in_small_parts(monkeypatch, more):
    system = random_system(np.random.default_rng(11), np.ones((40, 45), dtype=bool), 4)
    rows = stencil(system)
    aggregates = aggregate(rows)

    def made():
        up = interpolation(rows, aggregates)
        return up, coarse_rows(rows, up, transposed(up, aggregates.count))

    whole = made()
    for name, value in {"ROOM": 200, "BATCHES": 50, "LEAST_ROOM": 50, "MORE": more}.items():
        monkeypatch.setattr(packing, name, value)
    monkeypatch.setattr(galerkin, "CAPACITY", 4)  # rows are longer, and are tried again
    for expected, found in zip(whole, made(), strict=True):
        for left, right in zip(expected.arrays, found.arrays, strict=True):
            np.testing.assert_array_equal(left, right)


class Hard:
    """Stands in for solving: says how much a hierarchy that has served before has lost."""

    def __init__(self, lost):
        self.lost = lost
        self.ages = []

    def __call__(self, prepared, hierarchy, rhs, x, limits, budget):
        del hierarchy, rhs, x, limits, budget
        self.ages.append(prepared.age)
        if prepared.age == 0:
            return 1, True
        prepared.lost += self.lost
        return 1, prepared.lost <= SETUP_CYCLES


def ages_of(monkeypatch, lost, systems):
    """Ages of the hierarchies that run, one after the other, over so many similar systems."""
    hard = Hard(lost)
    monkeypatch.setattr(PreparedMultigrid, "_run", lambda *given: hard(*given))
    system = cut_by_circles(20, 0.5)
    prepared = Multigrid().prepare(system)
    prepared.solve(np.zeros(400), np.zeros(400))
    for _ in range(systems - 1):
        prepared.update(system)
        prepared.solve(np.zeros(400), np.zeros(400))
    return hard.ages


def test_a_hierarchy_serves_until_it_has_lost_a_set_up(monkeypatch):
    third = SETUP_CYCLES / 3
    # Three systems lose a set-up and no more; within the fourth it is replaced.
    assert ages_of(monkeypatch, third, 6) == [0, 1, 2, 3, 4, 0, 1]


def test_one_that_is_worn_at_once_is_not_tried_again_for_a_while(monkeypatch):
    worn = [1, 0]  # begins with the old one, which is replaced
    fresh = [0]
    expected = fresh + worn + REST * fresh + worn + 2 * REST * fresh + worn
    count = 1 + 1 + REST + 1 + 2 * REST + 1
    assert ages_of(monkeypatch, SETUP_CYCLES + 1, count) == expected


def test_an_x_that_went_astray_does_not_excuse_itself():
    rng = np.random.default_rng(0)
    prepared = Multigrid().prepare(random_system(rng, np.ones((6, 8), dtype=bool)))
    rhs, flat = rng.normal(size=48), np.zeros(48)
    astray = 1e20 * rng.normal(size=48)
    excused = _Limits(prepared, rhs, flat, EXCUSED).at(flat)
    assert np.all(_Limits(prepared, rhs, astray, 1e-14).at(astray) > excused)
    np.testing.assert_array_equal(_Limits(prepared, rhs, flat, 1e-14).at(astray), excused)
