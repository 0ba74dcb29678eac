"""Evidence: what the residual of an edge costs on a continuous surface, and across a jump.

Costs are negative logarithms of likelihoods, but for a constant. Residuals, half-widths, sigmas and
leads are in pixels (formulation/intervals). docs/ordered.md has the curves behind the constants,
and the commands that draw them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from rayrelief.compiled import njit

LEAST = 1e-3  # odds of a jump, and of none


class Costs(NamedTuple):
    """What jumps cost.

    Attributes
    ----------
    even
        Half-width in pixels of a valley in which a jump is as likely as not, if the slower side
        recedes nowhere; the odds grow with the width.
    foot
        By how much the logarithm of the odds falls with each pixel that the slower side recedes,
        up to one, and rises with each that it comes nearer. Both sides recede where things stand on
        one another, one comes nearer where a rim hides what is behind it.
    ridge
        How many times smaller the odds are on a ridge.
    sure
        Lead from which on the order of a jump is sure.
    ordered
        By how much its probability is then above one half.
    both_recede
        Recession of the slower side that makes the order doubtful again.
    dear
        What a jump costs that is as likely as not: residuals of neighbouring edges depend on one
        another, and so do their jumps.
    size
        What the logarithm of its size costs.
    order
        What the logarithm of the probability of its order counts.
    """

    even: float = 1.0
    foot: float = 1.5
    ridge: float = 150.0
    sure: float = 1.5
    ordered: float = 0.45
    both_recede: float = 1.3
    dear: float = 2.0
    size: float = 0.3
    order: float = 2.0


COSTS = Costs()


@njit(inline="always", error_model="numpy")
def jump_odds(half_width: float, lead: float, costs: Costs) -> Any:
    """Odds of a jump between two pixels with this interval."""
    odds = abs(half_width) / costs.even
    if half_width < 0.0:
        odds /= costs.ridge
    else:
        slower = half_width - 0.5 * abs(lead)
        odds *= math.exp(-costs.foot * min(max(slower, -1.0), 1.0))
    return min(max(odds, LEAST), 1.0 / LEAST)


@njit(inline="always", error_model="numpy")
def order_probability(half_width: float, lead: float, costs: Costs) -> Any:
    """Probability that the side which recedes faster is in front, if there is a jump."""
    slower = half_width - 0.5 * abs(lead)
    trust = min(abs(lead) / costs.sure, 1.0) * min(max(costs.both_recede - slower, 0.2), 1.0)
    return 0.5 + costs.ordered * trust


@njit(inline="always", error_model="numpy")
def outside(residual: float, half_width: float) -> Any:
    """By how much a residual lies outside of the interval: the size of the jump."""
    h = abs(half_width)
    return min(residual + h, 0.0) + max(residual - h, 0.0)


@njit(inline="always", error_model="numpy")
def fit_cost(residual: float, sigma: float) -> Any:
    """Cost of a residual where the surface is continuous."""
    z = residual / sigma
    return math.log(1.0 + 0.5 * z * z)


@njit(inline="always", error_model="numpy")
def least_jump_cost(half_width: float, lead: float, costs: Costs) -> Any:
    """Cost of a jump of no size, whatever its order."""
    return costs.dear - math.log(jump_odds(half_width, lead, costs))


@njit(inline="always", error_model="numpy")
def least_jump_costs(half_width: float, lead: float, costs: Costs) -> Any:
    """Costs of jumps of no size: in order, and against it."""
    likely = least_jump_cost(half_width, lead, costs)
    order = order_probability(half_width, lead, costs)
    in_order = likely - costs.order * math.log(2.0 * order)
    return in_order, likely - costs.order * math.log(2.0 - 2.0 * order)


@njit(inline="always", error_model="numpy")
def jump_cost(residual: float, half_width: float, lead: float, least: Any, costs: Costs) -> Any:
    """Cost of a residual across a jump, from what those of no size cost."""
    jump = outside(residual, half_width)
    cost = least[1] if jump * lead > 0.0 else least[0]
    return max(cost + costs.size * math.log(1.0 + abs(jump)), 0.0)
