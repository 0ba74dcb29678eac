"""Pinhole: the ideal perspective camera."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rayrelief.cameras.base import WIDEST_Z_RAY_DEGREES
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.checks import COUNTS, is_number
from rayrelief.conventions import FloatArray
from rayrelief.errors import CameraError


@dataclass(frozen=True)
class Pinhole(IntrinsicCamera):
    """Ideal perspective camera; lengths in pixels, pixel centres at integers."""

    @classmethod
    def from_fov(cls, degrees: float, height: int, width: int) -> Pinhole:
        """Pinhole with a field of view across the longer side and a centred principal point."""
        COUNTS.check("height", height)
        COUNTS.check("width", width)
        if not is_number(degrees) or not 0.0 < degrees < 180.0:
            raise CameraError(
                f"a field of view of {degrees!r} degrees",
                expected="an angle between 0 and 180 degrees",
                remedy="Give the angle across the longer side of the image, for example 60",
            )
        f = 0.5 * max(height, width) / math.tan(math.radians(degrees) / 2)
        return cls(f, f, (width - 1) / 2, (height - 1) / 2, size=(width, height))

    @classmethod
    def cube_face(cls, side: int) -> Pinhole:
        """Face of a cube map: 90 degrees across, looking along the axis of the face."""
        return cls.from_fov(90.0, side, side)

    def from_plane(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Directions (n, 3) with z = 1 of points (n,) of the plane z = 1."""
        return np.stack((x, y, np.ones_like(x)), axis=1)

    def to_plane(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points (n,) of the plane z = 1; NaN for points not in front."""
        z = np.where(points[:, 2] > 0, points[:, 2], np.nan)
        return points[:, 0] / z, points[:, 1] / z

    def rays(self, height: int, width: int) -> FloatArray:
        """Ray of every pixel, (height, width, 3); without detours where all can have z = 1."""
        self.check_resolution(height, width)
        if self.skew:
            return super().rays(height, width)
        x = (np.arange(width) - self.cx) / self.fx
        y = (np.arange(height) - self.cy) / self.fy
        corner = math.hypot(np.abs(x).max(), np.abs(y).max())  # no ray is farther off the axis
        if not corner <= math.tan(math.radians(WIDEST_Z_RAY_DEGREES)):
            return super().rays(height, width)
        rays = np.empty((height, width, 3))
        rays[..., 0] = x
        rays[..., 1] = y[:, None]
        rays[..., 2] = 1.0
        return rays
