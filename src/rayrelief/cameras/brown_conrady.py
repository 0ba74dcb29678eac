"""Brown-Conrady: a perspective camera whose lens distorts, as OpenCV calibrates it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rayrelief.cameras.base import Camera, in_blocks
from rayrelief.cameras.distortion import RationalDistortion
from rayrelief.cameras.pinhole import check_intrinsics
from rayrelief.conventions import FloatArray
from rayrelief.errors import CameraError

# A ray is trusted if it projects this close to its pixel.
REPROJECTION_TOLERANCE = 1e-6


@dataclass(frozen=True)
class BrownConrady(Camera):
    """Perspective camera with OpenCV's rational lens distortion; focal lengths in pixels.

    A strong distortion folds the image over at some radius. Points beyond the fold are not seen,
    and pixels that no point within it reaches have no ray.

    Attributes
    ----------
    fx, fy
        Focal lengths along u and v.
    cx, cy
        Principal point; pixel centres at integers.
    k1, k2, p1, p2, k3, k4, k5, k6
        Radial (k) and tangential (p) coefficients in OpenCV's order and sign.
    size
        (width, height) that the calibration is for, or None to accept any image.
    """

    fx: float
    fy: float
    cx: float
    cy: float
    k1: float = 0.0
    k2: float = 0.0
    p1: float = 0.0
    p2: float = 0.0
    k3: float = 0.0
    k4: float = 0.0
    k5: float = 0.0
    k6: float = 0.0
    size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        check_intrinsics(self.fx, self.fy, self.cx, self.cy)
        coefficients = asdict(self.distortion)
        broken = [f"{k} = {v}" for k, v in coefficients.items() if not math.isfinite(v)]
        if broken:
            raise CameraError(
                "distortion coefficients " + ", ".join(broken),
                expected="finite numbers",
                remedy="Check the calibration; a coefficient that is not used is 0",
            )

    @property
    def resolution(self) -> tuple[int, int] | None:
        """(width, height) that the calibration is for, or None."""
        return self.size

    @cached_property
    def distortion(self) -> RationalDistortion:
        """The lens distortion on the plane z = 1."""
        return RationalDistortion(
            self.k1, self.k2, self.p1, self.p2, self.k3, self.k4, self.k5, self.k6
        )

    def directions(self, pixels: FloatArray) -> FloatArray:
        """Directions (..., 3) with z = 1 seen by pixels (..., 2); NaN where no point reaches."""
        return in_blocks(self._directions, pixels, 3)

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Pixels (..., 2) of points (..., 3) in the camera frame; NaN behind and past the fold."""
        return in_blocks(self._project, points, 2)

    def _directions(self, pixels: FloatArray) -> FloatArray:
        x, y = self.distortion.undistort(
            (pixels[:, 0] - self.cx) / self.fx, (pixels[:, 1] - self.cy) / self.fy
        )
        missed = np.linalg.norm(self._pixels(x, y) - pixels, axis=1)
        directions = np.stack((x, y, np.ones_like(x)), axis=1)
        directions[~(missed <= REPROJECTION_TOLERANCE)] = np.nan
        return directions

    def _project(self, points: FloatArray) -> FloatArray:
        z = np.where(points[:, 2] > 0, points[:, 2], np.nan)
        with np.errstate(over="ignore", invalid="ignore"):  # grazing points overflow to "not seen"
            x, y = points[:, 0] / z, points[:, 1] / z
            pixels = self._pixels(x, y)
            pixels[~self.distortion.on_branch(x, y)] = np.nan
        return pixels

    def _pixels(self, x: FloatArray, y: FloatArray) -> FloatArray:
        distorted = self.distortion.distort(x, y)
        u = self.fx * distorted.x + self.cx
        v = self.fy * distorted.y + self.cy
        return np.stack((u, v), axis=1)
