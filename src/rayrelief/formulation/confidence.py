"""Confidence: how far the normal of each pixel is to be trusted, in the equations of its edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rayrelief.checks import require
from rayrelief.conventions import SingleArray
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.formulation.intervals import IntervalEquations

# What is left of a pixel without any confidence: it says nothing to others, but follows them.
LEAST = 1e-6


def check_any(largest: float) -> None:
    """Raise InputError where the largest confidence of a map is 0."""
    require(
        largest > 0,
        "the confidence is 0 everywhere",
        "more than 0 where the normals are to be used",
        "Leave it out to trust all of them alike",
    )


def with_confidence(equations: EdgeEquations, confidence: SingleArray) -> EdgeEquations:
    """Equations whose say in the cost is scaled by the confidence (N,) of both pixels, 0 to 1.

    A confidence stands for an inverse variance, and the variances of both normals add up. The
    bilateral weights, which decide about jumps, do not know it; the intervals of Ordered do: where
    normals are doubted more than most, a residual is no sign of a jump.
    """
    if isinstance(equations, IntervalEquations):
        confidence = relative(confidence)
    variance = 1.0 / np.maximum(confidence.astype(np.float64), LEAST)
    factors = np.empty_like(equations.gamma)
    for row, d in enumerate(equations.directions):
        there = equations.graph.neighbours[d]
        factors[row] = np.sqrt(2.0 / (variance + np.take(variance, there)))
    if isinstance(equations, IntervalEquations):
        return replace(equations, sigma=equations.sigma / factors)
    return replace(equations, gamma=equations.gamma * factors)


def relative(confidence: Any, arrays: Any = np) -> Any:
    """Confidence over the median of what is trusted at all, at most 1.

    The noise of most normals is estimated from the map; a confidence tells how others compare.
    """
    trusted = confidence[confidence > 0]
    if trusted.size == 0:
        return confidence
    return arrays.minimum(confidence / arrays.median(trusted), 1.0).astype(np.float32)
