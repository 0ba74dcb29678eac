"""Fisheyes with tangential and thin prism terms, as COLMAP and Project Aria calibrate them.

Both distort the plane of the equidistant fisheye: a direction t off the axis, t up to pi, is the
point (x, y) = t (cos phi, sin phi) there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from rayrelief.cameras.distortion import LensDistortion
from rayrelief.cameras.fisheye import Equidistant
from rayrelief.conventions import FloatArray


@dataclass(frozen=True)
class ThinPrismFisheye(Equidistant):
    """COLMAP's THIN_PRISM_FISHEYE; focal lengths in pixels per radian.

    Radial, tangential and thin prism terms add up. Directions beyond the fold, where the image
    would turn back, are not seen, and pixels that no direction within it reaches have no ray.

    Attributes
    ----------
    k1, k2, k3, k4
        Coefficients of t^2, t^4, t^6 and t^8 in the radial factor 1 + ...
    p1, p2
        Tangential coefficients in OpenCV's order and sign.
    s1, s2
        Thin prism coefficients of t^2 along x and along y; COLMAP's sx1 and sy1.
    """

    k1: float = 0.0
    k2: float = 0.0
    p1: float = 0.0
    p2: float = 0.0
    k3: float = 0.0
    k4: float = 0.0
    s1: float = 0.0
    s2: float = 0.0

    iterative: ClassVar[bool] = True

    @cached_property
    def distortion(self) -> LensDistortion:
        """The lens distortion on the plane of angles."""
        return LensDistortion(
            numerator=(self.k1, self.k2, self.k3, self.k4),
            tangential=(self.p1, self.p2),
            prism=(self.s1, 0.0, self.s2, 0.0),
        )

    def from_plane(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Unit directions (n, 3) of points (n,) of the distorted plane; NaN where there is none."""
        return super().from_plane(*self.distortion.undistort(x, y))

    def to_plane(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points (n,) of the distorted plane of points (n, 3); NaN past the fold."""
        return self.distortion.distort_seen(*super().to_plane(points))


@dataclass(frozen=True)
class RadTanThinPrismFisheye(Equidistant):
    """COLMAP's RAD_TAN_THIN_PRISM_FISHEYE, Project Aria's Fisheye624; pixels per radian.

    Radial terms come first; tangential and thin prism terms distort what they lead to. Directions
    beyond a fold are not seen, and pixels that no direction within it reaches have no ray.

    Attributes
    ----------
    k0, k1, k2, k3, k4, k5
        Coefficients of t^2, t^4, ... t^12 in the radial factor 1 + ...
    p0, p1
        Tangential coefficients; OpenCV's p2 and p1, in this order.
    s0, s1, s2, s3
        Thin prism coefficients of r^2 and r^4 along x, then along y.
    """

    k0: float = 0.0
    k1: float = 0.0
    k2: float = 0.0
    k3: float = 0.0
    k4: float = 0.0
    k5: float = 0.0
    p0: float = 0.0
    p1: float = 0.0
    s0: float = 0.0
    s1: float = 0.0
    s2: float = 0.0
    s3: float = 0.0

    iterative: ClassVar[bool] = True

    @cached_property
    def radial(self) -> LensDistortion:
        """The radial terms on the plane of angles."""
        coefficients = (self.k0, self.k1, self.k2, self.k3, self.k4, self.k5)
        return LensDistortion(numerator=coefficients)

    @cached_property
    def decentring(self) -> LensDistortion:
        """What tangential and thin prism terms do to the radially distorted plane."""
        return LensDistortion(
            tangential=(self.p1, self.p0), prism=(self.s0, self.s1, self.s2, self.s3)
        )

    def from_plane(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Unit directions (n, 3) of points (n,) of the distorted plane; NaN where there is none."""
        return super().from_plane(*self.radial.undistort(*self.decentring.undistort(x, y)))

    def to_plane(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points (n,) of the distorted plane of points (n, 3); NaN past a fold."""
        return self.decentring.distort_seen(*self.radial.distort_seen(*super().to_plane(points)))
