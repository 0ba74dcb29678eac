"""A table before the camera, and the vases that stand on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rayrelief.synthetic.shapes import Revolution, Vector


@dataclass(frozen=True)
class Table:
    """A level table before a camera that looks down on it; gives points in the camera frame.

    Attributes
    ----------
    pitch
        Degrees by which the camera looks down.
    distance, drop
        z and y of the table's centre in the camera frame.
    """

    pitch: float
    distance: float
    drop: float

    @property
    def up(self) -> Vector:
        """Unit vector away from the table."""
        pitch = math.radians(self.pitch)
        return 0.0, -math.cos(pitch), -math.sin(pitch)

    def at(self, right: float, away: float, height: float = 0.0) -> Vector:
        """Point by its way right, away from the camera and up, from the table's centre."""
        _, up_y, up_z = self.up
        y = self.drop + away * up_z + height * up_y
        return right, y, self.distance - away * up_y + height * up_z

    def away(self, slope: float) -> float:
        """How far away a ray (0, slope, 1) of the camera meets the table."""
        _, up_y, up_z = self.up
        return (self.drop - slope * self.distance) / (-slope * up_y - up_z)

    def level(self, degrees: float) -> Vector:
        """Direction along the table, turned from the right away from the camera."""
        turn = math.radians(degrees)
        _, up_y, up_z = self.up
        return math.cos(turn), math.sin(turn) * up_z, -math.sin(turn) * up_y


def lipped_vase(base: Vector, up: Vector, height: float) -> Revolution:
    """Vase with a belly, a neck and a lip."""
    heights = (0.0, 0.15, 0.42, 0.78, 0.92, 1.0)
    radii = (0.15, 0.215, 0.27, 0.1, 0.1, 0.15)
    return _profile(base, up, height, heights, radii)


def gourd(base: Vector, up: Vector, height: float) -> Revolution:
    """Vase with two bellies that closes in a round top."""
    heights = (0.0, 0.1, 0.28, 0.56, 0.78, 0.92, 1.0)
    radii = (0.13, 0.2, 0.23, 0.115, 0.135, 0.105, 0.0)
    return _profile(base, up, height, heights, radii)


def pear(base: Vector, up: Vector, height: float) -> Revolution:
    """Pear that stands flat and closes in a round top."""
    heights = (0.0, 0.15, 0.35, 0.65, 0.85, 1.0)
    radii = (0.27, 0.37, 0.39, 0.24, 0.17, 0.0)
    return _profile(base, up, height, heights, radii)


def _profile(
    base: Vector,
    up: Vector,
    height: float,
    heights: tuple[float, ...],
    radii: tuple[float, ...],
) -> Revolution:
    return Revolution.through(
        base, up, tuple(height * h for h in heights), tuple(height * r for r in radii)
    )
