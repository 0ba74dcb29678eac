"""How large the jump across every edge is, for output."""

from __future__ import annotations

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.formulation.edge_equations import dot, empty_terms, node_blocks
from rayrelief.formulation.ray_plane import omega_eps
from rayrelief.problem import Problem


def relative_jump(difference: FloatArray, omega: FloatArray, omega_eps: FloatArray) -> FloatArray:
    """alpha_{b->a}: the paper's jump along z over the depth at b; undefined where n_az = 0."""
    return (np.exp(difference) - omega) / omega_eps  # Eq. 14


@np.errstate(over="ignore", invalid="ignore")  # of surfaces that are none
def relative_jumps(problem: Problem, x: FloatArray) -> FloatArray:
    """alpha of every directed edge (D, N) for the unknown x (N,); NaN where n_z vanishes."""
    equations, graph = problem.equations, problem.graph
    normals, rays = graph.gather(problem.normals), graph.gather(problem.view.rays)
    alpha = empty_terms(graph)
    for nodes, _ in node_blocks(graph):
        eps = omega_eps(normals[nodes], rays[nodes])
        eps[eps == 0] = np.nan
        for d, b in enumerate(graph.neighbours[:, nodes]):
            difference = x[nodes] - np.take(x, b)
            alpha[d, nodes] = relative_jump(difference, np.exp(equations.offset_of(d, nodes)), eps)
    return alpha


@np.errstate(over="ignore", invalid="ignore")
def jump_sizes(problem: Problem, x: FloatArray) -> FloatArray:
    """Jump of every directed edge (D, N) along the ray between its pixels, in units of depth.

    Unlike alpha this has no pole where n_z vanishes, and at grazing angles it does not take the
    slope of the surface for a jump.
    """
    equations, graph = problem.equations, problem.graph
    normals, rays = graph.gather(problem.normals), graph.gather(problem.view.rays)
    sizes = empty_terms(graph)
    for nodes, _ in node_blocks(graph):
        n_a, tau_a = np.asfortranarray(normals[nodes]), np.asfortranarray(rays[nodes])
        at_a = dot(n_a, tau_a)
        for d, b in enumerate(graph.neighbours[:, nodes]):
            x_b, smooth = np.take(x, b), equations.offset_of(d, nodes)
            difference = x[nodes] - x_b
            if equations.unknown == "depth":
                sizes[d, nodes] = difference - smooth
                continue
            at_m = dot(n_a, 0.5 * (tau_a + np.take(rays, b, axis=0)))
            along_m = np.divide(at_a, at_m, out=np.zeros_like(at_a), where=at_m != 0)
            sizes[d, nodes] = np.exp(x_b) * (np.exp(difference) - np.exp(smooth)) * along_m
    return sizes
