"""Panorama: what cameras share whose columns, or rows, are angles around an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.conventions import FloatArray
from rayrelief.errors import CameraError

# Pixels between the width of an image and a whole turn that are still the same.
TURN_TOLERANCE = 0.01


@dataclass(frozen=True)
class Panorama(IntrinsicCamera):
    """Camera that sees up to 360 degrees around an axis; fx, or fy for rows, in px per radian."""

    panoramic: ClassVar[bool] = True

    around: ClassVar[int] = 0
    """What goes around: 0 for columns, 1 for rows."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size is not None:
            check_turn(self.size[self.around], (self.fx, self.fy)[self.around])

    def wraps(self, width: int) -> bool:
        """Whether the last column of an image of this width is a neighbour of the first one."""
        return self.around == 0 and abs(width - 2 * math.pi * self.fx) < TURN_TOLERANCE

    def longitude(self, points: FloatArray, y: FloatArray) -> FloatArray:
        """Angle (n,) around the y axis of points (n, 3), from z to x, in radians.

        Of all turns it is the one next to the middle of the image, in the row y of the plane (n,):
        in the image if that spans a turn. Points on the axis, which have every longitude, get the
        middle.
        """
        centre = self.cx if self.size is None else (self.size[0] - 1) / 2
        middle = (centre - self.cx - self.skew * y) / self.fx
        x, z = points[:, 0], points[:, 2]
        angle = np.where((x == 0) & (z == 0), middle, np.arctan2(x, z))
        angle = np.where(np.isfinite(points).all(axis=1), angle, np.nan)
        return angle + 2 * math.pi * np.rint((middle - angle) / (2 * math.pi))


def check_turn(pixels: int, per_radian: float) -> None:
    """Raise CameraError for an image that shows a direction again further around."""
    if pixels > 1 and pixels - 1 > 2 * math.pi * per_radian - TURN_TOLERANCE:
        raise CameraError(
            f"{pixels} pixels around the axis at {per_radian:g} pixels per radian, which is "
            f"{math.degrees(pixels / per_radian):.6g} degrees",
            expected="at most 360 degrees, so that no two pixels have the same ray",
            remedy=f"Check the focal length, {pixels / (2 * math.pi):.6g} for 360 degrees; crop "
            "an image whose end repeats its beginning",
        )
