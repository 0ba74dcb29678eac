"""Polynomial fisheye: the angle as a polynomial of the radius, as Blender renders it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rayrelief.cameras.fisheye import IdealFisheye
from rayrelief.cameras.radial import RisingFunction, first_failure
from rayrelief.checks import Rule
from rayrelief.conventions import BoolArray, FloatArray

SMALLEST_K1 = 1e-9
_K1 = Rule(
    lambda k1: k1 >= SMALLEST_K1,
    f"a number >= {SMALLEST_K1:g}: the angle increases with the radius",
    "Change the signs of all coefficients if they come from Blender",
)

# Where the angle rises by less than this part of k1, pixels see as good as the same direction.
FLATTEST = 1e-3

# Parts of the radius of a lens without other terms: steps of 0.1 %, as far as FLATTEST allows.
RADII = np.concatenate(([0.0], np.geomspace(1e-4, 1 / FLATTEST, 1 << 14)))

# What is nearer than this part of the rim, and of the widest angle, is the axis up to rounding.
CENTRE = 1e-10


@dataclass(frozen=True)
class PolynomialFisheye(IdealFisheye):
    """Fisheye with t = k0 + k1 r + k2 r^2 + k3 r^3 + k4 r^4, up to where it stops increasing.

    The focal lengths are in pixels per unit of r: per millimetre if that is what r is measured in.
    The principal point sees the axis. Around it a bias k0 leaves a gap: of directions that no pixel
    sees if it is above 0, and of pixels whose angle would be negative if it is below.

    Attributes
    ----------
    k0, k1, k2, k3, k4
        Coefficients, in radians; those of Blender have the opposite sign.
    """

    k0: float
    k1: float
    k2: float = 0.0
    k3: float = 0.0
    k4: float = 0.0

    rules: ClassVar[Mapping[str, Rule]] = {**IdealFisheye.rules, "k1": _K1}

    @cached_property
    def profile(self) -> RisingFunction:
        """Angle beyond that of the first radius, as a function of the radius beyond that one."""
        least = self._least

        def rise(beyond: FloatArray) -> tuple[FloatArray, FloatArray]:
            angle, slope = self._angle_and_slope(self._first + beyond)
            return angle - least, slope

        return RisingFunction(rise, self._rim - self._first)

    def _direction(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        angle = np.where(radius >= self._first, self._angle_and_slope(radius)[0], np.nan)
        angle = np.where(radius <= CENTRE * self._rim, 0.0, angle)
        return np.sin(angle), np.cos(angle)

    def _radius(self, across: FloatArray, along: FloatArray) -> FloatArray:
        angle = np.arctan2(across, along)
        radius = self._first + self.profile.inverse(angle - self._least)
        return np.where(angle <= CENTRE * self.widest, 0.0, radius)

    @cached_property
    def _rim(self) -> float:
        """Radius where the angle is the widest one, or as good as stops increasing."""
        return min(first_failure(self._rises, self._radii), float(self._radii[-1]))

    @cached_property
    def _first(self) -> float:
        """Least radius, up to the rim, whose angle is not negative."""
        if self.k0 >= 0:
            return 0.0
        return min(first_failure(self._is_negative, self._radii), self._rim)

    @cached_property
    def _least(self) -> float:
        """Angle at the first radius."""
        return float(self._angle_and_slope(np.array([self._first]))[0][0])

    @cached_property
    def _radii(self) -> FloatArray:
        """Radii (m,) from 0 to where any lens has ended."""
        return RADII * ((self.widest + abs(self.k0)) / self.k1)

    @np.errstate(over="ignore", invalid="ignore")
    def _rises(self, radius: FloatArray) -> BoolArray:
        angle, slope = self._angle_and_slope(radius)
        return (angle < self.widest) & (slope > FLATTEST * self.k1)

    @np.errstate(over="ignore", invalid="ignore")
    def _is_negative(self, radius: FloatArray) -> BoolArray:
        negative: BoolArray = self._angle_and_slope(radius)[0] < 0
        return negative

    def _angle_and_slope(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        k0, k1, k2, k3, k4 = self.k0, self.k1, self.k2, self.k3, self.k4
        angle = k0 + radius * (k1 + radius * (k2 + radius * (k3 + radius * k4)))
        slope = k1 + radius * (2 * k2 + radius * (3 * k3 + radius * 4 * k4))
        return angle, slope
