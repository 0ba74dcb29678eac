"""From a sheet to a body: a back along the rays, and walls between the two borders."""

from __future__ import annotations

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.mesh.base import Faces
from rayrelief.mesh.borders import border, pinched
from rayrelief.mesh.parts import specks


def without_pinches(faces: Faces, vertex_count: int, min_part: int) -> Faces:
    """Faces of a sheet without points where parts of it only touch, and without its specks.

    Around such a point a wall would meet itself in an edge of four faces.
    """
    while True:
        touching = pinched(faces, vertex_count)
        if not touching.any():
            small, _ = specks(faces, vertex_count, min_part)
            return faces[~small]
        faces = faces[~touching]


def closed(front: FloatArray, back: FloatArray, faces: Faces) -> tuple[FloatArray, Faces]:
    """Vertices (2V, 3) and faces of the body between two positions (V, 3) of a sheet's vertices.

    The body is simple wherever the way from front to back of no two points meets, as on rays.
    """
    count = len(front)
    a, b = border(faces, count).astype(np.int32).T
    walls = (np.stack((b, a, a + count), axis=1), np.stack((b, a + count, b + count), axis=1))
    return np.concatenate((front, back)), np.concatenate((faces, faces[:, ::-1] + count, *walls))
