"""Normals of faces, and of the vertices between them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rayrelief.compiled import njit
from rayrelief.conventions import FloatArray
from rayrelief.mesh.base import Faces


def vertex_normals(vertices: FloatArray, faces: Faces) -> FloatArray:
    """Unit normals (V, 3), the area-weighted mean of the faces around; NaN without any face."""
    normals = np.zeros(vertices.shape)
    _average_normals(vertices, faces, normals)
    return normals


@njit(inline="always", error_model="numpy")
def face_normal(vertices: Any, i: int, j: int, k: int) -> Any:
    """Normal (x, y, z) of a face, twice its area long."""
    x1, y1, z1 = (
        vertices[j, 0] - vertices[i, 0],
        vertices[j, 1] - vertices[i, 1],
        vertices[j, 2] - vertices[i, 2],
    )
    x2, y2, z2 = (
        vertices[k, 0] - vertices[i, 0],
        vertices[k, 1] - vertices[i, 1],
        vertices[k, 2] - vertices[i, 2],
    )
    return y1 * z2 - z1 * y2, z1 * x2 - x1 * z2, x1 * y2 - y1 * x2


@njit(cache=True, error_model="numpy")
def _average_normals(vertices: Any, faces: Any, normals: Any) -> None:
    """Add up the normals of all faces, and normalise the sums."""
    for f in range(len(faces)):
        i, j, k = faces[f]
        x, y, z = face_normal(vertices, i, j, k)
        for vertex in (i, j, k):
            normals[vertex, 0] += x
            normals[vertex, 1] += y
            normals[vertex, 2] += z
    for n in normals:
        length = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
        if length > 0.0:
            n[0] /= length
            n[1] /= length
            n[2] /= length
        else:
            n[:] = np.nan
