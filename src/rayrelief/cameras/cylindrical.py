"""Cylindrical: a panorama on a cylinder around the y axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from rayrelief.cameras.panorama import Panorama
from rayrelief.conventions import FloatArray


@dataclass(frozen=True)
class Cylindrical(Panorama):
    """Panorama with x = azimuth, in radians, and y = height on the unit cylinder; right and down.

    fx is in pixels per radian, fy in pixels. Columns continue around the cylinder without end.
    """

    @classmethod
    def full(cls, height: int, width: int) -> Self:
        """Panorama of 360 degrees with square pixels, the z axis in the middle of the image."""
        f = width / (2 * math.pi)
        return cls(f, f, (width - 1) / 2, (height - 1) / 2, size=(width, height))

    def from_plane(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Directions (n, 3) of points (n,): they end on the unit cylinder."""
        x = np.where(np.isfinite(x), x, np.nan)
        return np.stack((np.sin(x), y, np.cos(x)), axis=1)

    def to_plane(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Azimuth and height (n,) of points (n, 3); NaN on the axis of the cylinder."""
        across = np.hypot(points[:, 0], points[:, 2])
        y = np.divide(points[:, 1], across, out=np.full_like(across, np.nan), where=across > 0)
        return self.longitude(points, y), y
