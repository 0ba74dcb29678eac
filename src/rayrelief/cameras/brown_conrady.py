"""Brown-Conrady: a perspective camera whose lens distorts, as OpenCV calibrates it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rayrelief.cameras.distortion import LensDistortion
from rayrelief.cameras.homography import through_homography
from rayrelief.cameras.intrinsics import TILT, IntrinsicCamera
from rayrelief.cameras.lens import PERSPECTIVE, RadialTangentialLens, Stage
from rayrelief.checks import Rule
from rayrelief.conventions import FloatArray


@dataclass(frozen=True, eq=False)
class TiltedSensor:
    """What a sensor does that is not at right angles to the axis.

    Attributes
    ----------
    homography
        (3, 3) from the plane z = 1 to the sensor.
    """

    homography: FloatArray

    @classmethod
    def by(cls, tilt_x: float, tilt_y: float) -> TiltedSensor:
        """Sensor turned about the axes x and y, by angles in radians."""
        cos_x, sin_x = math.cos(tilt_x), math.sin(tilt_x)
        cos_y, sin_y = math.cos(tilt_y), math.sin(tilt_y)
        about_x = np.array([[1, 0, 0], [0, cos_x, sin_x], [0, -sin_x, cos_x]])
        about_y = np.array([[cos_y, 0, -sin_y], [0, 1, 0], [sin_y, 0, cos_y]])
        turned = about_y @ about_x
        # From there along the axis onto the sensor: the principal point stays where it is.
        x, y, z = turned[:, 2]
        return cls(
            np.stack((z * turned[0] - x * turned[2], z * turned[1] - y * turned[2], turned[2]))
        )

    def distort_seen(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points (n,) of the sensor that see points (n,) of the plane z = 1."""
        return through_homography(self.homography, x, y)

    def undistort(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points (n,) of the plane z = 1 that are seen at points (n,) of the sensor."""
        return through_homography(np.linalg.inv(self.homography).astype(np.float64), x, y)


@dataclass(frozen=True)
class BrownConrady(RadialTangentialLens):
    """Perspective camera with OpenCV's lens distortion; focal lengths in pixels.

    Its coefficients in OpenCV's order: k1, k2, p1, p2, k3 and those below.

    Attributes
    ----------
    k4, k5, k6
        Radial coefficients of r^2, r^4 and r^6 in the denominator 1 + ...
    s1, s2, s3, s4
        Thin prism coefficients.
    tilt_x, tilt_y
        Tilt of the sensor about the axes x and y, OpenCV's tau_x and tau_y, in radians.
    """

    k4: float = 0.0
    k5: float = 0.0
    k6: float = 0.0
    s1: float = 0.0
    s2: float = 0.0
    s3: float = 0.0
    s4: float = 0.0
    tilt_x: float = 0.0
    tilt_y: float = 0.0

    ideal: ClassVar[IntrinsicCamera] = PERSPECTIVE
    rules: ClassVar[Mapping[str, Rule]] = {"tilt_x": TILT, "tilt_y": TILT}

    @cached_property
    def distortion(self) -> LensDistortion:
        """The lens distortion on the plane z = 1."""
        return LensDistortion(
            numerator=(self.k1, self.k2, self.k3),
            denominator=(self.k4, self.k5, self.k6),
            tangential=(self.p1, self.p2),
            prism=(self.s1, self.s2, self.s3, self.s4),
        )

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The distortion and, where there is one, the tilt."""
        if not (self.tilt_x or self.tilt_y):
            return (self.distortion,)
        return self.distortion, TiltedSensor.by(self.tilt_x, self.tilt_y)
