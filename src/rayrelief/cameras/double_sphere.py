"""Double sphere: two unit spheres one behind the other (Usenko, Demmel and Cremers, 3DV 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rayrelief.cameras.radial import RadialCamera
from rayrelief.cameras.unified import sphere_direction, sphere_radius
from rayrelief.checks import Rule
from rayrelief.conventions import FloatArray

# At 1 the centre of the second sphere leaves the first one, and directions lose all their digits.
LARGEST_XI = 0.999
_ORDER = "Check the order of the parameters: xi comes before alpha"
_XI = Rule(lambda xi: abs(xi) <= LARGEST_XI, f"a number from {-LARGEST_XI} to {LARGEST_XI}", _ORDER)
_ALPHA = Rule(lambda alpha: 0 <= alpha <= 1, "a number from 0 to 1", _ORDER)


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

    rules: ClassVar[Mapping[str, Rule]] = {"xi": _XI, "alpha": _ALPHA}

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
