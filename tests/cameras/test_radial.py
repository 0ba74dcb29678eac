"""The inverse of a function of one variable, up to where it first stops to rise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.radial import RIM, RisingFunction, first_failure, up_to
from rayrelief.conventions import FloatArray


def polynomial(k1: float, k2: float, limit: float = math.pi) -> RisingFunction:
    def evaluate(t: FloatArray) -> tuple[FloatArray, FloatArray]:
        return t * (1 + t**2 * (k1 + t**2 * k2)), 1 + t**2 * (3 * k1 + t**2 * 5 * k2)

    return RisingFunction(evaluate, limit)


@given(st.floats(-0.5, 0.5), st.floats(-0.1, 0.1), st.integers(0, 2**32 - 1))
def test_the_inverse_inverts_up_to_the_very_end(k1: float, k2: float, seed: int) -> None:
    function = polynomial(k1, k2)
    t = np.random.default_rng(seed).uniform(0, function.end, 500)
    t = np.append(t, function.end * (1 - np.geomspace(1e-16, 1e-2, 40)))
    value, slope = function.evaluate(t)
    found = function.inverse(value)
    error = np.abs(function.evaluate(found)[0] - value)
    assert error.max() <= 1e-14 * function.reach
    steep = slope > 1e-3
    np.testing.assert_allclose(found[steep], t[steep], atol=1e-11)


@given(st.floats(-0.5, 0.5), st.floats(-0.1, 0.1))
def test_the_end_is_the_first_zero_of_the_derivative(k1: float, k2: float) -> None:
    function = polynomial(k1, k2)
    before = np.linspace(0, function.end, 30_000)[:-1]
    # A dip of the derivative below zero may be missed if it is thinner than the samples.
    assert function.evaluate(before)[1].min() > -1e-7
    slope_at_end = function.evaluate(np.array([function.end]))[1][0]
    assert function.end == math.pi or slope_at_end == pytest.approx(0, abs=1e-13)


def test_values_beyond_the_reach_are_taken_nowhere() -> None:
    function = polynomial(-0.5, 0.0)
    assert function.end == pytest.approx(math.sqrt(2 / 3), rel=1e-12)
    beyond = function.reach * np.array([1 + 1e-9, 2, np.inf, np.nan, -0.1])
    assert np.isnan(function.inverse(beyond)).all()
    # Past the rim by rounding alone: taken for the rim.
    assert function.inverse(np.array([function.reach * (1 + RIM / 2)]))[0] == pytest.approx(
        function.end, rel=1e-7
    )
    assert function.inverse(np.zeros(1)) == 0


def test_a_function_with_an_inflection_is_inverted_across_it() -> None:
    function = polynomial(-1.0, 0.451)  # its derivative falls to 0.002 at t = 0.82
    t = np.linspace(0, math.pi, 2001)
    assert function.end == math.pi
    value = function.evaluate(t)[0]
    np.testing.assert_allclose(function.evaluate(function.inverse(value))[0], value, rtol=1e-12)


def test_the_first_failure_is_found_to_the_last_digit() -> None:
    assert first_failure(lambda t: t < math.e, np.linspace(0, 5, 7)) == pytest.approx(
        math.e, rel=1e-15
    )
    assert first_failure(lambda t: t < 6, np.linspace(0, 5, 7)) == math.inf
    assert first_failure(lambda t: t < 0, np.linspace(0, 5, 7)) == 0


def test_up_to_keeps_what_rounding_put_past_the_rim() -> None:
    values = np.array([0.0, 2.0, 3.0, 3.0 * (1 + RIM / 2), 3.0 * (1 + 2 * RIM), np.inf, np.nan])
    expected = [0.0, 2.0, 3.0, 3.0, np.nan, np.nan, np.nan]
    np.testing.assert_array_equal(up_to(values, 3.0), expected)
