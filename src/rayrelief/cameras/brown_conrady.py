"""Brown-Conrady: a perspective camera whose lens distorts, as OpenCV calibrates it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rayrelief.cameras.distortion import LensDistortion
from rayrelief.cameras.homography import through_homography
from rayrelief.cameras.intrinsics import IntrinsicCamera, check_angles
from rayrelief.conventions import FloatArray


@dataclass(frozen=True)
class BrownConrady(IntrinsicCamera):
    """Perspective camera with OpenCV's lens distortion; focal lengths in pixels.

    A strong distortion folds the image over at some radius. Points beyond the fold are not seen,
    and pixels to which no point within it is mapped have no ray.

    Attributes
    ----------
    k1, k2, p1, p2, k3, k4, k5, k6
        Radial (k) and tangential (p) coefficients in OpenCV's order and sign.
    s1, s2, s3, s4
        Thin prism coefficients.
    tilt_x, tilt_y
        Tilt of the sensor about the axes x and y, OpenCV's tau_x and tau_y, in radians.
    """

    k1: float = 0.0
    k2: float = 0.0
    p1: float = 0.0
    p2: float = 0.0
    k3: float = 0.0
    k4: float = 0.0
    k5: float = 0.0
    k6: float = 0.0
    s1: float = 0.0
    s2: float = 0.0
    s3: float = 0.0
    s4: float = 0.0
    tilt_x: float = 0.0
    tilt_y: float = 0.0

    iterative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_angles("a sensor tilted by", tilt_x=self.tilt_x, tilt_y=self.tilt_y)

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
    def tilt(self) -> FloatArray | None:
        """Homography (3, 3) from the distorted plane to the tilted sensor; None without tilt."""
        if not (self.tilt_x or self.tilt_y):
            return None
        cos_x, sin_x = math.cos(self.tilt_x), math.sin(self.tilt_x)
        cos_y, sin_y = math.cos(self.tilt_y), math.sin(self.tilt_y)
        about_x = np.array([[1, 0, 0], [0, cos_x, sin_x], [0, -sin_x, cos_x]])
        about_y = np.array([[cos_y, 0, -sin_y], [0, 1, 0], [sin_y, 0, cos_y]])
        turned = about_y @ about_x
        # From there along the axis onto the sensor: the principal point stays where it is.
        x, y, z = turned[:, 2]
        return np.stack((z * turned[0] - x * turned[2], z * turned[1] - y * turned[2], turned[2]))

    def from_plane(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Directions (n, 3) with z = 1 of points (n,) of the sensor; NaN where no point reaches."""
        if self.tilt is not None:
            x, y = through_homography(np.linalg.inv(self.tilt).astype(np.float64), x, y)
        x, y = self.distortion.undistort(x, y)
        return np.stack((x, y, np.ones_like(x)), axis=1)

    def to_plane(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points (n,) of the sensor; NaN behind the camera and past the fold."""
        z = np.where(points[:, 2] > 0, points[:, 2], np.nan)
        x, y = self.distortion.distort_seen(points[:, 0] / z, points[:, 1] / z)
        return (x, y) if self.tilt is None else through_homography(self.tilt, x, y)
