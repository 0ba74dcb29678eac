"""Pinhole: the ideal perspective camera."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
import numpy.typing as npt

from rayrelief.cameras.base import WIDEST_Z_RAY_DEGREES, Camera
from rayrelief.conventions import FloatArray
from rayrelief.errors import CameraError

# Pixels. Beyond them neighbouring rays are parallel, or at right angles, to the digits of floats.
FOCAL_LENGTHS = (1e-3, 1e8)


@dataclass(frozen=True)
class Pinhole(Camera):
    """Ideal perspective camera; lengths in pixels, pixel centres at integers.

    Attributes
    ----------
    fx, fy
        Focal lengths along u and v.
    cx, cy
        Principal point.
    size
        (width, height) that the calibration is for, or None to accept any image.
    """

    fx: float
    fy: float
    cx: float
    cy: float
    size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        check_intrinsics(self.fx, self.fy, self.cx, self.cy)

    @classmethod
    def from_fov(cls, degrees: float, height: int, width: int) -> Pinhole:
        """Pinhole with a field of view across the longer side and a centred principal point."""
        if not 0.0 < degrees < 180.0:
            raise CameraError(
                f"a field of view of {degrees} degrees",
                expected="an angle between 0 and 180 degrees",
                remedy="Give the angle across the longer side of the image, for example 60",
            )
        f = 0.5 * max(height, width) / math.tan(math.radians(degrees) / 2)
        return cls(f, f, (width - 1) / 2, (height - 1) / 2, size=(width, height))

    @property
    def resolution(self) -> tuple[int, int] | None:
        """(width, height) that the calibration is for, or None."""
        return self.size

    def directions(self, pixels: FloatArray) -> FloatArray:
        """Directions (..., 3) with z = 1 seen by pixels (..., 2)."""
        x = (pixels[..., 0] - self.cx) / self.fx
        y = (pixels[..., 1] - self.cy) / self.fy
        return np.stack((x, y, np.ones_like(x)), axis=-1)

    def rays(self, height: int, width: int) -> FloatArray:
        """Ray of every pixel, (height, width, 3); without detours where all can have z = 1."""
        self.check_resolution(height, width)
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

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Pixels (..., 2) of points (..., 3) in the camera frame; NaN for points not in front."""
        points = np.asarray(points, dtype=np.float64)
        z = np.where(points[..., 2] > 0, points[..., 2], np.nan)
        with np.errstate(over="ignore"):  # grazing points overflow to "not seen"
            u = self.fx * points[..., 0] / z + self.cx
            v = self.fy * points[..., 1] / z + self.cy
        pixels = np.stack((u, v), axis=-1)
        return np.where(np.isfinite(pixels).all(axis=-1, keepdims=True), pixels, np.nan)


def check_intrinsics(fx: float, fy: float, cx: float, cy: float) -> None:
    """Raise CameraError unless the focal lengths are within reason and everything is finite."""
    for name, value in (("fx", fx), ("fy", fy), ("cx", cx), ("cy", cy)):
        if not isinstance(value, Real):
            raise CameraError(
                f"{name} is {value!r}",
                expected="a number, in pixels",
                remedy="Check the camera matrix",
            )
    shortest, longest = FOCAL_LENGTHS
    if not (shortest <= fx <= longest and shortest <= fy <= longest):
        parallel = max(fx, fy) > longest
        raise CameraError(
            f"focal lengths fx = {fx}, fy = {fy}",
            expected=f"two numbers from {shortest:g} to {longest:g}, in pixels",
            remedy="Rays that are as good as parallel are those of an Orthographic camera"
            if parallel
            else "Check the camera matrix and its units",
        )
    if not (math.isfinite(cx) and math.isfinite(cy)):
        raise CameraError(
            f"principal point cx = {cx}, cy = {cy}",
            expected="two finite numbers, in pixels",
            remedy="Check the camera matrix",
        )


def check_principal_point(camera: Pinhole, height: int, width: int) -> None:
    """Raise CameraError if the principal point is more than an image size outside of the image."""
    if -width <= camera.cx <= 2 * width and -height <= camera.cy <= 2 * height:
        return
    raise CameraError(
        f"a principal point at ({camera.cx:g}, {camera.cy:g}), "
        f"far outside of the {width}x{height} image (width x height)",
        expected="a principal point in or near the image",
        remedy="Check that the calibration is for this resolution, and its units (pixels)",
    )
