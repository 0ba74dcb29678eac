"""Spheres and ellipsoids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.synthetic.shapes.base import (
    Ball,
    Hits,
    Vector,
    check_positive,
    unit_ball_chord,
    visible,
)


@dataclass(frozen=True)
class Sphere:
    """Sphere in the OpenCV camera frame; lengths in the unit of the depth."""

    centre: Vector
    radius: float

    def __post_init__(self) -> None:
        check_positive("radius", self.radius)

    @property
    def bounds(self) -> Ball:
        """Ball that holds it."""
        return Ball.around(self.centre, self.radius)

    def intersect(self, origins: FloatArray, directions: FloatArray, *, near: float = 0.0) -> Hits:
        """Nearest hits (t, normals) with t > near; see `Shape.intersect`."""
        ellipsoid = Ellipsoid(self.centre, (self.radius, self.radius, self.radius))
        return ellipsoid.intersect(origins, directions, near=near)


@dataclass(frozen=True)
class Ellipsoid:
    """Ellipsoid along the axes of the OpenCV camera frame; lengths in the unit of the depth.

    Attributes
    ----------
    centre, radii
        Its centre, and its half-axes along x, y and z.
    inside
        True to see only the inner wall, as a camera within does; from without, the near wall is
        cut away and the ellipsoid looks like a bowl.
    """

    centre: Vector
    radii: Vector
    inside: bool = False

    def __post_init__(self) -> None:
        check_positive("radii", *self.radii)

    @property
    def bounds(self) -> Ball:
        """Ball that holds it."""
        return Ball.around(self.centre, max(self.radii))

    def intersect(self, origins: FloatArray, directions: FloatArray, *, near: float = 0.0) -> Hits:
        """Nearest hits (t, normals) with t > near; see `Shape.intersect`."""
        # Dividing by the radii makes a unit ball of the ellipsoid and leaves t alone.
        start = (origins - np.asarray(self.centre)) / np.asarray(self.radii)
        step = directions / np.asarray(self.radii)
        entry, exit_ = unit_ball_chord(start, step)
        leaving = self.inside | ~(entry > near)
        t = np.where(leaving, exit_, entry)
        with np.errstate(invalid="ignore"):
            outward = (start + t[..., None] * step) / np.asarray(self.radii)
        return visible(t, np.where(leaving[..., None], -outward, outward), directions, near)
