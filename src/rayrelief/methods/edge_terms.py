"""Bilateral weights, discontinuity activation and right-hand sides of all edges, in one pass.

The formulas stand in the file of the kernel that uses them, since numba's cache watches no other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, prange

from rayrelief.conventions import FloatArray
from rayrelief.formulation.edge_equations import EdgeEquations

BLOCK = 2048  # nodes per block; the partial energies of the blocks are added in order


@dataclass(frozen=True)
class EdgeModel:
    """How edges are weighted and blended, in the paper's symbols.

    Attributes
    ----------
    k
        Sharpness of the bilateral weights; 0 weights all edges alike.
    q, rho
        Slope and threshold of the discontinuity activation; q = 0 is replaced by no jumps at all.
    jumps
        Whether discontinuities enter the equations (alpha and beta).
    """

    k: float
    jumps: bool = False
    q: float = 50.0
    rho: float = 0.25


@dataclass(frozen=True, eq=False)
class EdgeTerms:
    """Weight w, activation beta and right-hand side of all directed edges (D, N) at one iterate."""

    weights: FloatArray
    activation: FloatArray
    target: FloatArray
    energy: float


def edge_terms(equations: EdgeEquations, model: EdgeModel, x: FloatArray) -> EdgeTerms:
    """Evaluate weights, activation, right-hand sides and the energy at the iterate x (N,)."""
    shape = equations.offset.shape
    weights, beta, target = np.empty(shape), np.zeros(shape), np.empty(shape)
    energies = np.empty((x.size + BLOCK - 1) // BLOCK)
    _edge_terms(
        equations.graph.neighbours,
        equations.offset,
        equations.gamma,
        equations.gamma_weight,
        x,
        float(model.k),
        model.jumps,
        float(model.q),
        float(model.rho),
        equations.unknown == "log-depth",
        weights,
        beta,
        target,
        energies,
    )
    return EdgeTerms(weights, beta, target, float(np.cumsum(energies)[-1]) if x.size else 0.0)


@njit(inline="always", error_model="numpy")
def bilateral_weights(res_b: float, res_opposite: float, k: float) -> tuple[float, float]:
    """w_{b->a} and w_{-b->a} from the residuals gamma (x_a - x_b) of two opposite edges.

    Both are computed without cancellation: a weight of 1e-20 stays 1e-20.
    """
    t = k * (res_opposite * res_opposite - res_b * res_b)
    e = math.exp(-abs(t))
    large, small = 1.0 / (1.0 + e), e / (1.0 + e)
    return (large, small) if t > 0 else (small, large)  # Eq. 10


@njit(inline="always", error_model="numpy")
def activation(w: float, q: float, rho: float) -> float:
    """beta = sigma(q (rho - w)): 1 on a jump, 0 on a continuous surface."""
    return 1.0 / (1.0 + math.exp(-q * (rho - w)))  # Eq. 16


@njit(inline="always", error_model="numpy")
def blended_log_offset(difference: float, log_omega: float, beta: float) -> float:
    """log(omega + omega_eps alpha beta) with alpha from the current difference x_a - x_b.

    Putting alpha = (exp(x_a - x_b) - omega) / omega_eps into the equation cancels omega_eps:
    log((1 - beta) omega + beta exp(x_a - x_b)), positive by construction, with no division by n_z.
    """
    # Not log1p(beta * expm1(...)): that ends in log(0) where beta rounds to 1.
    return log_omega + math.log((1.0 - beta) + beta * math.exp(difference - log_omega))  # Eq. 15


@njit(inline="always", error_model="numpy")
def blended_offset(difference: float, offset: float, beta: float) -> float:
    """The same for an unknown that is linear in depth: (1 - beta) r + beta (z_a - z_b)."""
    return offset + beta * (difference - offset)


@njit(cache=True, parallel=True, error_model="numpy")
def _edge_terms(
    neighbours: Any,
    offset: Any,
    gamma: Any,
    gamma_weight: Any,
    x: Any,
    k: float,
    jumps: bool,
    q: float,
    rho: float,
    logarithmic: bool,
    weights: Any,
    beta: Any,
    target: Any,
    energies: Any,
) -> None:
    directions, nodes = offset.shape
    for block in prange(len(energies)):
        energy = 0.0
        for a in range(block * BLOCK, min((block + 1) * BLOCK, nodes)):
            for d in range(0, directions, 2):
                there, back = x[a] - x[neighbours[d, a]], x[a] - x[neighbours[d + 1, a]]
                weights[d, a], weights[d + 1, a] = bilateral_weights(
                    gamma_weight[d, a] * there, gamma_weight[d + 1, a] * back, k
                )
            for d in range(directions):
                difference = x[a] - x[neighbours[d, a]]
                smooth = offset[d, a]
                if jumps:
                    b = activation(weights[d, a], q, rho)
                    beta[d, a] = b
                    if logarithmic:
                        smooth = blended_log_offset(difference, smooth, b)
                    else:
                        smooth = blended_offset(difference, smooth, b)
                target[d, a] = smooth
                residual = gamma[d, a] * (difference - smooth)
                energy += weights[d, a] * residual * residual
        energies[block] = energy
