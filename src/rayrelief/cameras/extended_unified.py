"""Extended unified: the unified camera with an ellipsoid for its sphere (Khomutenko et al.)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rayrelief.cameras.intrinsics import check_parameter
from rayrelief.cameras.radial import RadialCamera
from rayrelief.cameras.unified import sphere_direction, sphere_radius
from rayrelief.conventions import FloatArray

# Far beyond any lens: the ellipsoid is a needle or a disc.
BETAS = (1e-6, 1e6)


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

    def __post_init__(self) -> None:
        super().__post_init__()
        remedy = "Check the order of the parameters: alpha comes before beta"
        check_parameter(self, "alpha", 0 <= self.alpha <= 1, "a number from 0 to 1", remedy)
        expected = f"a number from {BETAS[0]:g} to {BETAS[1]:g}, about 1 for most lenses"
        check_parameter(self, "beta", BETAS[0] <= self.beta <= BETAS[1], expected, remedy)

    def direction_at(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Components across and along the axis of the directions at radii (n,)."""
        stretch = math.sqrt(self.beta)
        across, along = sphere_direction(stretch * radius, self.alpha)
        return across / stretch, along

    def radius_of(self, across: FloatArray, along: FloatArray) -> FloatArray:
        """Radii (n,) of unit directions."""
        stretch = math.sqrt(self.beta)
        return sphere_radius(stretch * across, along, self.alpha) / stretch
