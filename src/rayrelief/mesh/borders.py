"""Borders: edges of a mesh that only one face has, and what closes a mesh along them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray
from rayrelief.mesh.base import Faces

Edges = npt.NDArray[np.int64]


def border(faces: Faces, vertex_count: int) -> Edges:
    """Directed edges (E, 2) of faces that no other face has in the opposite direction."""
    edges = _directed(faces)
    there = np.sort(edges[:, 0] * vertex_count + edges[:, 1])
    back = edges[:, 1] * vertex_count + edges[:, 0]
    place = np.minimum(np.searchsorted(there, back), max(0, len(there) - 1))
    alone: BoolArray = np.take(there, place) != back
    found: Edges = edges[alone]
    return found


def is_oriented(faces: Faces, vertex_count: int) -> bool:
    """Whether at most two faces meet at every edge, and wind around it in opposite directions."""
    edges = _directed(faces)
    there = np.sort(edges[:, 0] * vertex_count + edges[:, 1])
    return bool((there[1:] != there[:-1]).all()) and bool((edges[:, 0] != edges[:, 1]).all())


def is_closed(faces: Faces, vertex_count: int) -> bool:
    """Whether faces are oriented and leave no border: watertight."""
    return is_oriented(faces, vertex_count) and not len(border(faces, vertex_count))


def pinched(faces: Faces, vertex_count: int) -> BoolArray:
    """Which faces (F,) have a vertex where parts of the surface touch in that point alone."""
    leaving = np.bincount(border(faces, vertex_count)[:, 0], minlength=vertex_count)
    several: BoolArray = leaving > 1
    return np.asarray(several[faces].any(axis=1), dtype=np.bool_)


def _directed(faces: Faces) -> Edges:
    return faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).astype(np.int64)
