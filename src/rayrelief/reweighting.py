"""Bilateral weights: which of two opposite neighbours a pixel belongs to."""

from __future__ import annotations

import math

from numba import njit


@njit(inline="always", error_model="numpy")
def bilateral_weights(res_b: float, res_opposite: float, k: float) -> tuple[float, float]:
    """w_{b->a} and w_{-b->a} from the residuals gamma (x_a - x_b) of two opposite edges.

    Both are computed without cancellation: a weight of 1e-20 stays 1e-20.
    """
    t = k * (res_opposite * res_opposite - res_b * res_b)
    e = math.exp(-abs(t))
    large, small = 1.0 / (1.0 + e), e / (1.0 + e)
    return (large, small) if t > 0 else (small, large)  # Eq. 10
