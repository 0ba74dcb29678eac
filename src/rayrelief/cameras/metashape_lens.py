"""Metashape's lenses: four radial and four decentring terms, on three planes.

The lens is Brown's, whose decentring grows off the axis: with P = (P1, P2), P1 along x,

    x  ->  (1 + K1 r^2 + K2 r^4 + K3 r^6 + K4 r^8) x  +  (1 + P3 r^2 + P4 r^4) (2 (P.x) x + P r^2).

What the plane is tells a frame camera from the fisheyes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rayrelief.cameras.distortion import LensDistortion
from rayrelief.cameras.distortion_inverse import Distorted
from rayrelief.cameras.fisheye import Equidistant, Equisolid
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.lens import PERSPECTIVE, LensCamera
from rayrelief.conventions import FloatArray


@dataclass(frozen=True)
class GrowingDecentring(LensDistortion):
    """Distortion of points of a plane whose tangential terms are multiplied by 1 + c1 r^2 + c2 r^4.

    Attributes
    ----------
    growth
        c1 and c2.
    """

    growth: tuple[float, float] = (0.0, 0.0)

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is not regular
    def distort(self, x: FloatArray, y: FloatArray) -> Distorted:
        """Distort points of the plane, wherever they lie."""
        constant = super().distort(x, y)
        (p1, p2), (c1, c2) = self.tangential, self.growth
        r2 = x * x + y * y
        grown, bend = r2 * (c1 + c2 * r2), 2 * (c1 + 2 * c2 * r2)
        along, across = 2 * (p2 * x + p1 * y), 2 * (p1 * x + p2 * y)
        shift_x, shift_y = along * x + p2 * r2, along * y + p1 * r2
        x_x = constant.x_x + grown * (along + 4 * p2 * x) + bend * x * shift_x
        x_y = constant.x_y + grown * across + bend * y * shift_x
        y_x = constant.y_x + grown * across + bend * x * shift_y
        y_y = constant.y_y + grown * (along + 4 * p1 * y) + bend * y * shift_y
        determinant = x_x * y_y - x_y * y_x
        return Distorted(
            x=constant.x + grown * shift_x,
            y=constant.y + grown * shift_y,
            x_x=x_x,
            x_y=x_y,
            y_x=y_x,
            y_y=y_y,
            determinant=determinant,
            regular=(determinant > 0) & (x_x + y_y > 0),
        )

    def _bound(self, outer: float) -> float:
        """Radius beyond which no point closer than ``outer`` to the principal point is taken."""
        c1, c2 = self.growth
        grown = abs(c1) * outer**2 + abs(c2) * outer**4
        return super()._bound(outer) + 3 * math.hypot(*self.tangential) * outer**2 * grown


@dataclass(frozen=True)
class MetashapeLens(LensCamera):
    """Camera with Metashape's lens, whatever plane it distorts.

    Attributes
    ----------
    k1, k2, k3, k4
        Coefficients of r^2, r^4, r^6 and r^8 in the radial factor 1 + ...
    p1, p2
        Decentring along x and along y; OpenCV's p2 and p1, in this order.
    p3, p4
        Coefficients of r^2 and r^4 in the factor 1 + ... of the decentring.
    """

    k1: float = 0.0
    k2: float = 0.0
    k3: float = 0.0
    k4: float = 0.0
    p1: float = 0.0
    p2: float = 0.0
    p3: float = 0.0
    p4: float = 0.0

    ideal: ClassVar[IntrinsicCamera]

    @property
    def stages(self) -> tuple[GrowingDecentring]:
        """The distortion."""
        return (self.distortion,)

    @cached_property
    def distortion(self) -> GrowingDecentring:
        """The lens distortion on the plane."""
        return GrowingDecentring(
            numerator=(self.k1, self.k2, self.k3, self.k4),
            tangential=(self.p2, self.p1),
            growth=(self.p3, self.p4),
        )


@dataclass(frozen=True)
class MetashapeFrame(MetashapeLens):
    """Metashape's frame camera: the lens distorts the plane z = 1; focal lengths in pixels."""

    ideal: ClassVar[IntrinsicCamera] = PERSPECTIVE


@dataclass(frozen=True)
class MetashapeEquidistant(MetashapeLens):
    """Metashape's equidistant fisheye: the lens distorts the plane of r = t; pixels per radian."""

    ideal: ClassVar[IntrinsicCamera] = Equidistant(1, 1, 0, 0)


@dataclass(frozen=True)
class MetashapeEquisolid(MetashapeLens):
    """Metashape's equisolid fisheye: the lens distorts the plane of r = 2 sin t/2."""

    ideal: ClassVar[IntrinsicCamera] = Equisolid(1, 1, 0, 0)
