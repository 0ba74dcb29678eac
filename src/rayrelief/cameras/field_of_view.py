"""Field of view: the fisheye of Devernay and Faugeras, with a single parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rayrelief.cameras.radial import RadialCamera, up_to
from rayrelief.checks import Rule
from rayrelief.conventions import FloatArray

# Radians. Below, the radius is that of a pinhole to the last digit.
SMALLEST_OMEGA = 1e-9
_OMEGA = Rule(
    lambda omega: SMALLEST_OMEGA <= omega < math.pi,
    f"an angle in radians, from {SMALLEST_OMEGA:g} to below pi",
    "Convert degrees to radians; a lens without distortion is a Pinhole",
)


@dataclass(frozen=True)
class FieldOfView(RadialCamera):
    """Fisheye with tan(r omega) = 2 tan(omega/2) tan t, continued past 90 degrees to 180.

    The smaller omega is, the more it is a pinhole.

    Attributes
    ----------
    omega
        Field of view of the ideal lens in radians, between 0 and pi.
    """

    omega: float

    rules: ClassVar[Mapping[str, Rule]] = {"omega": _OMEGA}

    def direction_at(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Components across and along the axis of the directions at radii (n,)."""
        bent = up_to(radius * self.omega, math.pi)
        return np.sin(bent) / self._stretch, np.cos(bent)

    def radius_of(self, across: FloatArray, along: FloatArray) -> FloatArray:
        """Radii (n,) of unit directions."""
        return np.arctan2(self._stretch * across, along) / self.omega

    @property
    def _stretch(self) -> float:
        return 2 * math.tan(self.omega / 2)
