"""Depth and view -> mesh cut at jumps, and normals back from the surface."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.mesh import Mesh

# The four triangles of a 2x2 block of pixels, each leaving out one corner (row-major: 0 1 / 2 3),
# counter-clockwise seen from the camera, with the two sides of the block (0 top, 1 bottom, 2 left,
# 3 right) that each of them has.
_TRIANGLES = (
    ((1, 2, 3), (1, 3)),
    ((0, 2, 3), (1, 2)),
    ((0, 3, 1), (0, 3)),
    ((0, 2, 1), (0, 2)),
)


def grid_mesh(
    points: FloatArray, inside: BoolArray, cut_right: BoolArray, cut_down: BoolArray
) -> Mesh:
    """Triangles between neighbouring pixels of points (H, W, 3), none of them across a cut.

    Parameters
    ----------
    inside
        (H, W) pixels that become vertices, in row-major order.
    cut_right, cut_down
        (H, W) whether the surface is cut between a pixel and its right or lower neighbour.
    """
    index = np.full(inside.shape, -1, dtype=np.int32)
    index[inside] = np.arange(int(inside.sum()), dtype=np.int32)
    corners = np.stack((index[:-1, :-1], index[:-1, 1:], index[1:, :-1], index[1:, 1:]), axis=-1)
    corners = corners.reshape(-1, 4)
    cuts = np.stack(
        (cut_right[:-1, :-1], cut_right[1:, :-1], cut_down[:-1, :-1], cut_down[:-1, 1:]), axis=-1
    ).reshape(-1, 4)
    vertices = points[inside]

    whole: BoolArray = np.logical_and(np.all(corners >= 0, axis=1), ~np.any(cuts, axis=1))
    falling = whole & _falling_is_shorter(vertices, corners, whole)
    rising = whole & ~falling
    faces = [_triangle(corners[rising], 0), _triangle(corners[rising], 3)]
    faces += [_triangle(corners[falling], 1), _triangle(corners[falling], 2)]
    rest = ~whole
    for which, (ends, sides) in enumerate(_TRIANGLES):
        fits = rest & (corners[:, ends] >= 0).all(axis=1) & ~cuts[:, sides].any(axis=1)
        faces.append(_triangle(corners[fits], which))
        rest &= ~fits
    triangles = np.concatenate(faces)
    return Mesh(vertices, triangles, vertex_normals(vertices, triangles))


def vertex_normals(vertices: FloatArray, faces: npt.NDArray[np.int32]) -> FloatArray:
    """Unit normals (V, 3), the area-weighted mean of the faces around; NaN without any face."""
    edges_1 = vertices[faces[:, 1]] - vertices[faces[:, 0]]
    edges_2 = vertices[faces[:, 2]] - vertices[faces[:, 0]]
    per_face = np.cross(edges_1, edges_2)
    total = np.stack(
        [
            np.bincount(faces.ravel(), np.repeat(per_face[:, i], 3), minlength=len(vertices))
            for i in range(3)
        ],
        axis=-1,
    )
    length = np.linalg.norm(total, axis=-1, keepdims=True)
    normals = np.full(total.shape, np.nan)
    np.divide(total, length, out=normals, where=length > 0)
    return normals


def mean_angle(first: FloatArray, second: FloatArray) -> float:
    """Mean angle in degrees between unit vectors (..., 3), over those where both are finite."""
    # atan2 keeps its accuracy near 0 and 180 degrees, where arccos loses half of the digits.
    sine = np.linalg.norm(np.cross(first, second), axis=-1)
    cosine = np.einsum("...i,...i->...", first, second)
    angle = np.degrees(np.arctan2(sine, cosine))
    finite = np.isfinite(angle)
    return float(angle[finite].mean()) if finite.any() else float("nan")


def _triangle(corners: npt.NDArray[np.int32], which: int) -> npt.NDArray[np.int32]:
    return corners[:, _TRIANGLES[which][0]]


def _falling_is_shorter(
    vertices: FloatArray, corners: npt.NDArray[np.int32], whole: BoolArray
) -> BoolArray:
    """Whether the diagonal 0-3 of each whole block is shorter than 1-2."""
    shorter = np.zeros(len(corners), dtype=np.bool_)
    v = vertices[corners[whole]]
    falling = np.sum((v[:, 0] - v[:, 3]) ** 2, axis=-1)
    rising = np.sum((v[:, 1] - v[:, 2]) ** 2, axis=-1)
    shorter[whole] = falling < rising
    return shorter
