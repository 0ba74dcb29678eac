"""Equirectangular: the panorama of longitude and latitude, up to 360 by 180 degrees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from rayrelief.cameras.cylindrical import longitude, spans_a_turn
from rayrelief.cameras.plane import PlaneCamera
from rayrelief.cameras.radial import up_to
from rayrelief.conventions import FloatArray


@dataclass(frozen=True)
class Equirectangular(PlaneCamera):
    """Panorama with x = longitude and y = latitude in radians, right and down from the z axis.

    fx and fy are in pixels per radian. Columns continue around the sphere without end; rows end at
    the poles, whose ray is (0, -1, 0) or (0, 1, 0) for every longitude.
    """

    panoramic: ClassVar[bool] = True

    @classmethod
    def full(cls, height: int, width: int) -> Self:
        """Panorama of 360 by 180 degrees with the z axis in the middle of the image."""
        fx, fy = width / (2 * math.pi), height / math.pi
        return cls(fx, fy, (width - 1) / 2, (height - 1) / 2, size=(width, height))

    def wraps(self, width: int) -> bool:
        """Whether the last column of an image of this width is a neighbour of the first one."""
        return spans_a_turn(self, width)

    def from_plane(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Unit directions (n, 3) of points (n,); NaN past the poles."""
        x = np.where(np.isfinite(x), x, np.nan)
        latitude = np.copysign(up_to(np.abs(y), math.pi / 2), y)
        across = np.cos(latitude)
        return np.stack((across * np.sin(x), np.sin(latitude), across * np.cos(x)), axis=1)

    def to_plane(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Longitude and latitude (n,) of points (n, 3); NaN for the origin alone."""
        across = np.hypot(points[:, 0], points[:, 2])
        nowhere = (across == 0) & (points[:, 1] == 0)
        y = np.where(nowhere, np.nan, np.arctan2(points[:, 1], across))
        return longitude(self, points, y), y
