"""exp and log of the kernels against those of the standard library."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayrelief.laws.elementary import exp, log

TWO_ULPS = 2 * sys.float_info.epsilon
without_deadline = settings(deadline=None)  # the first call compiles


@without_deadline
@given(st.floats(-700, 700))
def test_exp_is_that_of_the_library(value):
    assert exp(value) == pytest.approx(math.exp(value), rel=TWO_ULPS, abs=0)


@without_deadline
@given(st.floats(min_value=sys.float_info.min, allow_infinity=False))
def test_log_is_that_of_the_library(value):
    assert log(value) == pytest.approx(math.log(value), rel=2 * TWO_ULPS, abs=0)


@without_deadline
@given(st.floats(-1e-3, 1e-3))
def test_log_keeps_its_digits_around_one(distance):
    value = 1 + distance
    assert log(value) == pytest.approx(math.log(value), rel=2 * TWO_ULPS, abs=0)


@without_deadline
@given(st.floats(700, allow_infinity=False))
def test_exp_is_cut_off_before_it_leaves_the_range(value):
    assert exp(value) == exp(700.0) < math.inf
    assert exp(-value) == exp(-700.0) > 0


def test_exact_values():
    assert exp(0.0) == 1
    assert log(1.0) == 0
