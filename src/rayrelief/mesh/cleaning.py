"""Faces that do not belong to a surface: shreds beside its jumps, and parts that are specks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.mesh.base import Faces
from rayrelief.mesh.normals import face_normal

# Degrees between a face and the normals of its pixels. Of the faces that join the two sides of a
# true jump 19 out of 20 differ by more (python -m benchmarks meshes), of others few but at creases.
SHRED = 20.0
NOISE = 3.0  # of noisy normals: so many times as much as half of all faces


def shreds(vertices: FloatArray, faces: Faces, normals: FloatArray, torn: BoolArray) -> BoolArray:
    """Which faces (F,) beside a jump, with a torn vertex, contradict one of their normals (V, 3).

    A method may put the place of a jump a pixel off: then faces lead over it that are no surface,
    though no edge of theirs may jump itself.
    """
    differs = np.empty(len(faces), dtype=np.float32)
    _worst_angles(vertices, faces, normals, differs)
    limit = max(SHRED, NOISE * float(np.nanmedian(differs))) if len(faces) else SHRED
    against: BoolArray = differs > limit
    return against & torn[faces].any(axis=1)


def specks(faces: Faces, vertex_count: int, min_part: int) -> tuple[BoolArray, int]:
    """Which faces (F,) are in a part of fewer vertices than so many, and the number of such parts.

    The largest part is none of them, however small it is.
    """
    root = np.arange(vertex_count, dtype=np.int32)
    _join(faces, root)
    sizes = np.bincount(root, minlength=vertex_count)
    small = (sizes < min_part) & (sizes < sizes.max(initial=0))
    of_face: BoolArray = small[root[faces[:, 0]]]
    return of_face, int(np.count_nonzero(small & (sizes > 1)))


def used_vertices(faces: Faces, vertex_count: int) -> tuple[npt.NDArray[np.int64], Faces]:
    """Vertices (U,) that have a face, and the faces with these numbered anew."""
    used = np.zeros(vertex_count, dtype=np.bool_)
    used[faces] = True
    number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(used), number[faces]


@njit(cache=True, error_model="numpy")
def _worst_angles(vertices: Any, faces: Any, normals: Any, degrees: Any) -> None:
    """Largest angle between each face and the normals of its three vertices."""
    for f in range(len(faces)):
        a, b, c = faces[f]
        x, y, z = face_normal(vertices, a, b, c)
        length = math.sqrt(x * x + y * y + z * z)
        if length == 0.0:  # what has no area contradicts nothing
            degrees[f] = 0.0
            continue
        least = 1.0
        for vertex in (a, b, c):
            n = normals[vertex]
            least = min(least, (n[0] * x + n[1] * y + n[2] * z) / length)
        degrees[f] = math.degrees(math.acos(min(1.0, max(-1.0, least))))


@njit(cache=True)
def _join(faces: Any, root: Any) -> None:
    """Give the vertices of each connected part the same root, the first of them."""
    for f in range(len(faces)):
        first = _root_of(root, faces[f, 0])
        for corner in range(1, 3):
            other = _root_of(root, faces[f, corner])
            if other < first:
                first, other = other, first
            root[other] = first
    for vertex in range(len(root)):
        root[vertex] = _root_of(root, vertex)


@njit(inline="always")
def _root_of(root: Any, vertex: int) -> Any:
    while root[vertex] != vertex:
        root[vertex] = root[root[vertex]]  # halves the way for those who come later
        vertex = root[vertex]
    return vertex
