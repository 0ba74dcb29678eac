"""Discontinuities for output: how large the jump of every edge is."""

from __future__ import annotations

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.formulation.edge_equations import EdgeEquations, dot


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
