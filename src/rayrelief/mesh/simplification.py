"""Fewer faces, within a distance that is measured."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rayrelief.checks import LENGTHS
from rayrelief.conventions import FloatArray
from rayrelief.mesh.base import Faces, Mesh
from rayrelief.mesh.borders import border, is_closed, is_oriented
from rayrelief.mesh.distance import farthest
from rayrelief.mesh.normals import vertex_normals
from rayrelief.optional import library

PARTS = (0.25, 0.5, 0.75, 0.9)  # of the faces that are left: each is tried until it is too few
FEWEST = 4


def simplify(mesh: Mesh, max_error: float) -> Mesh:
    """Mesh with fewer faces, within an error in its unit of the given one, as measured."""
    LENGTHS.check("max_error", max_error)
    collapse = partial(_collapsed, library_of_faces().simplify, _usual_edge(mesh))
    # A border is made of corners: the library would round them off.
    open_border = len(border(mesh.faces, len(mesh.vertices))) > 0
    check = is_oriented if open_border else is_closed
    vertices, faces = mesh.vertices, mesh.faces.copy()  # the library wants to be let write
    for part in PARTS:
        while part * len(faces) >= FEWEST:
            count = int(part * len(faces))
            found = collapse(vertices, faces, target_count=count, preserve_border=open_border)
            if not open_border:
                found = _as_files_tell_apart(*found)
            if len(found[1]) >= len(faces) or not check(found[1], len(found[0])):
                break
            if not _is_close(mesh, *found, max_error):
                break
            vertices, faces = found
    if len(faces) == len(mesh.faces):
        return mesh
    nearest = _nearest(mesh.vertices, vertices)
    return replace(
        mesh,
        vertices=vertices,
        faces=faces,
        normals=None if mesh.normals is None else vertex_normals(vertices, faces),
        pixels=None if mesh.pixels is None else mesh.pixels[nearest],
        texture=None if mesh.texture is None else mesh.texture.at(nearest),
    )


def _collapsed(
    library: Any, unit: float, vertices: FloatArray, faces: Faces, **how: Any
) -> tuple[FloatArray, Faces]:
    """Vertices and faces after the library has collapsed edges, in a unit that it is made for.

    It begins with small errors and goes on to larger ones, all of a fixed size: of a mesh in metres
    it would take nothing in time.
    """
    fewer = library(vertices / unit, faces, **how)
    return fewer[0] * unit, fewer[1].astype(np.int32)


def _usual_edge(mesh: Mesh) -> float:
    """Median length of an edge; of a mesh without any, 1."""
    corners = mesh.vertices[mesh.faces]
    lengths = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    return float(np.median(lengths[lengths > 0])) if lengths.any() else 1.0


def _as_files_tell_apart(vertices: FloatArray, faces: Faces) -> tuple[FloatArray, Faces]:
    """Vertices and faces without the edges that are no longer than 32 bits round coordinates.

    Programs join vertices that are equal in a file: four faces would meet at the edges around.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import KDTree

    # In any unit: a coordinate is rounded by half a step of so much at most.
    step = np.finfo(np.float32).eps * float(np.abs(vertices).max())
    one, other = KDTree(vertices).query_pairs(2 * step, output_type="ndarray").T
    if not len(one):
        return vertices, faces
    joined = coo_array((np.ones(len(one)), (one, other)), (len(vertices), len(vertices)))
    _, number = connected_components(joined, directed=False)
    _, first = np.unique(number, return_index=True)
    faces = number[faces].astype(np.int32)
    has_area = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    return vertices[first], faces[has_area]


def _is_close(mesh: Mesh, vertices: FloatArray, faces: Faces, max_error: float) -> bool:
    """Whether two surfaces are within an error of each other, as measured from both.

    From the old vertices, and from the new vertices, edge middles and centroids.
    """
    corners = vertices[faces]
    middles = [corners.mean(axis=1), *(corners[:, i] / 2 + corners[:, i - 1] / 2 for i in range(3))]
    samples = np.concatenate((vertices, *middles))
    return (
        farthest(mesh.vertices, vertices, faces, max_error) <= max_error
        and farthest(samples, mesh.vertices, mesh.faces, max_error) <= max_error
    )


def _nearest(old: FloatArray, new: FloatArray) -> Any:
    """Index (n,) of the old vertex that is nearest to each new one."""
    from scipy.spatial import KDTree

    return KDTree(old).query(new)[1]


def library_of_faces() -> Any:
    """The optional package that merges faces, or an InputError."""
    return library("fast_simplification", "a mesh with fewer faces", "mesh")
