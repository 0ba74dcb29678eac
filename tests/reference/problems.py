"""Equations of two small maps, and problems and systems of given equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rayrelief.backends.cpu import CPU
from rayrelief.formulation import ray_plane
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.graph import PixelGraph, pixel_graph
from rayrelief.laws.base import Law
from rayrelief.operators import Operator
from rayrelief.problem import Anchors, Problem
from rayrelief.solvers.dense import Dense
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


def equations_of(graph: PixelGraph) -> EdgeEquations:
    """A level plane: all neighbours at the same value."""
    factor = graph.exists.astype(np.float32)
    return EdgeEquations(graph, np.zeros(factor.shape), factor, factor, "log-depth")


def problem_of(equations: EdgeEquations, **fields: Any) -> Problem:
    """A problem that has nothing but its equations, as far as methods are concerned."""
    nothing: Any = None
    return Problem(nothing, "z", nothing, equations, nothing, **fields)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """What a law makes of equations at one iterate."""

    operator: Operator
    rhs: np.ndarray
    energy: float


def normal_equations(
    equations: EdgeEquations, law: Law, x: np.ndarray, anchors: Anchors | None = None
) -> NormalEquations:
    """Operator, right-hand side and energy as the loop sees them."""
    problem = problem_of(equations, anchors=anchors)
    with CPU(threads=1).compute(problem, Dense()) as computation:
        energy = computation.linearise(law, x)
        return NormalEquations(computation.operator, computation.rhs, energy)
