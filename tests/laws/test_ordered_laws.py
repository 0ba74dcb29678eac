"""The laws of ordered integration: weights are slopes of costs, and costs know the order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.errors import InputError
from rayrelief.formulation.intervals import IntervalEquations
from rayrelief.graph import pixel_graph
from rayrelief.laws.base import FixedWeights, StoredTerms
from rayrelief.laws.bilateral import Bilateral
from rayrelief.laws.ordered import LEAST, OrderedHuber, Redescending
from rayrelief.laws.sparse_jumps import SparseJumps
from reference.problems import rough_problem
from reference.random_maps import random_mask

SEED = st.integers(0, 2**32 - 1)
LAWS = st.sampled_from([OrderedHuber(), OrderedHuber(corner=1.0, ridge=5.0), Redescending(2.0)])


def random_equations(rng, connectivity=8):
    """Intervals of all kinds on a random graph."""
    graph = pixel_graph(random_mask(rng, 6, 7), connectivity)
    half, exists = (len(graph.steps) // 2, graph.size), graph.exists[::2]
    offset = np.where(exists, rng.normal(0, 0.1, half), 0.0)
    gamma = np.where(exists, rng.uniform(0.5, 2.0, half), 0.0).astype(np.float32)
    return IntervalEquations(
        graph=graph,
        offset=offset,
        gamma=gamma,
        gamma_weight=gamma,
        unknown="log-depth",
        half_width=(rng.normal(0, 1, half) * 10 ** rng.uniform(-2, 1, half)).astype(np.float32),
        sigma=rng.uniform(0.03, 1.0, half).astype(np.float32),
        lead=rng.normal(0, 2, half).astype(np.float32),
        noise=0.0,
    )


def cost(law, equations, x):
    """Total cost of x, and the flux and conductance of the edges towards even directions."""
    total, conductances, fluxes = 0.0, [], []
    for d in range(0, len(equations.graph.steps), 2):
        conductance = np.empty((2, x.size), dtype=np.float32)
        flux = np.empty((2, x.size))
        total += law.weigh(equations, slice(d, d + 2), x, (conductance, flux)).sum()
        assert not conductance[1].any()
        assert not flux[1].any()
        conductances.append(conductance[0])
        fluxes.append(flux[0])
    return total, np.array(conductances), np.array(fluxes)


@given(SEED, LAWS)
def test_weights_are_the_slope_of_the_cost(seed, law):
    rng = np.random.default_rng(seed)
    equations = random_equations(rng)
    x, way = rng.normal(0, 1, (2, equations.graph.size))
    _, conductance, flux = cost(law, equations, x)
    neighbours, exists = equations.graph.neighbours[::2], equations.graph.exists[::2]
    pull = conductance * (x - x[neighbours]) - flux
    expected = np.sum((pull * (way - way[neighbours]))[exists])
    step = 1e-5
    there, back = (cost(law, equations, x + s * step * way)[0] for s in (1, -1))
    # The least weight has no cost, and a corner between two points no single slope.
    blind = LEAST * np.sum(np.abs(pull / np.maximum(conductance, 1e-30)) * conductance.max())
    assert (there - back) / (2 * step) == pytest.approx(expected, rel=2e-3, abs=2e-3 + blind)


@given(SEED, st.floats(0, 1))
def test_the_ordered_cost_is_convex(seed, share):
    rng = np.random.default_rng(seed)
    equations, law = random_equations(rng), OrderedHuber()
    one, other = rng.normal(0, 1, (2, equations.graph.size)) * 10 ** rng.uniform(-2, 2)
    between = cost(law, equations, share * one + (1 - share) * other)[0]
    bound = share * cost(law, equations, one)[0] + (1 - share) * cost(law, equations, other)[0]
    assert between <= bound * (1 + 1e-12)


@pytest.mark.parametrize(("degrees", "times"), [(0.6, 1.0), (0.9, 1.5), (2.4, 4.0), (5.0, 4.0)])
def test_fewer_widths_are_narrow_where_normals_are_noisy(degrees, times):
    rng, law = np.random.default_rng(0), OrderedHuber()
    equations = random_equations(rng)
    x = rng.normal(0, 1, equations.graph.size)
    noisy = cost(law, replace(equations, noise=np.radians(degrees)), x)[0]
    assert noisy == pytest.approx(cost(OrderedHuber(narrow=law.narrow / times), equations, x)[0])


@given(SEED)
def test_a_jump_in_the_right_order_is_cheaper(seed):
    rng = np.random.default_rng(seed)
    equations, law = random_equations(rng, 4), OrderedHuber()
    sure = np.abs(equations.lead) >= law.sure
    wide = np.abs(equations.half_width) > 3 * law.narrow
    x = rng.normal(0, 30, equations.graph.size)
    _, conductance, _ = cost(law, equations, x)
    _, mirrored, _ = cost(law, replace(equations, lead=-equations.lead), x)
    there = equations.graph.neighbours[::2]
    z = (x - x[there] - equations.offset) * equations.gamma
    right = z * equations.lead < 0
    known = sure & wide & equations.graph.exists[::2] & (np.abs(z) > 10)
    assert (conductance[known & right] < mirrored[known & right]).all()
    assert (conductance[known & ~right] > mirrored[known & ~right]).all()


@given(SEED, LAWS, st.sampled_from([4, "diagonal", 8]))
def test_terms_are_the_same_from_both_ends_and_pair_by_pair(seed, law, connectivity):
    rng = np.random.default_rng(seed)
    equations = random_equations(rng, connectivity)
    x = rng.normal(0, 1, equations.graph.size)
    terms = law.terms(equations, x)
    graph = equations.graph
    for d, a, b in graph.edges():
        for values, sign in ((terms.weights, 1), (terms.target, -1)):
            np.testing.assert_array_equal(values[d, a], sign * values[d ^ 1, b])
    assert (terms.weights <= 1.0 + 1e-6).all()
    for d in range(0, len(graph.steps), 2):
        pair = law.terms(equations, x, slice(d, d + 2))
        np.testing.assert_array_equal(pair.weights, terms.weights[d : d + 2])
    assert law.cuts(terms).shape == terms.weights.shape


@pytest.mark.parametrize(
    "law", [Bilateral(2.0), SparseJumps(1.0)], ids=lambda law: type(law).__name__
)
def test_laws_of_single_directions_refuse_intervals(law):
    equations = random_equations(np.random.default_rng(0))
    with pytest.raises(InputError, match=r"two directions.*IntervalEquations"):
        law.terms(equations, np.zeros(equations.graph.size))


@given(SEED)
def test_any_law_that_stores_its_terms_takes_intervals(seed):
    rng = np.random.default_rng(seed)
    equations = random_equations(rng)
    x = rng.normal(0, 1, equations.graph.size)
    terms, known = FixedWeights(1.0).terms(equations, x), equations
    for d in range(0, len(known.graph.steps), 2):
        conductance, flux = np.empty((2, x.size), dtype=np.float32), np.empty((2, x.size))
        StoredTerms(terms).weigh(known, slice(d, d + 2), x, (conductance, flux))
        there = known.graph.neighbours[d + 1]
        exists = known.graph.exists[d + 1]
        np.testing.assert_array_equal(conductance[1][exists], conductance[0][there][exists])
        np.testing.assert_array_equal(flux[1][exists], -flux[0][there][exists])


def test_other_equations_are_refused():
    equations = rough_problem()
    with pytest.raises(InputError, match=r"EdgeEquations.*IntervalEquations"):
        Redescending(2.0).terms(equations, np.zeros(equations.graph.size))
