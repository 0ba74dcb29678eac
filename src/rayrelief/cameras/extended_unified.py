"""Extended unified: the unified camera with an ellipsoid for its sphere (Khomutenko et al.)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rayrelief.cameras.radial import RadialCamera
from rayrelief.cameras.unified import sphere_direction, sphere_radius
from rayrelief.checks import Rule
from rayrelief.conventions import FloatArray

# Far beyond any lens: the ellipsoid is a needle or a disc.
BETAS = (1e-6, 1e6)
_ORDER = "Check the order of the parameters: alpha comes before beta"
_ALPHA = Rule(lambda alpha: 0 <= alpha <= 1, "a number from 0 to 1", _ORDER)
_BETA = Rule(
    lambda beta: BETAS[0] <= beta <= BETAS[1],
    f"a number from {BETAS[0]:g} to {BETAS[1]:g}, about 1 for most lenses",
    _ORDER,
)


@dataclass(frozen=True)
class ExtendedUnified(RadialCamera):
    """Fisheye with r = s / (alpha sqrt(beta s^2 + z^2) + (1 - alpha) z), s across the axis.

    Stretched across the axis by sqrt beta it is the sphere model, see ``sphere_radius``.

    Attributes
    ----------
    alpha
        From 0, a pinhole, to 1.
    beta
        Shape of the ellipsoid, positive; 1 for the sphere of the unified camera.
    """

    alpha: float
    beta: float

    rules: ClassVar[Mapping[str, Rule]] = {"alpha": _ALPHA, "beta": _BETA}

    def direction_at(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Components across and along the axis of the directions at radii (n,)."""
        stretch = math.sqrt(self.beta)
        across, along = sphere_direction(stretch * radius, self.alpha)
        return across / stretch, along

    def radius_of(self, across: FloatArray, along: FloatArray) -> FloatArray:
        """Radii (n,) of unit directions."""
        stretch = math.sqrt(self.beta)
        return sphere_radius(stretch * across, along, self.alpha) / stretch
