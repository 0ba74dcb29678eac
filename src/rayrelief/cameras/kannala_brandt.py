"""Kannala-Brandt: the fisheye that OpenCV, ROS ("equidistant"), Kalibr and COLMAP calibrate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rayrelief.cameras.radial import RadialCamera, RisingFunction, up_to
from rayrelief.conventions import FloatArray


@dataclass(frozen=True)
class KannalaBrandt(RadialCamera):
    """Fisheye whose radius is an odd polynomial of the angle off the axis; pixels per radian.

    r = t + k1 t^3 + k2 t^5 + k3 t^7 + k4 t^9, up to 180 degrees or to where it stops
    increasing: beyond, the image would fold over.

    Attributes
    ----------
    k1, k2, k3, k4
        Coefficients in OpenCV's order.
    """

    k1: float = 0.0
    k2: float = 0.0
    k3: float = 0.0
    k4: float = 0.0

    iterative: ClassVar[bool] = True

    @cached_property
    def profile(self) -> RisingFunction:
        """Radius as a function of the angle off the axis."""
        return RisingFunction(self._radius_and_slope, math.pi)

    def direction_at(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sine and cosine of the angle off the axis at radii (n,)."""
        angle = self.profile.inverse(radius)
        return np.sin(angle), np.cos(angle)

    def radius_of(self, across: FloatArray, along: FloatArray) -> FloatArray:
        """Radii (n,) of unit directions."""
        return self._radius_and_slope(up_to(np.arctan2(across, along), self.profile.end))[0]

    def _radius_and_slope(self, angle: FloatArray) -> tuple[FloatArray, FloatArray]:
        k1, k2, k3, k4 = self.k1, self.k2, self.k3, self.k4
        square = angle * angle
        radius = angle * (1 + square * (k1 + square * (k2 + square * (k3 + square * k4))))
        slope = 1 + square * (3 * k1 + square * (5 * k2 + square * (7 * k3 + square * 9 * k4)))
        return radius, slope
