"""Ideal fisheyes: radii that are simple functions of the angle off the axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rayrelief.cameras.radial import RadialCamera, up_to
from rayrelief.conventions import FloatArray


@dataclass(frozen=True)
class Equidistant(RadialCamera):
    """Fisheye with r = t, the angle off the axis, over the whole sphere; pixels per radian."""

    def direction_at(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sine and cosine of the angle off the axis at radii (n,), which is the radius itself."""
        angle = up_to(radius, math.pi)
        return np.sin(angle), np.cos(angle)

    def radius_of(self, across: FloatArray, along: FloatArray) -> FloatArray:
        """Radii (n,) of unit directions."""
        return np.arctan2(across, along)


@dataclass(frozen=True)
class Equisolid(RadialCamera):
    """Fisheye with r = 2 sin t/2, which keeps solid angles, over the whole sphere."""

    def direction_at(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sine and cosine of the angle off the axis at radii (n,)."""
        angle = 2 * np.arcsin(up_to(radius, 2.0) / 2)
        return np.sin(angle), np.cos(angle)

    def radius_of(self, across: FloatArray, along: FloatArray) -> FloatArray:
        """Radii (n,) of unit directions."""
        return 2 * np.sin(np.arctan2(across, along) / 2)


@dataclass(frozen=True)
class Stereographic(RadialCamera):
    """Fisheye with r = 2 tan t/2, which keeps angles; only the axis behind it is not seen."""

    def direction_at(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Components across and along the axis of the directions at radii (n,)."""
        return radius, 1 - radius * radius / 4

    def radius_of(self, across: FloatArray, along: FloatArray) -> FloatArray:
        """Radii (n,) of unit directions; infinite straight behind."""
        # Two forms of the tangent of t/2: each cancels in the other's half of the sphere.
        return np.where(along > 0, 2 * across / (1 + along), 2 * (1 - along) / across)
