"""Parts of a mesh: faces that hang together by edges. What touches in a point falls apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.compiled import njit
from rayrelief.conventions import BoolArray
from rayrelief.graph import first_node, join_nodes
from rayrelief.mesh.base import Faces

NONE = 0xFFFFFFFF
ROOM = 4096  # edges that wait for their other face, at first
TOUCHING = 4  # parts at a vertex: of the eight faces in a grid every other one may stand alone


def specks(faces: Faces, vertex_count: int, min_part: int) -> tuple[BoolArray, int]:
    """Which faces (F,) of a grid are in a part of fewer vertices, and the number of such parts.

    The largest part is none of them, however small it is.
    """
    part = _parts(faces, vertex_count)
    sizes = np.zeros(len(faces), dtype=np.int32)
    _count_vertices(faces, part, np.full((vertex_count, TOUCHING), NONE, dtype=np.uint32), sizes)
    small = (sizes < min_part) & (sizes < sizes.max(initial=0))
    of_face: BoolArray = small[part]
    return of_face, int(np.count_nonzero(small & (sizes > 0)))


def _parts(faces: Faces, vertex_count: int) -> npt.NDArray[np.uint32]:
    """Of each face (F,) the number of the first one of its part."""
    part = np.arange(len(faces), dtype=np.uint32)
    _join_at_edges(faces, np.full(vertex_count, NONE, dtype=np.uint32), part)
    return part


@njit(cache=True)
def _join_at_edges(faces: Any, first: Any, part: Any) -> None:
    """Give the faces of each part the number of the first of them.

    The edges that leave a vertex for one of a higher number, each with its face, are a list that
    begins at ``first``. An edge leaves it when its other face comes: few are in lists at a time.
    """
    following, end = np.empty(ROOM, dtype=np.uint32), np.empty(ROOM, dtype=np.uint32)
    owner = np.empty(ROOM, dtype=np.uint32)
    count, free = 0, np.uint32(NONE)
    for f in range(len(faces)):
        for k in range(3):
            a, b = faces[f, k], faces[f, (k + 1) % 3]
            a, b = min(a, b), max(a, b)
            before, edge = np.uint32(NONE), first[a]
            while edge != NONE and end[edge] != b:
                before, edge = edge, following[edge]
            if edge != NONE:
                join_nodes(part, f, owner[edge])
                if before == NONE:
                    first[a] = following[edge]
                else:
                    following[before] = following[edge]
                following[edge], free = free, edge
                continue
            if free != NONE:
                edge, free = free, following[free]
            else:
                if count == len(end):
                    following, end = _twice(following), _twice(end)
                    owner = _twice(owner)
                edge = np.uint32(count)
                count += 1
            following[edge], end[edge], owner[edge] = first[a], b, f
            first[a] = edge
    for f in range(len(faces)):
        part[f] = first_node(part, f)


@njit(inline="always")
def _twice(values: Any) -> Any:
    """The same values, with as much room again."""
    return np.concatenate((values, values))


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
