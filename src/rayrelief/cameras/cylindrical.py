"""Cylindrical: a panorama on a cylinder around the y axis, and what panoramas share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from rayrelief.cameras.plane import PlaneCamera
from rayrelief.conventions import FloatArray
from rayrelief.errors import CameraError

# Pixels between the width of an image and a whole turn that are still the same.
TURN_TOLERANCE = 0.01


@dataclass(frozen=True)
class Cylindrical(PlaneCamera):
    """Panorama with x = azimuth, in radians, and y = height on the unit cylinder; right and down.

    fx is in pixels per radian, fy in pixels. Columns continue around the cylinder without end.
    """

    panoramic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size is not None:
            check_turn(self.size[0], self.fx)

    @classmethod
    def full(cls, height: int, width: int) -> Self:
        """Panorama of 360 degrees with square pixels, the z axis in the middle of the image."""
        f = width / (2 * math.pi)
        return cls(f, f, (width - 1) / 2, (height - 1) / 2, size=(width, height))

    def wraps(self, width: int) -> bool:
        """Whether the last column of an image of this width is a neighbour of the first one."""
        return spans_a_turn(self, width)

    def from_plane(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Directions (n, 3) of points (n,): they end on the unit cylinder."""
        x = np.where(np.isfinite(x), x, np.nan)
        return np.stack((np.sin(x), y, np.cos(x)), axis=1)

    def to_plane(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Azimuth and height (n,) of points (n, 3); NaN on the axis of the cylinder."""
        across = np.hypot(points[:, 0], points[:, 2])
        y = np.divide(points[:, 1], across, out=np.full_like(across, np.nan), where=across > 0)
        return longitude(self, points, y), y


def longitude(camera: PlaneCamera, points: FloatArray, y: FloatArray) -> FloatArray:
    """Angle (n,) around the y axis of points (n, 3), from z to x, in radians.

    Of all turns it is the one next to the middle of the image, in the row y of the plane (n,): in
    the image if that spans a turn. Points on the axis, which have every longitude, get the middle.
    """
    centre = camera.cx if camera.size is None else (camera.size[0] - 1) / 2
    middle = (centre - camera.cx - camera.skew * y) / camera.fx
    x, z = points[:, 0], points[:, 2]
    angle = np.where((x == 0) & (z == 0), middle, np.arctan2(x, z))
    angle = np.where(np.isfinite(points).all(axis=1), angle, np.nan)
    return angle + 2 * math.pi * np.rint((middle - angle) / (2 * math.pi))


def check_turn(pixels: int, per_radian: float) -> None:
    """Raise CameraError for an image that shows a direction again further around."""
    if pixels > 1 and pixels - 1 > 2 * math.pi * per_radian - TURN_TOLERANCE:
        raise CameraError(
            f"{pixels} pixels around the axis at {per_radian:g} pixels per radian, which are "
            f"{math.degrees(pixels / per_radian):.6g} degrees",
            expected="a turn at most, so that no two pixels see the same",
            remedy=f"Check the focal length, {pixels / (2 * math.pi):.6g} for a whole turn; an "
            "image that ends as it begins is cut to a turn first",
        )


def spans_a_turn(camera: PlaneCamera, width: int) -> bool:
    """Whether an image of this width goes once around, to a hundredth of a pixel."""
    return abs(width - 2 * math.pi * camera.fx) < TURN_TOLERANCE
