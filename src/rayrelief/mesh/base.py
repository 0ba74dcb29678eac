"""Mesh: plain triangles in the OpenCV camera frame, and what is known of their vertices."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rayrelief.checks import LENGTHS
from rayrelief.errors import InputError, in_number
from rayrelief.mesh.texture import Texture
from rayrelief.mesh.units import UNITS, Unit

Points = npt.NDArray[np.float64]
Faces = npt.NDArray[np.int32]
Pixels = npt.NDArray[np.int32]


@dataclass(frozen=True)
class LeftOut:
    """What a surface has no faces for, although its pixels have a depth.

    Attributes
    ----------
    cuts
        Pairs of neighbouring pixels between which it is cut: it jumps there, or is too steep.
    faces
        Triangles near a jump that contradict the normals: shreds of its other side, or valleys in
        which it goes on; and needles.
    parts, pixels
        Parts that were too small, and the pixels without any face, those of these parts included.
    """

    cuts: int = 0
    faces: int = 0
    parts: int = 0
    pixels: int = 0

    def __str__(self) -> str:
        return (
            f"cut between {in_number(self.cuts, 'pair')} of pixels; left out: "
            f"{in_number(self.faces, 'face')} of shreds and needles, "
            f"{in_number(self.parts, 'loose piece')}; "
            f"{in_number(self.pixels, 'pixel has', 'pixels have')} no face"
        )


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles in the OpenCV camera frame, counter-clockwise seen from the camera.

    Attributes
    ----------
    vertices
        (V, 3) points in the unit of the depth, unless ``unit`` says another one.
    faces
        (F, 3) indices into ``vertices``.
    normals
        (V, 3) unit normals that face the camera, or None.
    pixels
        (V, 2) pixel (u, v) that saw each vertex, or None.
    texture
        Picture on the surface, or None.
    wraps
        Whether the last column of its pixels goes on in the first, as in a panorama; None where
        nobody said.
    unit
        Unit of the vertices where it is known: "mm", "cm", "m" or "in".
    solid
        Whether it is a body that lies on its back: files have its face up, z away from the base.
    left_out
        What was left out of a surface to make it clean; None where nothing was looked for.
    """

    vertices: Points
    faces: Faces
    normals: Points | None = None
    pixels: Pixels | None = None
    texture: Texture | None = None
    wraps: bool | None = None
    unit: Unit | None = None
    solid: bool = False
    left_out: LeftOut | None = None

    def scaled(self, factor: float, unit: Unit | None = None) -> Mesh:
        """Return it so many times as large, in a unit that is known then."""
        LENGTHS.check("the factor", factor)
        UNITS.check("the unit", unit)
        return replace(self, vertices=factor * self.vertices, unit=unit)

    def coloured(self, picture: npt.NDArray[np.uint8], shape: tuple[int, int]) -> Mesh:
        """Mesh with a picture on it: RGB (h, w, 3) of the whole map, of (height, width) pixels.

        The picture may have more pixels than the map, or fewer, as long as it shows the same.
        """
        return replace(self, texture=Texture.on(picture, self.known_pixels(), shape))

    def known_pixels(self) -> Pixels:
        """Pixels (V, 2) of the vertices; InputError where they are not known."""
        if self.pixels is None:
            raise InputError(
                "the mesh does not know the pixels of its vertices",
                expected="one that a result made",
                remedy="Use result.mesh() or result.solid()",
            )
        return self.pixels

    def simplified(self, max_error: float) -> Mesh:
        """Mesh with fewer faces, within an error in its unit of this one wherever it is measured.

        Quadric edge collapses, by the optional package fast-simplification. The distance is
        measured both ways: from all vertices of this mesh to the new faces, and from the new
        vertices, the middles of the new edges and the centroids of the new faces to the old ones.
        Normals are computed again.
        """
        from rayrelief.mesh.simplification import simplify

        return simplify(self, max_error)

    def __repr__(self) -> str:
        vertices = in_number(len(self.vertices), "vertex", "vertices")
        return f"Mesh({vertices}, {in_number(len(self.faces), 'face')})"
