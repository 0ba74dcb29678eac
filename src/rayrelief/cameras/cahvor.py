"""CAHVOR: the camera of JPL, with a lens whose axis is not that of the sensor; also CAHVORE.

The lens acts on directions. With t the angle off its axis o, and chi a function of t, a direction
cos t o + sin t e (e across o) is bent to

    o + chi (1 + r0 + r1 chi^2 + r2 chi^4) e,

which a pinhole camera looking along z then takes to the plane.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rayrelief.cameras.distortion import LensDistortion
from rayrelief.cameras.homography import through_homography
from rayrelief.cameras.intrinsics import TILT
from rayrelief.cameras.radial import RadialCamera, up_to
from rayrelief.checks import Rule
from rayrelief.conventions import FloatArray

# At -1 all directions next to the axis of the lens are bent to the axis.
SMALLEST_R0 = -0.999
_R0 = Rule(
    lambda r0: r0 >= SMALLEST_R0,
    f"a number >= {SMALLEST_R0}, about 0 for most lenses",
    "Check the order of the parameters: alpha, beta, r0, r1, r2",
)

# Linearities below are 0 to the last digit of the angle.
SMALLEST_LINEARITY = 1e-15


@dataclass(frozen=True)
class Cahvor(RadialCamera):
    """Perspective camera whose lens distorts about its own axis; focal lengths in pixels.

    chi is tan(L t) / L for a linearity L above 0, t for 0, and sin(L t) / L below: 1 is CAHVOR, a
    perspective lens, 0 an equidistant fisheye. Directions beyond the fold of the distortion, and
    beyond a right angle for L t, are not seen.

    Attributes
    ----------
    alpha, beta
        Angles of the lens axis towards x and towards y, in radians.
    r0, r1, r2
        Radial coefficients.
    linearity
        L; CAHVORE's parameter. The entrance pupil does not move: all rays leave one point.
    """

    alpha: float = 0.0
    beta: float = 0.0
    r0: float = 0.0
    r1: float = 0.0
    r2: float = 0.0
    linearity: float = 1.0

    rules: ClassVar[Mapping[str, Rule]] = {"alpha": TILT, "beta": TILT, "r0": _R0}
    iterative: ClassVar[bool] = True

    @cached_property
    def distortion(self) -> LensDistortion:
        """What bends directions, on the plane across the lens axis, but for the factor 1 + r0."""
        return LensDistortion(numerator=(self.r1 / (1 + self.r0), self.r2 / (1 + self.r0)))

    @cached_property
    def axes(self) -> FloatArray:
        """Frame of the lens as the rows of a rotation (3, 3): two directions across, and its axis.

        In it the lens is radial, and its plane that of the pinhole after a homography.
        """
        cos_a, sin_a = math.cos(self.alpha), math.sin(self.alpha)
        cos_b, sin_b = math.cos(self.beta), math.sin(self.beta)
        return np.array(
            [
                [cos_a, 0, -sin_a],
                [-sin_a * sin_b, cos_b, -cos_a * sin_b],
                [sin_a * cos_b, sin_b, cos_a * cos_b],
            ]
        )

    def from_plane(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Directions (n, 3), of any length, of points (n,) of the plane; NaN where none is."""
        x, y = through_homography(self.axes, x, y)
        x, y = self.distortion.undistort(x / (1 + self.r0), y / (1 + self.r0))
        directions: FloatArray = super().from_plane(x, y) @ self.axes
        return directions

    def to_plane(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coordinates x and y (n,) on the plane of points (n, 3); NaN where not seen."""
        x, y = self.distortion.distort_seen(*super().to_plane(points @ self.axes.T))
        return through_homography(self.axes.T, (1 + self.r0) * x, (1 + self.r0) * y)

    def direction_at(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Components across and along the lens axis of the directions with chi = radius (n,)."""
        if self.linearity == 1:
            return radius, np.ones_like(radius)
        size = abs(self.linearity)
        if size < SMALLEST_LINEARITY:
            angle = radius
        elif self.linearity > 0:
            angle = np.arctan(size * radius) / size
        else:
            angle = np.arcsin(up_to(size * radius, 1.0)) / size
        angle = up_to(angle, math.pi)
        return np.sin(angle), np.cos(angle)

    def radius_of(self, across: FloatArray, along: FloatArray) -> FloatArray:
        """Chi (n,) of unit directions."""
        if self.linearity == 1:
            return across / np.where(along > 0, along, np.nan)
        angle, size = np.arctan2(across, along), abs(self.linearity)
        if size < SMALLEST_LINEARITY:
            return angle
        turned = up_to(size * angle, math.pi / 2)
        return (np.tan(turned) if self.linearity > 0 else np.sin(turned)) / size
