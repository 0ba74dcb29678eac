"""Cached depth to surfaces that can be looked at."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import rayrelief
from rayrelief import Mesh
from rayrelief.backends import Backend
from rayrelief.conventions import FloatArray
from rayrelief.methods import Callback, Problem, Reweighted, Solution, iterate
from rayrelief.surface import vertex_normals
from rayrelief.viewer.rasterise import oblique_view

VIEW_HEIGHT, VIEW_WIDTH = 260, 229  # pixels
LONGEST_SIDE = 12  # of a face, in those of the median


@dataclass(frozen=True)
class AsItIs:
    """Takes the start for the surface, and says what the law of a recipe makes of it."""

    recipe: Reweighted

    def __getattr__(self, name: str) -> Any:
        return getattr(self.recipe, name)  # connectivity, preprocessing, equations

    def solve(
        self, problem: Problem, backend: Backend, callback: Callback | None = None
    ) -> Solution:
        """No iteration."""
        return iterate(problem, self.recipe.law, self.recipe.solver, backend, max_iterations=0)


def restored(
    scene: rayrelief.Scene, recipe: Reweighted, depth: FloatArray
) -> rayrelief.Integration:
    """What ``integrate`` would have returned with this depth (H, W), NaN where there is none.

    Predictions keep the depth alone: meshes and activations are computed from it as from any
    result, and from the true depth in the same way.
    """
    known = scene.mask & np.isfinite(depth)
    with warnings.catch_warnings():  # whoever integrated it was warned
        warnings.simplefilter("ignore", rayrelief.IntegrationWarning)
        return rayrelief.integrate(
            scene.normals, scene.camera, mask=known, start=depth, method=AsItIs(recipe)
        )


def cut_mesh(result: rayrelief.Integration) -> Mesh:
    """Mesh without strips across jumps or points without faces.

    Where a normal at a rim is seen edge-on, it explains any jump: such strips are known by their
    length, also those of the true surface.
    """
    mesh = result.mesh(both=False)
    corners = mesh.vertices[mesh.faces]
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(axis=1)
    kept = mesh.faces[sides <= LONGEST_SIDE * np.median(sides)]
    used, numbers = np.unique(kept, return_inverse=True)
    vertices, faces = mesh.vertices[used], numbers.reshape(-1, 3).astype(np.int32)
    return Mesh(vertices, faces, vertex_normals(vertices, faces))


def from_right(mesh: Mesh) -> FloatArray:
    """Brightness seen from the right; NaN beside the surface."""
    return oblique_view(mesh, VIEW_HEIGHT, VIEW_WIDTH)


def from_left(mesh: Mesh) -> FloatArray:
    """Brightness seen from the left, and lit from the other side too."""
    vertices, faces = mesh.vertices * (-1.0, 1.0, 1.0), mesh.faces[:, ::-1]
    return from_right(Mesh(vertices, faces, vertex_normals(vertices, faces)))[:, ::-1]
