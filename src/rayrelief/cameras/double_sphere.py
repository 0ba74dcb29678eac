"""Double sphere: two unit spheres one behind the other (Usenko, Demmel and Cremers, 3DV 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rayrelief.cameras.intrinsics import check_parameter
from rayrelief.cameras.radial import RadialCamera
from rayrelief.cameras.unified import sphere_direction, sphere_radius
from rayrelief.conventions import FloatArray

# At 1 the centre of the second sphere leaves the first one, and directions lose all their digits.
LARGEST_XI = 0.999


@dataclass(frozen=True)
class DoubleSphere(RadialCamera):
    """Fisheye that moves unit directions by xi along the axis, then applies the sphere model.

    The camera sees what the sphere model sees of the moved directions (``sphere_radius``), up to
    where the radius stops increasing. The bound w2 of the paper differs: mostly it excludes part of
    that, and for some xi < 0 it includes what lies beyond.

    Attributes
    ----------
    xi
        Distance of the two spheres, between -1 and 1.
    alpha
        From 0, perspective from the second centre, to 1.
    """

    xi: float
    alpha: float

    def __post_init__(self) -> None:
        super().__post_init__()
        remedy = "Check the order of the parameters: xi comes before alpha"
        expected = f"a number from {-LARGEST_XI} to {LARGEST_XI}"
        check_parameter(self, "xi", abs(self.xi) <= LARGEST_XI, expected, remedy)
        check_parameter(self, "alpha", 0 <= self.alpha <= 1, "a number from 0 to 1", remedy)

    def direction_at(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Components across and along the axis of the unit directions at radii (n,)."""
        across, along = sphere_direction(radius, self.alpha)
        length = np.hypot(across, along)
        across, along = across / length, along / length
        # From the second centre to the first sphere.
        distance = self.xi * along + np.sqrt(1 - (self.xi * across) ** 2)
        return distance * across, distance * along - self.xi

    def radius_of(self, across: FloatArray, along: FloatArray) -> FloatArray:
        """Radii (n,) of unit directions."""
        return sphere_radius(across, along + self.xi, self.alpha)
