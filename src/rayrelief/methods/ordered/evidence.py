"""Evidence: how likely the residual of an edge is on a continuous surface, and across a jump.

Residuals, half-widths, sigmas and leads are in pixels (formulation/intervals).
The constants are read off the built-in scenes: docs/ordered.md has the curves and the command.
"""

from __future__ import annotations

import math
from typing import Any

from rayrelief.compiled import njit

STRAY = 0.05  # share of continuous edges whose error is not Gaussian: Cauchy, three times as wide
EVEN, STEEPNESS = 2.0, 1.5  # in a valley the odds of a jump are (half-width / EVEN)^STEEPNESS,
RIDGE = 6.0  # and on a ridge so many times smaller,
LEAST, MOST = 1e-3, 0.95  # within these probabilities
SURE = 1.5  # lead from which on the order of a jump is sure
ORDERED = 0.45  # by how much its probability is then above one half
BOTH_RECEDE = 1.3  # recession of the slower side that makes the order doubtful again
LARGEST = 200.0  # pixels: jumps of all sizes up to here,
SMALLER = 0.5  # the smaller the likelier, by this power of the size
ALL_SIZES = ((1.0 + LARGEST) ** (1.0 - SMALLER) - 1.0) / (1.0 - SMALLER)
CONSTANTS = {
    "stray": STRAY,
    "even": EVEN,
    "steepness": STEEPNESS,
    "ridge": RIDGE,
    "least": LEAST,
    "most": MOST,
    "sure": SURE,
    "ordered": ORDERED,
    "both_recede": BOTH_RECEDE,
    "largest": LARGEST,
    "smaller": SMALLER,
    "all_sizes": ALL_SIZES,
}
"""For backends/cuda/kernels/evidence.cu, which has the same densities."""
ROOT_OF_TWO_PI = math.sqrt(2.0 * math.pi)


@njit(inline="always", error_model="numpy")
def jump_probability(half_width: float) -> Any:
    """Probability of a jump between two pixels with this interval."""
    odds = (max(abs(half_width), 1e-6) / EVEN) ** STEEPNESS
    if half_width < 0.0:
        odds /= RIDGE
    return min(max(odds / (1.0 + odds), LEAST), MOST)


@njit(inline="always", error_model="numpy")
def order_probability(half_width: float, lead: float) -> Any:
    """Probability that the side which recedes faster is in front, if there is a jump."""
    slower = half_width - 0.5 * abs(lead)
    trust = min(abs(lead) / SURE, 1.0) * min(max(BOTH_RECEDE - slower, 0.2), 1.0)
    return 0.5 + ORDERED * trust


@njit(inline="always", error_model="numpy")
def continuous(residual: float, half_width: float, sigma: float) -> Any:
    """Density of a residual where the surface is continuous, times the probability of that."""
    z = residual / sigma
    gauss = math.exp(-0.5 * z * z) / ROOT_OF_TWO_PI
    cauchy = 1.0 / (3.0 * math.pi * (1.0 + z * z / 9.0))
    density = ((1.0 - STRAY) * gauss + STRAY * cauchy) / sigma
    return (1.0 - jump_probability(half_width)) * density


@njit(inline="always", error_model="numpy")
def outside(residual: float, half_width: float) -> Any:
    """By how much a residual lies outside of the interval: the size of the jump."""
    h = abs(half_width)
    return min(residual + h, 0.0) + max(residual - h, 0.0)


@njit(inline="always", error_model="numpy")
def jumping(residual: float, half_width: float, lead: float) -> Any:
    """Density of a residual across a jump, times the probability of that."""
    jump = outside(residual, half_width)
    order = order_probability(half_width, lead)
    if jump * lead > 0.0:
        order = 1.0 - order
    size = 1.0 / (ALL_SIZES * (1.0 + abs(jump)) ** SMALLER)
    return jump_probability(half_width) * order * size
