"""Discontinuities: how far an edge is taken for a jump, and what its equation then says."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from rayrelief.conventions import FloatArray
from rayrelief.formulation.edge_equations import EdgeEquations, dot


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


def relative_jump(difference: FloatArray, omega: FloatArray, omega_eps: FloatArray) -> FloatArray:
    """alpha_{b->a}: the paper's jump along z over the depth at b; undefined where n_az = 0."""
    return (np.exp(difference) - omega) / omega_eps  # Eq. 14


def jump_sizes(
    equations: EdgeEquations,
    x: FloatArray,
    normals: FloatArray,
    rays: FloatArray,
) -> FloatArray:
    """Jump of every directed edge (D, N) along the ray between its pixels, in units of depth.

    Normals and rays are (N, 3) at the nodes. Unlike alpha this has no pole where n_z vanishes, and
    at grazing angles it does not take the slope of the surface for a jump.
    """
    sizes = np.zeros_like(equations.offset)
    for d, a, b in equations.graph.edges():
        difference, smooth = x[a] - x[b], equations.offset[d, a]
        if equations.unknown == "depth":
            sizes[d, a] = difference - smooth
            continue
        n_a, tau_a = normals[a], rays[a]
        at_a = dot(n_a, tau_a)
        at_m = dot(n_a, 0.5 * (tau_a + rays[b]))
        along_m = np.divide(at_a, at_m, out=np.zeros_like(at_a), where=at_m != 0)
        sizes[d, a] = np.exp(x[b]) * (np.exp(difference) - np.exp(smooth)) * along_m
    return sizes
