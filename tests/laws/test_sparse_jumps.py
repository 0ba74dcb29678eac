"""Weights that close small jumps and count large ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.laws import FixedWeights, SparseJumps
from reference.problems import rough_problem, smooth_problem

JUMP = st.floats(-1e6, 1e6)
THRESHOLD = st.floats(1e-3, 1e3)


def cost(jump, threshold):
    """What the docstring says that a jump costs."""
    size = abs(jump)
    return size**2 if size <= threshold else 2 * threshold**2 - threshold**4 / size**2


def weight(jump, threshold):
    return float(SparseJumps(threshold).weight(np.array([jump]))[0])


@given(JUMP, JUMP, THRESHOLD)
def test_the_weighted_square_bounds_the_cost_and_touches_it_at_the_present_jump(new, now, t):
    """So each solve of the weighted equations lowers the cost of all jumps."""
    bound = cost(now, t) + weight(now, t) * (new**2 - now**2)
    assert cost(new, t) <= bound + 1e-9 * (t**2 + abs(bound))


@given(JUMP, THRESHOLD)
def test_small_jumps_count_in_full_and_large_ones_fall_with_the_fourth_power(jump, t):
    expected = 1.0 if abs(jump) <= t else (t / jump) ** 4
    assert weight(jump, t) == pytest.approx(expected, rel=1e-12)


@given(st.integers(0, 2**32 - 1), THRESHOLD)
def test_terms_are_those_of_the_jumps_of_all_edges(seed, t):
    equations = rough_problem()
    x = np.random.default_rng(seed).normal(size=equations.graph.size)
    law = SparseJumps(t)
    terms = law.terms(equations, x)
    jump = equations.gamma_weight * (x - x[equations.graph.neighbours] - equations.offset)
    np.testing.assert_allclose(terms.weights, law.weight(jump), rtol=1e-6)
    np.testing.assert_array_equal(terms.target, equations.offset)
    np.testing.assert_array_equal(law.cuts(terms), np.abs(jump) > t)


def test_a_surface_that_satisfies_its_equations_has_no_jump():
    equations, truth = smooth_problem()
    law = SparseJumps(1e-9)
    assert not law.cuts(law.terms(equations, truth)).any()


def test_a_flat_start_has_no_jumps_yet():
    assert isinstance(SparseJumps(0.1).from_flat(), FixedWeights)
