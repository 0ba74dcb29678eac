"""Division: radial distortion whose inverse, not itself, is the simple formula (Fitzgibbon)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rayrelief.cameras.radial import RIM, RadialCamera, up_to
from rayrelief.conventions import FloatArray

# Relative to the radius of the fold. Rays turn back there, and as close to it as this they tell
# their pixels apart with two thirds of their digits only: 1e-6 pixels at a radius of 1e5 pixels.
FOLD_MARGIN = 1e-4


@dataclass(frozen=True)
class Division(RadialCamera):
    """The point (x, y) of the plane sees the direction (x, y, 1 + k r^2); focal lengths in pixels.

    A barrel distortion (k < 0) passes 90 degrees off the axis where 1 + k r^2 = 0 and sees all but
    the axis behind. With a pincushion distortion (k > 0) the angle is largest at k r^2 = 1, where
    its tangent is 1 / (2 sqrt k): farther out directions repeat, farther off nothing is seen.

    Attributes
    ----------
    k
        Coefficient as in COLMAP's DIVISION; 0 makes a pinhole.
    """

    k: float

    def direction_at(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Components across and along the axis of the directions at radii (n,)."""
        radius = up_to(radius, self._reach)
        return radius, 1 + self.k * radius * radius

    def radius_of(self, across: FloatArray, along: FloatArray) -> FloatArray:
        """Radii (n,) of unit directions: the lesser root of k r^2 - r along/across + 1 = 0."""
        root = np.sqrt(np.maximum(along * along - 4 * self.k * across * across, 0))
        if self.k < 0:  # the second form is the one that does not cancel behind the camera
            behind = (root - along) / (-2 * self.k * across)
            return np.where(along > 0, 2 * across / (along + root), behind)
        if self.k == 0:
            return np.where(along > 0, across / along, np.nan)
        widest = self._reach / (1 + (1 - FOLD_MARGIN) ** 2)
        seen = across <= widest * (1 + RIM) * along
        return np.where(seen, np.minimum(2 * across / (along + root), self._reach), np.nan)

    @property
    def _reach(self) -> float:
        return (1 - FOLD_MARGIN) / math.sqrt(self.k) if self.k > 0 else math.inf
