"""Ideal fisheyes: radii that are simple functions of the angle off the axis."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from rayrelief.cameras.radial import RadialCamera, up_to
from rayrelief.checks import Rule
from rayrelief.conventions import FloatArray

_WIDEST = Rule(
    lambda angle: 0 < angle <= math.pi,
    "an angle off the axis above 0 and up to pi, in radians",
    "Give half the field of view, and convert it if it is in degrees",
)


@dataclass(frozen=True)
class IdealFisheye(RadialCamera):
    """Fisheye with a radius that increases with the angle off the axis up to its image circle.

    Attributes
    ----------
    widest
        Angle off the axis, in radians, up to which there are rays: half the field of view.
    """

    widest: float = field(default=math.pi, kw_only=True)

    rules: ClassVar[Mapping[str, Rule]] = {"widest": _WIDEST}

    def direction_at(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Components across and along the axis of the directions at radii (n,)."""
        return self._direction(up_to(radius, self._rim))

    def radius_of(self, across: FloatArray, along: FloatArray) -> FloatArray:
        """Radii (n,) of unit directions; not finite where not seen."""
        return up_to(self._radius(across, along), self._rim)

    @abstractmethod
    def _direction(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Directions without regard to the image circle."""

    @abstractmethod
    def _radius(self, across: FloatArray, along: FloatArray) -> FloatArray:
        """Radii without regard to the image circle."""

    @cached_property
    def _rim(self) -> float:
        """Radius of the image circle. It ends both sides, so that they agree where r is flat."""
        across, along = np.sin(np.array([self.widest])), np.cos(np.array([self.widest]))
        with np.errstate(divide="ignore"):
            return float(self._radius(across, along)[0])


@dataclass(frozen=True)
class Equidistant(IdealFisheye):
    """Fisheye with r = t, the angle off the axis, over the whole sphere; pixels per radian."""

    def _direction(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.sin(radius), np.cos(radius)

    def _radius(self, across: FloatArray, along: FloatArray) -> FloatArray:
        return np.arctan2(across, along)


@dataclass(frozen=True)
class Equisolid(IdealFisheye):
    """Fisheye with r = 2 sin t/2, which keeps solid angles, over the whole sphere."""

    def _direction(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        angle = 2 * np.arcsin(radius / 2)
        return np.sin(angle), np.cos(angle)

    def _radius(self, across: FloatArray, along: FloatArray) -> FloatArray:
        return 2 * np.sin(np.arctan2(across, along) / 2)


@dataclass(frozen=True)
class Stereographic(IdealFisheye):
    """Fisheye with r = 2 tan t/2, which keeps angles; the axis behind it is never seen."""

    def _direction(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        return radius, 1 - radius * radius / 4

    def _radius(self, across: FloatArray, along: FloatArray) -> FloatArray:
        # Two forms of the tangent of t/2: each cancels in the other's half of the sphere.
        return np.where(along > 0, 2 * across / (1 + along), 2 * (1 - along) / across)
