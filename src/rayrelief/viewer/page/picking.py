"""Which point of a surface a ray hits first."""

from __future__ import annotations

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.mesh.base import Faces


def first_hit(
    vertices: FloatArray, faces: Faces, origin: FloatArray, direction: FloatArray
) -> FloatArray | None:
    """First point (3,) of a mesh on a ray, from either side of its faces; None where it misses.

    The method of Moeller and Trumbore, for all faces at once.
    """
    corner, *sides = vertices[faces].swapaxes(0, 1)
    one, other = (side - corner for side in sides)
    across = np.cross(direction, other)
    volume = np.einsum("fi,fi->f", one, across)
    with np.errstate(divide="ignore", invalid="ignore"):  # faces along the ray are not hit
        offset = origin - corner
        u = np.einsum("fi,fi->f", offset, across) / volume
        turned = np.cross(offset, one)
        v = np.einsum("i,fi->f", direction, turned) / volume
        along = np.einsum("fi,fi->f", other, turned) / volume
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (along > 0)
    if not hit.any():
        return None
    point: FloatArray = origin + along[hit].min() * direction
    return point
