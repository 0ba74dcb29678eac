"""BiNI (Cao et al., ECCV 2022): one normal per equation, first order."""

from __future__ import annotations

import numpy as np

from rayrelief.cameras.pinhole import Pinhole
from rayrelief.conventions import FloatArray
from rayrelief.formulation.edge_equations import (
    EdgeBlock,
    EdgeEquations,
    dot,
    empty_factors,
    empty_terms,
    node_blocks,
    on_edge_blocks,
    pixels_per_ray,
)
from rayrelief.graph import PixelGraph


def central_equations(graph: PixelGraph, normals: FloatArray, rays: FloatArray) -> EdgeEquations:
    """Equations for log-depth along rays (N, 3) of any central camera with normals (N, 3).

    gamma = f n_a.tau_a and delta = f n_a.(tau_b - tau_a) with f = |u_b - u_a| / |tau_b - tau_a|.
    """
    offset, gamma = empty_terms(graph), empty_factors(graph)

    def fill(edge: EdgeBlock) -> None:
        step = edge.r_b - edge.r_a
        focal = pixels_per_ray(graph.steps[edge.direction], step)  # 0 where there is no edge
        at = edge.direction, edge.nodes
        factor = focal * dot(edge.n_a, edge.r_a)
        gamma[at], offset[at] = factor, _offset(focal * dot(edge.n_a, step), factor)

    on_edge_blocks(fill, graph, normals, rays)
    return EdgeEquations(graph, offset, gamma, gamma, "log-depth")


def printed_pinhole_equations(
    graph: PixelGraph, normals: FloatArray, camera: Pinhole
) -> EdgeEquations:
    """Equations for log-depth with the gamma that the paper prints, from intrinsics (4-connected).

    gamma = n_ax (u_a - cx) + n_ay (v_a - cy) + n_az f, with f = fx along u and fy along v.
    """
    offset, gamma = empty_terms(graph), empty_factors(graph)
    for nodes, here in node_blocks(graph):
        v, u = np.divmod(graph.pixels[nodes], graph.shape[1])
        n_x, n_y, n_z = normals[nodes].T
        for d, (du, dv) in enumerate(graph.steps):
            focal = camera.fx if dv == 0 else camera.fy
            factor = n_x * (u - camera.cx) + n_y * (v - camera.cy) + n_z * focal
            factor[graph.neighbours[d, nodes] == here] = 0.0
            gamma[d, nodes], offset[d, nodes] = factor, _offset(du * n_x + dv * n_y, factor)
    return EdgeEquations(graph, offset, gamma, gamma, "log-depth")


def orthographic_equations(
    graph: PixelGraph, normals: FloatArray, origins: FloatArray
) -> EdgeEquations:
    """Equations for depth along parallel rays that start at origins (N, 3) with normals (N, 3)."""
    offset, gamma = empty_terms(graph), empty_factors(graph)

    def fill(edge: EdgeBlock) -> None:
        step = edge.r_b - edge.r_a
        focal = pixels_per_ray(graph.steps[edge.direction], step, coincident=0.0)
        at = edge.direction, edge.nodes
        factor = focal * edge.n_a[:, 2]
        gamma[at], offset[at] = factor, _offset(focal * dot(edge.n_a, step), factor)

    on_edge_blocks(fill, graph, normals, origins)
    return EdgeEquations(graph, offset, gamma, gamma, "depth")


def _offset(delta: FloatArray, gamma: FloatArray) -> FloatArray:
    """delta / gamma; zero where gamma vanishes, as the equation then has no weight."""
    return np.divide(delta, gamma, out=np.zeros_like(gamma), where=gamma != 0)
