"""Weights, activation and the cancelled form of the paper's right-hand side."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.jumps import relative_jump
from rayrelief.laws.bilateral import (
    activation,
    bilateral_weights,
    blended_log_offset,
    blended_offset,
)

UNIT = st.floats(0, 1)
Q, RHO = 50.0, 0.25


@given(st.floats(-3, 3), st.floats(0.2, 5), UNIT, st.floats(0.01, 20), st.booleans())
def test_the_cancelled_form_is_the_papers(difference, ratio, beta, ratio_eps, negative):
    ratio_eps = -ratio_eps if negative else ratio_eps
    alpha = relative_jump(difference, ratio, ratio_eps)
    assert alpha == pytest.approx((math.exp(difference) - ratio) / ratio_eps)
    printed = math.log(ratio + ratio_eps * alpha * beta)
    cancelled = blended_log_offset(difference, math.log(ratio), beta)
    assert cancelled == pytest.approx(printed, rel=1e-9, abs=1e-12)


@given(
    st.floats(-300, 300),
    st.floats(-300, 300),
    st.floats(-5, 5),
    st.one_of(UNIT, st.sampled_from([0.0, 1.0, 1 - 1e-16, 5e-324])),
)
def test_huge_differences_stay_finite(x_a, x_b, log_omega, beta):
    offset = blended_log_offset(x_a - x_b, log_omega, beta)
    assert math.isfinite(offset)
    low, high = sorted((x_a - x_b, log_omega))
    slack = 1e-12 * (1 + abs(low) + abs(high))
    assert low - slack <= offset <= high + slack, "a mean of the two lies between them"


@given(st.floats(-30, 30), st.floats(-5, 5))
def test_the_blend_ends_in_the_smooth_offset_and_in_the_present_difference(difference, smooth):
    for blend in (blended_log_offset, blended_offset):
        assert blend(difference, smooth, 0.0) == pytest.approx(smooth, rel=1e-12, abs=1e-12)
        assert blend(difference, smooth, 1.0) == pytest.approx(difference, rel=1e-9, abs=1e-9)


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), UNIT)
def test_the_linear_blend_is_a_mean(difference, smooth, beta):
    mean = (1 - beta) * smooth + beta * difference
    assert blended_offset(difference, smooth, beta) == pytest.approx(mean, rel=1e-12, abs=1e-9)


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.floats(0, 10))
def test_opposite_weights_sum_to_one_and_swap(res_b, res_opposite, k):
    there, back = bilateral_weights(res_b, res_opposite, k)
    assert there + back == pytest.approx(1, abs=1e-15)
    assert bilateral_weights(res_opposite, res_b, k) == (back, there)
    assert bilateral_weights(-res_b, res_opposite, k) == (there, back)
    if k * (res_opposite**2 - res_b**2) > 1e-12:
        assert there > back, "the neighbour with the smaller residual gets the larger weight"


@given(st.floats(0, 18), st.floats(0, 18), st.floats(0.1, 2))
def test_small_weights_keep_their_relative_accuracy(res_b, res_opposite, k):
    t = k * (res_opposite**2 - res_b**2)
    there, back = bilateral_weights(res_b, res_opposite, k)
    # For either sign of t this form of the sigmoid loses nothing, down to 1e-280.
    assert there == pytest.approx(np.exp(-np.logaddexp(0, -t)), rel=1e-12)
    assert back == pytest.approx(np.exp(-np.logaddexp(0, t)), rel=1e-12)


def test_no_sharpness_weights_all_edges_alike():
    assert bilateral_weights(123.0, 0.5, 0.0) == (0.5, 0.5)


def test_limits_of_the_activation():
    assert activation(RHO, Q, RHO) == 0.5
    assert activation(0.0, Q, RHO) == pytest.approx(1 / (1 + math.exp(-12.5)), rel=1e-12)
    assert activation(0.5, Q, RHO) == pytest.approx(math.exp(-12.5), rel=1e-5)
    assert 0 < activation(1.0, Q, RHO) < 1e-16
    assert activation(0.0, 1e9, RHO) == 1
    assert 0 <= activation(1.0, 1e9, RHO) < 1e-300


@given(UNIT, UNIT, st.floats(0, 200), UNIT)
def test_the_activation_falls_as_the_weight_grows(first, second, q, rho):
    low, high = sorted((first, second))
    assert 1 >= activation(low, q, rho) >= activation(high, q, rho) >= 0
