"""BiNI (Cao et al., ECCV 2022): one normal per equation, first order."""

from __future__ import annotations

import numpy as np

from rayrelief.cameras.pinhole import Pinhole
from rayrelief.conventions import FloatArray
from rayrelief.formulation.edge_equations import EdgeEquations, dot, pixels_per_ray
from rayrelief.graph import PixelGraph


def central_equations(graph: PixelGraph, normals: FloatArray, rays: FloatArray) -> EdgeEquations:
    """Equations for log-depth along rays (N, 3) of any central camera with normals (N, 3).

    gamma = f n_a.tau_a and delta = f n_a.(tau_b - tau_a) with f = |u_b - u_a| / |tau_b - tau_a|.
    """
    gamma, delta = _empty(graph), _empty(graph)
    for d, a, b in graph.edges():
        step = rays[b] - rays[a]
        focal = pixels_per_ray(graph.steps[d], step)
        gamma[d, a] = focal * dot(normals[a], rays[a])
        delta[d, a] = focal * dot(normals[a], step)
    return EdgeEquations(graph, _offset(delta, gamma), gamma, gamma, "log-depth")


def printed_pinhole_equations(
    graph: PixelGraph, normals: FloatArray, camera: Pinhole
) -> EdgeEquations:
    """Equations for log-depth with the gamma that the paper prints, from intrinsics (4-connected).

    gamma = n_ax (u_a - cx) + n_ay (v_a - cy) + n_az f, with f = fx along u and fy along v.
    """
    v, u = np.divmod(graph.pixels, graph.shape[1])
    gamma, delta = _empty(graph), _empty(graph)
    for d, a, _ in graph.edges():
        du, dv = graph.steps[d]
        n_x, n_y, n_z = normals[a].T
        focal = camera.fx if dv == 0 else camera.fy
        gamma[d, a] = n_x * (u[a] - camera.cx) + n_y * (v[a] - camera.cy) + n_z * focal
        delta[d, a] = du * n_x + dv * n_y
    return EdgeEquations(graph, _offset(delta, gamma), gamma, gamma, "log-depth")


def orthographic_equations(
    graph: PixelGraph, normals: FloatArray, origins: FloatArray
) -> EdgeEquations:
    """Equations for depth along parallel rays that start at origins (N, 3) with normals (N, 3)."""
    gamma, delta = _empty(graph), _empty(graph)
    for d, a, b in graph.edges():
        step = origins[b] - origins[a]
        focal = np.hypot(*graph.steps[d]) / np.linalg.norm(step, axis=-1)
        gamma[d, a] = focal * normals[a, 2]
        delta[d, a] = focal * dot(normals[a], step)
    return EdgeEquations(graph, _offset(delta, gamma), gamma, gamma, "depth")


def _empty(graph: PixelGraph) -> FloatArray:
    return np.zeros((len(graph.steps), graph.size))


def _offset(delta: FloatArray, gamma: FloatArray) -> FloatArray:
    """delta / gamma; zero where gamma vanishes, as the equation then has no weight."""
    return np.divide(delta, gamma, out=np.zeros_like(gamma), where=gamma != 0)
