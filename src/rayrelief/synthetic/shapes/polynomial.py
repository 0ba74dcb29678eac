"""The first root of many polynomials at once, without missing a close pair."""

from __future__ import annotations

from functools import cache
from math import comb
from typing import Any

import numpy as np

from rayrelief.compiled import njit
from rayrelief.conventions import FloatArray

_RESOLUTION = 4 * np.finfo(np.float64).eps  # of the interval [-1, 1]
_MOST_HALVINGS = 64  # more than lead from the interval to the resolution
_MOST_STEPS = 200  # never reached: every third step at least halves the bracket


def first_root(coefficients: FloatArray) -> FloatArray:
    """Smallest root in [-1, 1] of each of N polynomials; NaN where there is none.

    In the Bernstein basis of an interval, a polynomial has at most as many roots there as its
    coefficients change their sign: none without a change, one with one. Where there are more, the
    interval is halved and its first half is looked at first, until even two roots that nearly
    touch are told apart.

    Parameters
    ----------
    coefficients
        (degree + 1, N), constant term first.

    Returns
    -------
    numpy.ndarray
        (N,), to rounding. A root where the polynomial does not change its sign does not count.
    """
    found = np.empty(coefficients.shape[1])
    _first_roots(np.ascontiguousarray(coefficients), _to_bernstein(len(coefficients) - 1), found)
    return found


def evaluate(coefficients: FloatArray, x: FloatArray | float) -> FloatArray:
    """Values of N polynomials (degree + 1, N) at x that broadcasts against (N,)."""
    value: FloatArray = coefficients[-1] + np.zeros_like(x)
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value


@cache
def _to_bernstein(degree: int) -> FloatArray:
    """Matrix from coefficients of powers to those of the Bernstein basis of [-1, 1]."""
    return np.array(
        [
            [
                sum(
                    (-1) ** (power - i) * comb(power, i) * comb(degree - power, j - i)
                    for i in range(max(0, j - degree + power), min(power, j) + 1)
                )
                / comb(degree, j)
                for power in range(degree + 1)
            ]
            for j in range(degree + 1)
        ]
    )


@njit(cache=True, error_model="numpy")
def _first_roots(coefficients: Any, to_bernstein: Any, found: Any) -> None:
    size = coefficients.shape[0]
    polynomial = np.empty(size)
    # The half that is being looked at is on top, its later neighbours wait below.
    halves = np.empty((_MOST_HALVINGS, size))
    lows, highs = np.empty(_MOST_HALVINGS), np.empty(_MOST_HALVINGS)
    for i in range(found.size):
        for power in range(size):
            polynomial[power] = coefficients[power, i]
        for j in range(size):
            total = 0.0
            for power in range(size):
                total += to_bernstein[j, power] * polynomial[power]
            halves[0, j] = total
        lows[0], highs[0] = -1.0, 1.0
        top = 0
        found[i] = np.nan
        while top >= 0:
            low, high = lows[top], highs[top]
            changes = _sign_changes(halves[top])
            if changes == 1 or (changes % 2 == 1 and high - low <= _RESOLUTION):
                found[i] = _bracketed_root(polynomial, low, high, halves[top, size - 1] > 0)
                break
            if changes == 0 or high - low <= _RESOLUTION:
                top -= 1
                continue
            _halve(halves[top], halves[top + 1])
            lows[top] = highs[top + 1] = (low + high) / 2
            lows[top + 1] = low
            top += 1


@njit(inline="always")
def _sign_changes(values: Any) -> int:
    changes = 0
    for j in range(1, values.size):
        if (values[j] > 0) != (values[j - 1] > 0):
            changes += 1
    return changes


@njit(inline="always")
def _halve(whole: Any, first: Any) -> None:
    """Bernstein coefficients of both halves of an interval; those of the second replace the whole.

    De Casteljau's scheme.
    """
    for j in range(whole.size):
        first[j] = whole[0]
        for k in range(whole.size - 1 - j):
            whole[k] = (whole[k] + whole[k + 1]) / 2


@njit(inline="always")
def _bracketed_root(polynomial: Any, low: float, high: float, rising: bool) -> float:
    """Root between low and high, where the signs differ: Newton kept in its bracket."""
    x = (low + high) / 2
    step = before = high - low
    for _ in range(_MOST_STEPS):
        value = slope = 0.0
        for power in range(polynomial.size - 1, -1, -1):
            slope = slope * x + value
            value = value * x + polynomial[power]
        if (value > 0) == rising:
            high = x
        else:
            low = x
        newton = -value / slope
        # Newton must stay inside and shrink fast; the step before last is what it is held to.
        sound = low < x + newton < high and 2 * abs(newton) < abs(before)
        # Where it has arrived, it does not matter which way rounding points.
        arrived = abs(newton) <= _RESOLUTION
        before, step = step, newton if sound or arrived else (low + high) / 2 - x
        x += step
        if abs(step) <= _RESOLUTION:
            break
    return x
