"""The first root is found, also next to another one, and to rounding."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import polynomial

from rayrelief.synthetic.shapes.polynomial import evaluate, first_root

ROOTS = st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=6)


@given(roots=ROOTS, sign=st.sampled_from((-1.0, 1.0)))
def test_first_root_of_a_product_of_linear_factors(roots, sign):
    coefficients = sign * polynomial.polyfromroots(np.round(roots, 2))
    inside = np.sort([root for root in np.round(roots, 2) if -1 < root < 1])
    # Where the sign changes: at roots of odd multiplicity.
    odd = [root for root in np.unique(inside) if np.sum(inside == root) % 2]
    if -1.0 in np.round(roots, 2) or 1.0 in np.round(roots, 2) or len(odd) < len(inside):
        return
    (found,) = first_root(coefficients[:, None])
    np.testing.assert_allclose(found, odd[0] if odd else np.nan, atol=1e-8)


@given(centre=st.floats(-0.9, 0.9), gap=st.floats(1e-6, 1e-2))
def test_two_roots_that_nearly_touch_are_told_apart(centre, gap):
    coefficients = polynomial.polyfromroots((centre - gap / 2, centre + gap / 2))
    quartic = polynomial.polymul(coefficients, (1.5, 0.3, 1.0)).astype(np.float64)
    (found,) = first_root(quartic[:, None])
    assert abs(found - (centre - gap / 2)) < 1e-9 + 1e-15 / gap


@given(seed=st.integers(0, 2**32 - 1), degree=st.integers(1, 8))
def test_many_at_once_are_first_sign_changes(seed, degree):
    coefficients = np.random.default_rng(seed).normal(size=(degree + 1, 200))
    found = first_root(coefficients)
    hit = np.isfinite(found)
    scale = np.abs(coefficients).sum(axis=0)
    assert (np.abs(evaluate(coefficients, found)[hit]) <= 1e-14 * degree * scale[hit]).all()
    grid = np.linspace(-1.0, 1.0, 2001)[:, None]
    positive = evaluate(coefficients, grid) > 0
    changes = positive[1:] != positive[:-1]
    seen = changes.any(axis=0)
    assert (found[seen] <= grid[1:, 0][changes.argmax(axis=0)][seen] + 1e-12).all()
