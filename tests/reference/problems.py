"""Equations of two small maps: one that a surface satisfies, one that none does."""

from __future__ import annotations

import numpy as np

from rayrelief.formulation import ray_plane
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.graph import pixel_graph
from reference.random_maps import facing_normals, plane_depth, random_rays


def smooth_problem(size: tuple[int, int] = (9, 10)) -> tuple[EdgeEquations, np.ndarray]:
    """Equations of a slanted plane, which the first solve satisfies."""
    rays = random_rays(np.random.default_rng(4), *size)
    graph = pixel_graph(np.ones(size, dtype=bool))
    normal = np.array([0.3, -0.2, -1.0]) / np.linalg.norm([0.3, -0.2, -1.0])
    nodes = graph.gather(rays)
    truth = np.log(plane_depth(normal, nodes))
    return ray_plane.central_equations(graph, np.broadcast_to(normal, nodes.shape), nodes), truth


def rough_problem() -> EdgeEquations:
    """Equations of random normals, which no surface satisfies."""
    rng = np.random.default_rng(4)
    rays = random_rays(rng, 9, 10)
    graph = pixel_graph(np.ones((9, 10), dtype=bool))
    normals = graph.gather(facing_normals(rng, rays))
    return ray_plane.central_equations(graph, normals, graph.gather(rays))
