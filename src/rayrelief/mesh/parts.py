"""Parts of a mesh: faces that hang together by edges. What touches in a point falls apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from rayrelief.compiled import njit
from rayrelief.conventions import BoolArray
from rayrelief.graph import first_node, join_nodes
from rayrelief.mesh.base import Faces

NONE = 0xFFFFFFFF
TOUCHING = 4  # parts at a vertex: of the eight faces in a grid every other one may stand alone


def specks(faces: Faces, vertex_count: int, min_part: int) -> tuple[BoolArray, int]:
    """Which faces (F,) of a grid are in a part of fewer vertices, and the number of such parts.

    The largest part is none of them, however small it is.
    """
    part = np.arange(len(faces), dtype=np.uint32)
    _join_at_edges(faces, np.full(vertex_count, NONE, dtype=np.uint32), part)
    sizes = np.zeros(len(faces), dtype=np.int32)
    _count_vertices(faces, part, np.full((vertex_count, TOUCHING), NONE, dtype=np.uint32), sizes)
    small = (sizes < min_part) & (sizes < sizes.max(initial=0))
    of_face: BoolArray = small[part]
    return of_face, int(np.count_nonzero(small & (sizes > 0)))


@njit(cache=True)
def _join_at_edges(faces: Any, first: Any, part: Any) -> None:
    """Give the faces of each part the number of the first of them.

    The edges that leave a vertex for one of a higher number, each with the face that had it first,
    are a list that begins at ``first``.
    """
    most = 3 * len(faces)
    following, end = np.empty(most, dtype=np.uint32), np.empty(most, dtype=np.uint32)
    owner = np.empty(most, dtype=np.uint32)
    count = 0
    for f in range(len(faces)):
        for k in range(3):
            a, b = faces[f, k], faces[f, (k + 1) % 3]
            a, b = min(a, b), max(a, b)
            edge = first[a]
            while edge != NONE and end[edge] != b:
                edge = following[edge]
            if edge != NONE:
                join_nodes(part, f, owner[edge])
            else:
                following[count], end[count], owner[count] = first[a], b, f
                first[a] = count
                count += 1
    for f in range(len(faces)):
        part[f] = first_node(part, f)


@njit(cache=True)
def _count_vertices(faces: Any, part: Any, seen: Any, sizes: Any) -> None:
    """Vertices of each part, at its first face; ``seen`` takes the parts at each vertex."""
    for f in range(len(faces)):
        for k in range(3):
            parts = seen[faces[f, k]]
            at = 0
            while at < len(parts) and parts[at] != NONE and parts[at] != part[f]:
                at += 1
            if at < len(parts) and parts[at] == NONE:
                parts[at] = part[f]
                sizes[part[f]] += 1
