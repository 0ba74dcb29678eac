"""Curves: what was measured on edges in bins, beside the model that the code uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numba import vectorize
from scipy.optimize import minimize

from benchmarks.calibration.edges import Edges
from rayrelief.conventions import FloatArray
from rayrelief.methods.ordered import evidence

WIDTHS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, math.inf)
LEADS = (0.0, 0.1, 0.3, 1.0, 2.0, 5.0, math.inf)
RECESSIONS = (-math.inf, -1.0, -0.5, -0.2, 0.2, 0.5, 1.0, 2.0, math.inf)
FEWEST = 30  # edges of a bin that is shown

COSTS = evidence.COSTS


@vectorize
def jump_probability(half_width: float, lead: float) -> Any:
    """Probability of a jump that the model gives an edge."""
    odds = evidence.jump_odds(half_width, lead, COSTS)
    return odds / (1.0 + odds)


@vectorize
def order_probability(half_width: float, lead: float) -> Any:
    """Probability that the model gives to the order of a jump."""
    return evidence.order_probability(half_width, lead, COSTS)


@dataclass(frozen=True, eq=False)
class Curve:
    """Edges in bins (B,): how many, where (their median), what was measured, what is modelled."""

    count: FloatArray
    at: FloatArray
    measured: FloatArray
    model: FloatArray

    @classmethod
    def of(
        cls,
        at: FloatArray,
        bounds: Sequence[float],
        measured: FloatArray,
        model: FloatArray,
        summary: Callable[[FloatArray], float] = np.mean,
    ) -> Curve:
        """Summaries of what was measured, and means of the model; NaN in bins of few edges."""
        which = np.digitize(at, bounds[1:-1])
        rows = []
        for index in range(len(bounds) - 1):
            inside = which == index
            count = np.count_nonzero(inside)
            if count < FEWEST:
                rows.append((count, math.nan, math.nan, math.nan))
                continue
            middle = float(np.median(at[inside]))
            found, expected = summary(measured[inside]), float(np.mean(model[inside]))
            rows.append((count, middle, float(found), expected))
        return cls(*np.array(rows, dtype=np.float64).T)


def deviations(share: float) -> float:
    """Within how many standard deviations this share of a Gaussian lies."""
    return NormalDist().inv_cdf(0.5 + 0.5 * share)


def error_curve(edges: Edges, share: float) -> Curve:
    """Half-width against the error that this share of the continuous edges stays below."""
    whole = edges.where(~edges.jumps)
    return Curve.of(
        np.abs(whole.half_width),
        WIDTHS,
        np.abs(whole.residual),
        deviations(share) * whole.sigma,
        lambda errors: float(np.quantile(errors, share)),
    )


def jump_curve(edges: Edges, *, ridges: bool) -> Curve:
    """Half-width against the share of jumps, in valleys or on ridges."""
    chosen = edges.where(edges.half_width < 0 if ridges else edges.half_width > 0)
    model = jump_probability(chosen.half_width, chosen.lead)
    return Curve.of(np.abs(chosen.half_width), WIDTHS, chosen.jumps.astype(np.float64), model)


def foot_curve(edges: Edges, least: float, most: float) -> Curve:
    """Recession of the slower side of a valley against the share of jumps.

    The faster side recedes by so many pixels.
    """
    faster = edges.half_width + 0.5 * np.abs(edges.lead)
    chosen = edges.where((edges.half_width > 0) & (faster >= least) & (faster < most))
    model = jump_probability(chosen.half_width, chosen.lead)
    return Curve.of(recession(chosen), RECESSIONS, chosen.jumps.astype(np.float64), model)


def recession(edges: Edges) -> FloatArray:
    """By how many pixels the slower side recedes."""
    return edges.half_width - 0.5 * np.abs(edges.lead)


def order_curve(edges: Edges, *, both_recede: bool) -> Curve:
    """Lead against the share of jumps whose faster receding side is in front.

    Both sides recede where that makes the model doubt the order.
    """
    jumps = edges.where(edges.jumps)
    model = order_probability(jumps.half_width, jumps.lead)
    doubted = model < order_probability(np.zeros_like(jumps.half_width), jumps.lead)
    chosen = doubted == both_recede
    return Curve.of(np.abs(jumps.lead)[chosen], LEADS, in_order(jumps)[chosen], model[chosen])


def in_order(jumps: Edges) -> FloatArray:
    """1 where the side that recedes faster is in front, 0 where it is not."""
    return (jumps.jump * jumps.lead < 0).astype(np.float64)


def error_over_sigma(edges: Edges, share: float) -> float:
    """Error of the continuous edges over what the model expects: 1 where it is right."""
    whole = edges.where(~edges.jumps)
    found = float(np.quantile(np.abs(whole.residual) / whole.sigma, share))
    return found / deviations(share)


def constants(edges: Edges) -> Mapping[str, float]:
    """What the curves themselves give for the constants, each read off in the simplest way."""
    errors = error_curve(edges, 0.9)
    sigma = errors.measured / deviations(0.9)
    narrow, wide = errors.at < 0.03, (errors.at > 0.3) & (errors.at < 10)
    even, foot = _odds_in_valleys(edges)
    ridges = edges.where((edges.half_width < -0.3) & (edges.half_width > -10))
    expected = float(np.sum(-ridges.half_width)) / even
    steep = edges.where(edges.jumps & (np.abs(edges.lead) > COSTS.sure))
    return {
        "EXACT": float(np.nanmean(sigma[narrow])),
        "SPREAD": float(np.nanmean(sigma[wide] / errors.at[wide])),
        "even": even,
        "foot": foot,
        "ridge": expected / max(float(np.count_nonzero(ridges.jumps)), 0.5),
        "ordered": float(np.mean(in_order(steep))) - 0.5,
    }


def _odds_in_valleys(edges: Edges) -> tuple[float, float]:
    """EVEN and FOOT that make the jumps in valleys as likely as can be."""
    valleys = edges.where((edges.half_width > 0.03) & (edges.half_width < 10))
    width, slower = np.log(valleys.half_width), np.clip(recession(valleys), -1.0, 1.0)

    def cost(constants: FloatArray) -> float:
        logit = width - constants[0] - constants[1] * slower
        return float(np.mean(np.logaddexp(0.0, np.where(valleys.jumps, -logit, logit))))

    level, foot = minimize(cost, np.zeros(2), method="Nelder-Mead").x
    return math.exp(level), float(foot)
