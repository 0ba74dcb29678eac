"""Equirectangular: panoramas of longitude and latitude, up to 360 by 180 degrees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from rayrelief.cameras.panorama import Panorama
from rayrelief.cameras.radial import up_to
from rayrelief.conventions import FloatArray


@dataclass(frozen=True)
class Equirectangular(Panorama):
    """Panorama with x = longitude and y = latitude in radians, right and down from the z axis.

    fx and fy are in pixels per radian. Columns continue around the sphere without end; rows end at
    the poles, whose ray is (0, -1, 0) or (0, 1, 0) for every longitude.
    """

    @classmethod
    def full(cls, height: int, width: int) -> Self:
        """Panorama of 360 by 180 degrees with the z axis in the middle of the image."""
        fx, fy = width / (2 * math.pi), height / math.pi
        return cls(fx, fy, (width - 1) / 2, (height - 1) / 2, size=(width, height))

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
        return self.longitude(points, y), y


@dataclass(frozen=True)
class TransverseEquirectangular(Panorama):
    """Panorama with x = latitude and y = longitude in radians, right and down from the z axis.

    The poles are to the left and right: fx and fy are in pixels per radian, rows continue around
    the sphere without end, and columns end at the rays (-1, 0, 0) and (1, 0, 0). An image of
    360 degrees does not wrap: its first and last row are not connected.
    """

    around: ClassVar[int] = 1

    @property
    def spans_a_turn(self) -> bool:
        """Whether the first and the last row are neighbours on the sphere, though not connected."""
        return self.size is not None and self._upright.wraps(self.size[1])

    @cached_property
    def _upright(self) -> Equirectangular:
        """The panorama with x and y swapped, on its plane and in space."""
        size = None if self.size is None else (self.size[1], self.size[0])
        return Equirectangular(self.fy, self.fx, self.cy, self.cx, size=size)

    def from_plane(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Unit directions (n, 3) of points (n,); NaN past the poles."""
        return self._upright.from_plane(y, x)[:, [1, 0, 2]]

    def to_plane(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Latitude and longitude (n,) of points (n, 3); NaN for the origin alone."""
        y, x = self._upright.to_plane(points[:, [1, 0, 2]])
        return x, y
