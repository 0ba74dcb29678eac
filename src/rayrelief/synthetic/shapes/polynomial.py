"""The first root of many polynomials at once, without missing a close pair."""

from __future__ import annotations

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray

_RESOLUTION = 4 * np.finfo(np.float64).eps  # of the interval [-1, 1]
_MOST_STEPS = 200  # never reached: every third step at least halves the bracket


def first_root(coefficients: FloatArray) -> FloatArray:
    """Smallest root in [-1, 1] of each of N polynomials; NaN where there is none.

    Between two neighbouring critical points a polynomial is monotone and has at most one root,
    and the critical points are the roots of its derivative. Working up from the derivative that
    is linear, each stage hands the next one its brackets, so that even two roots that nearly
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
    derivatives = [coefficients]
    while len(derivatives[-1]) > 2:
        powers = np.arange(1, len(derivatives[-1]))[:, None]
        derivatives.append(derivatives[-1][1:] * powers)
    ends = np.ones((1, coefficients.shape[1]))
    knots = np.concatenate((-ends, ends))
    for derivative in derivatives[:0:-1]:
        crossing = _sign_changes(derivative, knots)
        roots = knots[:-1].copy()  # a bracket without a root leaves an empty one behind
        bracket, which = np.nonzero(crossing)
        roots[crossing] = _bracketed_roots(
            derivative[:, which], knots[bracket, which], knots[bracket + 1, which]
        )
        knots = np.concatenate((-ends, roots, ends))
    crossing = _sign_changes(coefficients, knots)
    (which,) = np.nonzero(crossing.any(axis=0))
    bracket = crossing.argmax(axis=0)[which]
    found = np.full(coefficients.shape[1], np.nan)
    found[which] = _bracketed_roots(
        coefficients[:, which], knots[bracket, which], knots[bracket + 1, which]
    )
    return found


def evaluate(coefficients: FloatArray, x: FloatArray | float) -> FloatArray:
    """Values of N polynomials (degree + 1, N) at x that broadcasts against (N,)."""
    value: FloatArray = coefficients[-1] + np.zeros_like(x)
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value


def _sign_changes(coefficients: FloatArray, knots: FloatArray) -> BoolArray:
    positive = evaluate(coefficients, knots) > 0
    changes: BoolArray = positive[1:] != positive[:-1]
    return changes


def _bracketed_roots(coefficients: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Root between low and high, where the signs differ: Newton kept in its bracket."""
    roots = np.empty_like(low)
    which = np.arange(low.size)
    rising = evaluate(coefficients, high) > 0
    x = (low + high) / 2
    step = before = high - low
    settled = np.zeros(low.shape, dtype=np.bool_)
    for _ in range(_MOST_STEPS):
        if not which.size:
            break
        value = slope = np.zeros_like(x)
        for coefficient in coefficients[::-1]:
            slope = slope * x + value
            value = value * x + coefficient
        beyond = (value > 0) == rising
        low, high = np.where(beyond, low, x), np.where(beyond, x, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = -value / slope
        # Newton must stay inside and shrink fast; the step before last is what it is held to.
        sound = (x + newton > low) & (x + newton < high) & (2 * np.abs(newton) < np.abs(before))
        sound |= np.abs(newton) <= _RESOLUTION  # it has arrived, whichever way rounding points
        before, step = step, np.where(sound, newton, (low + high) / 2 - x)
        # What has settled rests, so that no root depends on the company in which it is sought.
        x = np.where(settled, x, x + step)
        settled |= np.abs(step) <= _RESOLUTION
        # A few slow ones must not keep all the others going.
        if 2 * np.count_nonzero(settled) > settled.size:
            roots[which] = x
            open_ = ~settled
            coefficients, which, rising = coefficients[:, open_], which[open_], rising[open_]
            low, high, x, settled = low[open_], high[open_], x[open_], settled[open_]
            step, before = step[open_], before[open_]
    roots[which] = x
    return roots
