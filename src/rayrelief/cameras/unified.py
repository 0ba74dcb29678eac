"""Unified: a sphere seen from a point on its axis (Mei and Rives), with lens distortion.

The sphere model that the extended unified and the double sphere camera share has a direction at the
angle t off the axis go to the radius

    r = sin t / (alpha + (1 - alpha) cos t).

For alpha up to 1/2 the denominator vanishes where cos t = -alpha / (1 - alpha); above, r stops to
rise where cos t = -(1 - alpha) / alpha, at r^2 = 1 / (2 alpha - 1): the image would fold over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rayrelief.cameras.distortion import LensDistortion
from rayrelief.cameras.radial import RIM, RadialCamera, up_to
from rayrelief.checks import Rule
from rayrelief.conventions import FloatArray

# At -1 the field of view shrinks to nothing.
SMALLEST_XI = -0.999
_XI = Rule(
    lambda xi: xi >= SMALLEST_XI,
    f"a number >= {SMALLEST_XI}: 0 for a pinhole, about 1 to 3 for fisheyes",
    "Check the order of the parameters: in Kalibr's files xi comes first",
)


@dataclass(frozen=True)
class Unified(RadialCamera):
    """Central catadioptric or fisheye camera: Kalibr's "omni", OpenCV's omnidir.

    A direction of unit length is moved by xi along the axis, projected to the plane z = 1 and
    distorted there. The focal lengths are in pixels on that plane.

    Attributes
    ----------
    xi
        Offset of the sphere: 0 for a pinhole, 1 for a parabolic mirror, above for most fisheyes.
    k1, k2, p1, p2
        Radial (k) and tangential (p) distortion in OpenCV's order and sign.
    """

    xi: float
    k1: float = 0.0
    k2: float = 0.0
    p1: float = 0.0
    p2: float = 0.0

    rules: ClassVar[Mapping[str, Rule]] = {"xi": _XI}
    iterative: ClassVar[bool] = True

    @cached_property
    def distortion(self) -> LensDistortion:
        """The lens distortion on the plane."""
        return LensDistortion(numerator=(self.k1, self.k2), tangential=(self.p1, self.p2))

    def from_plane(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Directions (n, 3) of distorted points (n,); NaN where there is none."""
        if self._distorts:
            x, y = self.distortion.undistort(x, y)
        return super().from_plane(x, y)

    def to_plane(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distorted points (n,) of points (n, 3) in space; NaN where not seen."""
        x, y = super().to_plane(points)
        return self.distortion.distort_seen(x, y) if self._distorts else (x, y)

    def direction_at(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Components across and along the axis of the directions at undistorted radii (n,)."""
        return sphere_direction(radius * (1 + self.xi), self._alpha)

    def radius_of(self, across: FloatArray, along: FloatArray) -> FloatArray:
        """Undistorted radii (n,) of unit directions."""
        return sphere_radius(across, along, self._alpha) / (1 + self.xi)

    @property
    def _alpha(self) -> float:
        return self.xi / (1 + self.xi)

    @property
    def _distorts(self) -> bool:
        return any((self.k1, self.k2, self.p1, self.p2))


def sphere_direction(radius: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Components (n,) across and along the axis, of any length, that go to radii (n,).

    Usenko's formula times a factor, without its division that turns into 0 / 0 for alpha = 1.
    """
    if alpha > 0.5:
        radius = up_to(radius, 1 / math.sqrt(2 * alpha - 1))
    square = radius * radius
    root = np.sqrt(np.maximum(1 - (2 * alpha - 1) * square, 0))
    return radius * (alpha + (1 - alpha) * root), root - alpha * (1 - alpha) * square


def sphere_radius(across: FloatArray, along: FloatArray, alpha: float) -> FloatArray:
    """Radii (n,) of directions (n,) of any length; not finite where not seen."""
    length = np.hypot(across, along)
    denominator = alpha * length + (1 - alpha) * along
    if alpha > 0:
        # The same for directions behind the camera, where the two terms cancel.
        opposite = alpha * length - (1 - alpha) * along
        behind = (alpha**2 * across**2 + (2 * alpha - 1) * along**2) / opposite
        denominator = np.where(along > 0, denominator, behind)
    seen = along >= -((1 - alpha) / alpha + RIM) * length if alpha > 0.5 else denominator > 0
    return np.where(seen, across / denominator, np.nan)
