"""Cached depth to surfaces that can be looked at."""

from __future__ import annotations

import warnings

import numpy as np

import rayrelief
from rayrelief import Mesh
from rayrelief.cameras.view import View
from rayrelief.components import fix_constants
from rayrelief.conventions import FloatArray
from rayrelief.errors import Outcome, Status
from rayrelief.graph import pixel_graph
from rayrelief.methods.base import Method
from rayrelief.preprocess import prepare_normals
from rayrelief.result import SolvedState
from rayrelief.surface import vertex_normals
from rayrelief.viewer.rasterise import oblique_view

VIEW_HEIGHT, VIEW_WIDTH = 260, 229  # pixels
LONGEST_SIDE = 12  # of a face, in those of the median


def restored(scene: rayrelief.Scene, method: Method, depth: FloatArray) -> rayrelief.Integration:
    """What ``integrate`` would have returned with this depth (H, W), NaN where there is none.

    Predictions keep the depth alone: meshes and activations are computed from it as from any
    result, and from the true depth in the same way.
    """
    view = View.of(scene.camera, *scene.mask.shape)
    known = scene.mask & np.isfinite(depth)
    with warnings.catch_warnings():  # whoever integrated it was warned
        warnings.simplefilter("ignore", rayrelief.IntegrationWarning)
        unit, inside, report = prepare_normals(
            scene.normals, known, view.rays, method.preprocessing
        )
    equations = method.equations(pixel_graph(inside, method.connectivity), unit, view)
    depths = equations.graph.gather(depth)
    x = np.log(depths) if equations.unknown == "log-depth" else depths
    _, components = fix_constants(equations.graph, x, x)
    return rayrelief.Integration(
        depth=np.where(inside, depth, np.nan),
        depth_kind=view.kind,
        camera=scene.camera,
        method=method,
        status=Status(Outcome.COMPLETED),
        history=(),
        components=components,
        preprocessing=report,
        _state=SolvedState(view, unit, equations, x, 1),
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
