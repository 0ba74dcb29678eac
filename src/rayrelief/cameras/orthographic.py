"""Orthographic: parallel rays, one per pixel."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rayrelief.cameras.base import Camera, as_vectors, check_part, check_size, pixel_grid
from rayrelief.checks import is_number
from rayrelief.conventions import FloatArray
from rayrelief.errors import CameraError

PIXEL_SIZES = (1e-12, 1e12)  # beyond them squares leave the range of single precision


@dataclass(frozen=True)
class Orthographic(Camera):
    """Camera with parallel rays along z: a pixel sees p = origin + z * (0, 0, 1).

    Attributes
    ----------
    pixel_size
        Side of a pixel in the unit of the depth; 1 gives the depth in pixels.
    cx, cy
        Pixel that looks along the z axis.
    size
        (width, height) that the camera is for, or None to accept any image.
    """

    pixel_size: float = 1.0
    cx: float = 0.0
    cy: float = 0.0
    size: tuple[int, int] | None = field(default=None, kw_only=True)

    central: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_size(self.size)
        smallest, largest = PIXEL_SIZES
        if not (is_number(self.pixel_size) and smallest <= self.pixel_size <= largest):
            raise CameraError(
                f"a pixel size of {self.pixel_size}",
                expected=f"a number from {smallest:g} to {largest:g}, in the unit of the depth",
                remedy="Leave it at 1 to get the depth in pixels",
            )
        if not (is_number(self.cx) and is_number(self.cy)):
            raise CameraError(
                f"principal point cx = {self.cx}, cy = {self.cy}",
                expected="two finite numbers, in pixels",
                remedy="Leave them at 0 to start at the first pixel",
            )

    @property
    def resolution(self) -> tuple[int, int] | None:
        """(width, height) that the camera is for, or None."""
        return self.size

    def crop(self, left: int, top: int, width: int, height: int) -> Orthographic:
        """Camera of a part of the image, whose first pixel is (left, top)."""
        check_part(self.size, (left, top, width, height))
        return replace(self, cx=self.cx - left, cy=self.cy - top, size=(width, height))

    def resize(self, width: int, height: int) -> Orthographic:
        """Camera of the image scaled to another size; pixels stay square."""
        old_width, old_height = self.known_resolution()
        check_size((width, height))
        s, t = width / old_width, height / old_height
        if abs(old_height * s - height) >= 1 and abs(old_width * t - width) >= 1:  # not by rounding
            raise CameraError(
                f"{old_width}x{old_height} pixels scaled to {width}x{height} (width x height)",
                expected="the same factor for both, since the pixels of this camera are square",
                remedy="Scale the map evenly",
            )
        return replace(
            self,
            pixel_size=self.pixel_size / s,
            cx=(self.cx + 0.5) * s - 0.5,
            cy=(self.cy + 0.5) * t - 0.5,
            size=(width, height),
        )

    def directions(self, pixels: FloatArray) -> FloatArray:
        """Directions (..., 3) of pixels (..., 2): all (0, 0, 1)."""
        directions = np.zeros((*as_vectors(pixels, 2).shape[:-1], 3))
        directions[..., 2] = 1.0
        return directions

    def origins(self, height: int, width: int) -> FloatArray:
        """Point (height, width, 3) on the plane z = 0 where the ray of each pixel starts."""
        offset = (pixel_grid(height, width) - (self.cx, self.cy)) * self.pixel_size
        return np.concatenate((offset, np.zeros((height, width, 1))), axis=-1)

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Pixels (..., 2) of points (..., 3) in the camera frame."""
        return as_vectors(points, 3)[..., :2] / self.pixel_size + (self.cx, self.cy)
