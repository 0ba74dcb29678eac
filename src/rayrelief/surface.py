"""Depth and view -> mesh cut at jumps, and normals back from the surface."""

from __future__ import annotations

from typing import Any

import numpy as np

from rayrelief.compiled import njit
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.formulation.edge_equations import dot
from rayrelief.mesh import Mesh
from rayrelief.mesh.base import Faces
from rayrelief.mesh.normals import vertex_normals

VECTORS_AT_A_TIME = 1 << 13  # vectors compared at a time: they stay in the cache

# The four triangles of a 2x2 block of pixels, each leaving out one corner (row-major: 0 1 / 2 3),
# counter-clockwise seen from the camera, with the two sides of the block (0 top, 1 bottom, 2 left,
# 3 right) and the diagonal (0 falling, 0-3; 1 rising, 1-2) that each of them has.
_CORNERS = np.array([(1, 2, 3), (0, 2, 3), (0, 3, 1), (0, 2, 1)])
_SIDES = np.array([(1, 3), (1, 2), (0, 3), (0, 2)])
_DIAGONALS = np.array([1, 0, 0, 1])

# What a block holds: one of these triangles, by its number, or ...
_RISING, _FALLING, _NOTHING = 4, 5, 6  # ... two that meet at the diagonal 1-2 or 0-3, or none
# Faces are sorted by what their block holds, then by triangle, then row by row.
_ORDER = ((_RISING, 0), (_RISING, 3), (_FALLING, 1), (_FALLING, 2), (0, 0), (1, 1), (2, 2), (3, 3))


def grid_mesh(
    points: FloatArray,
    inside: BoolArray,
    cut_right: BoolArray,
    cut_down: BoolArray,
    *,
    wraps: bool = False,
) -> Mesh:
    """Triangles between neighbouring pixels of points (H, W, 3), none of them across a cut.

    Parameters
    ----------
    inside
        (H, W) pixels that become vertices, in row-major order.
    cut_right, cut_down
        (H, W) whether the surface is cut between a pixel and its right or lower neighbour.
    wraps
        Whether the right neighbour of the last column is the first.
    """
    vertices = points[inside]
    faces = grid_faces(vertices, inside, cut_right, cut_down, wraps=wraps)
    return Mesh(vertices, faces, vertex_normals(vertices, faces), wraps=wraps)


def grid_faces(
    vertices: FloatArray,
    inside: BoolArray,
    cut_right: BoolArray,
    cut_down: BoolArray,
    *,
    cut_diagonals: BoolArray | None = None,
    wraps: bool = False,
) -> Faces:
    """Faces (F, 3) of ``grid_mesh`` between the vertices (V, 3) of the pixels inside.

    Of cuts of diagonals (2, H, W), where there are any, the first are between a pixel and the next
    in its row and column, the second between those beside and below it.
    """
    if cut_diagonals is None:
        cut_diagonals = np.empty((2, 0, 0), dtype=np.bool_)
    index = np.full(inside.shape, -1, dtype=np.int32)
    index[inside] = np.arange(len(vertices), dtype=np.int32)
    height, width = inside.shape
    around = wraps and width > 2
    held = np.empty((height - 1, width if around else width - 1), dtype=np.uint8)
    _split_blocks(vertices, index, (cut_right, cut_down, cut_diagonals), held)
    counts = np.bincount(held.ravel(), minlength=_NOTHING + 1).tolist()
    faces = np.empty((sum(counts[what] for what, _ in _ORDER), 3), dtype=np.int32)
    end = 0
    for what, triangle in _ORDER:
        start, end = end, end + counts[what]
        _put_triangles(index, held, what, _CORNERS[triangle], faces[start:end])
    return faces


def mean_angle(first: FloatArray, second: FloatArray) -> float:
    """Mean angle in degrees between unit vectors (..., 3), over those where both are finite."""
    first, second = first.reshape(-1, 3), second.reshape(-1, 3)
    angle = np.empty(len(first))
    for start in range(0, len(angle), VECTORS_AT_A_TIME):
        rows = slice(start, start + VECTORS_AT_A_TIME)
        across = np.cross(first[rows], second[rows])
        # atan2 keeps its accuracy near 0 and 180 degrees, where arccos loses half of the digits.
        angle[rows] = np.arctan2(np.sqrt(dot(across, across)), dot(first[rows], second[rows]))
    angle = angle[np.isfinite(angle)]
    return float(np.degrees(angle, out=angle).mean()) if angle.size else float("nan")


@njit(cache=True, error_model="numpy")
def _split_blocks(vertices: Any, index: Any, cut: Any, held: Any) -> None:
    """Say what each 2x2 block of pixels holds; ``index`` numbers the vertices, -1 for none."""
    height, width = held.shape
    cut_right, cut_down, across = cut
    torn = np.zeros(2, dtype=np.bool_)
    for v in range(height):
        for u in range(width):
            right = u + 1 if u + 1 < index.shape[1] else 0
            corners = (index[v, u], index[v, right], index[v + 1, u], index[v + 1, right])
            cuts = (cut_right[v, u], cut_right[v + 1, u], cut_down[v, u], cut_down[v, right])
            if across.shape[1]:
                torn[0], torn[1] = across[0, v, u], across[1, v, u]
            if min(corners) >= 0 and not max(cuts):
                falling = _squared_distance(vertices, corners[0], corners[3])
                rising = _squared_distance(vertices, corners[1], corners[2])
                held[v, u] = _FALLING if falling < rising else _RISING
                if torn[0 if falling < rising else 1]:
                    held[v, u] = _NOTHING
                continue
            held[v, u] = _NOTHING
            for triangle in range(3, -1, -1):
                i, j, k = _CORNERS[triangle]
                present = min(corners[i], corners[j], corners[k]) >= 0
                one, other = _SIDES[triangle]
                if present and not (cuts[one] or cuts[other] or torn[_DIAGONALS[triangle]]):
                    held[v, u] = triangle


@njit(inline="always", error_model="numpy")
def _squared_distance(vertices: Any, i: int, j: int) -> Any:
    x, y, z = (
        vertices[i, 0] - vertices[j, 0],
        vertices[i, 1] - vertices[j, 1],
        vertices[i, 2] - vertices[j, 2],
    )
    return x * x + y * y + z * z


@njit(cache=True)
def _put_triangles(index: Any, held: Any, what: int, corners: Any, faces: Any) -> None:
    """Write one triangle, given by its corners, of all blocks that hold ``what``."""
    height, width = held.shape
    count = 0
    for v in range(height):
        for u in range(width):
            if held[v, u] == what:
                for i in range(3):
                    column = u + corners[i] % 2
                    if column == index.shape[1]:
                        column = 0
                    faces[count, i] = index[v + corners[i] // 2, column]
                count += 1
