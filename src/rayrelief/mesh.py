"""Mesh: plain triangles in the OpenCV camera frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles in the OpenCV camera frame, counter-clockwise seen from the camera.

    Attributes
    ----------
    vertices
        (V, 3) points in the unit of the depth.
    faces
        (F, 3) indices into ``vertices``.
    normals
        (V, 3) unit normals that face the camera, or None.
    """

    vertices: npt.NDArray[np.float64]
    faces: npt.NDArray[np.int32]
    normals: npt.NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        return f"Mesh({len(self.vertices):,} vertices, {len(self.faces):,} faces)"
