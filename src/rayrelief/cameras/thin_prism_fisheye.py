"""Fisheyes with tangential and thin prism terms, as COLMAP and Project Aria calibrate them.

Both distort the plane of the equidistant fisheye: a direction t off the axis, t up to pi, is the
point (x, y) = t (cos phi, sin phi) there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rayrelief.cameras.distortion import LensDistortion
from rayrelief.cameras.fisheye import Equidistant
from rayrelief.cameras.lens import LensCamera, RadialTangentialLens


@dataclass(frozen=True)
class EquidistantLens(LensCamera, Equidistant):
    """Equidistant fisheye whose plane a lens distorts; focal lengths in pixels per radian."""

    @cached_property
    def ideal(self) -> Equidistant:
        """Fisheye whose plane the lens distorts."""
        return Equidistant(1, 1, 0, 0, widest=self.widest)


@dataclass(frozen=True)
class ThinPrismFisheye(RadialTangentialLens, EquidistantLens):
    """COLMAP's THIN_PRISM_FISHEYE; focal lengths in pixels per radian.

    Radial, tangential and thin prism terms add up, those of OpenCV first: k1, k2, p1, p2, k3. The
    radius on the plane is the angle t.

    Attributes
    ----------
    k4
        Coefficient of t^8 in the radial factor.
    s1, s2
        Thin prism coefficients of t^2 along x and along y; COLMAP's sx1 and sy1.
    """

    k4: float = 0.0
    s1: float = 0.0
    s2: float = 0.0

    @cached_property
    def stages(self) -> tuple[LensDistortion]:
        """All terms at once."""
        whole = LensDistortion(
            numerator=(self.k1, self.k2, self.k3, self.k4),
            tangential=(self.p1, self.p2),
            prism=(self.s1, 0.0, self.s2, 0.0),
        )
        return (whole,)


@dataclass(frozen=True)
class RadTanThinPrismFisheye(EquidistantLens):
    """COLMAP's RAD_TAN_THIN_PRISM_FISHEYE, Project Aria's Fisheye624; pixels per radian.

    Radial terms come first; tangential and thin prism terms distort what they lead to.

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

    @cached_property
    def stages(self) -> tuple[LensDistortion, LensDistortion]:
        """Radial terms, then tangential and thin prism terms on the plane that they lead to."""
        radial = (self.k0, self.k1, self.k2, self.k3, self.k4, self.k5)
        prism = (self.s0, self.s1, self.s2, self.s3)
        return (
            LensDistortion(numerator=radial),
            LensDistortion(tangential=(self.p1, self.p0), prism=prism),
        )
