"""Radial cameras: pixel and direction share their azimuth, so that one radius tells one angle.

A model then is a curve: which radius on the plane belongs to which direction in the half plane of
the axis and the point. Where the curve has no closed inverse, ``RisingFunction`` finds it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.conventions import BoolArray, FloatArray

# What is this little, relatively, past the rim of the valid area is there by rounding alone.
RIM = 1e-12

SEARCH_SAMPLES = 1 << 14
BISECTIONS = 60

TABLE_CELLS = 1 << 10
NEWTON_STEPS = 60
NEWTON_TOLERANCE = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class RadialCamera(IntrinsicCamera):
    """A camera without any preferred azimuth: on its plane and around the axis alike."""

    @abstractmethod
    def direction_at(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Components across and along the axis of the directions (n,) seen at radii (n,).

        They may have any length, and are NaN where there is no direction.
        """

    @abstractmethod
    def radius_of(self, across: FloatArray, along: FloatArray) -> FloatArray:
        """Radii (n,) of unit directions with components across (>= 0) and along the axis.

        Not finite where not seen.
        """

    def from_plane(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Directions (n, 3), of any length, of points (n,) of the plane; NaN where none is."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            radius = np.hypot(x, y)
            across, along = self.direction_at(radius)
            scale = np.divide(across, radius, out=np.zeros_like(radius), where=radius > 0)
            directions = np.stack((scale * x, scale * y, along), axis=1)
        directions[~np.isfinite(directions).all(axis=1)] = np.nan
        return directions

    def to_plane(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coordinates x and y (n,) on the plane of points (n, 3); NaN where not seen.

        A point on the axis behind the camera has every azimuth; it gets that of x.
        """
        x, y, z = points.T
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            across = np.hypot(x, y)
            distance = np.hypot(across, z)
            distance = np.where((distance > 0) & np.isfinite(distance), distance, np.nan)
            radius = self.radius_of(across / distance, z / distance)
            radius = np.where(np.isfinite(radius), radius, np.nan)
            cosine = np.divide(x, across, out=np.ones_like(across), where=across > 0)
            sine = np.divide(y, across, out=np.zeros_like(across), where=across > 0)
            return radius * cosine, radius * sine


@dataclass(frozen=True)
class RisingFunction:
    """A function that rises from 0 at 0, up to where it first stops increasing, and its inverse.

    Attributes
    ----------
    evaluate
        Values and derivatives (n,) at arguments (n,).
    limit
        Where the function ends in any case.
    """

    evaluate: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    limit: float

    @cached_property
    def end(self) -> float:
        """Argument up to which the function rises, at most the limit."""
        samples = np.linspace(0, self.limit, SEARCH_SAMPLES + 1)
        with np.errstate(over="ignore", invalid="ignore"):
            return min(first_failure(lambda t: self.evaluate(t)[1] > 0, samples), self.limit)

    @cached_property
    def reach(self) -> float:
        """Value at the end, the largest one."""
        return float(self.evaluate(np.array([self.end]))[0][0])

    def inverse(self, values: FloatArray) -> FloatArray:
        """Arguments (n,) at which the function takes values (n,); NaN where it takes them nowhere.

        Newton's method within a bracket, which a table makes narrow from the start. A step that
        would leave it, as happens at the end where the derivative vanishes, goes to the middle.
        """
        arguments, table = self._table
        solution = np.full(values.shape, np.nan)
        values = up_to(values, self.reach)
        active = np.flatnonzero(values >= 0)
        target = values[active]
        cell = np.clip(np.searchsorted(table, target), 1, TABLE_CELLS)
        low, high = arguments[cell - 1], arguments[cell]
        t = np.clip(np.interp(target, table, arguments), low, high)
        for _ in range(NEWTON_STEPS):
            value, slope = self.evaluate(t)
            solution[active] = t
            error = target - value
            rest = np.abs(error) > NEWTON_TOLERANCE * self.reach
            if not rest.any():
                break
            active, target, error, slope = active[rest], target[rest], error[rest], slope[rest]
            t, low, high = t[rest], low[rest], high[rest]
            low, high = np.where(error > 0, t, low), np.where(error < 0, t, high)
            with np.errstate(divide="ignore", invalid="ignore"):
                stepped = t + error / slope
            t = np.where((stepped > low) & (stepped < high), stepped, 0.5 * (low + high))
        return solution

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray]:
        """Arguments from 0 to the end, and their values."""
        arguments = np.linspace(0, self.end, TABLE_CELLS + 1)
        return arguments, np.maximum.accumulate(self.evaluate(arguments)[0])


def first_failure(condition: Callable[[FloatArray], BoolArray], samples: FloatArray) -> float:
    """Least argument at which a condition fails, between rising samples; infinite if it never does.

    A failure that comes and goes between two samples is missed.
    """
    failures = np.flatnonzero(~condition(samples))
    if not failures.size:
        return math.inf
    high = float(samples[failures[0]])
    low = float(samples[max(failures[0] - 1, 0)])
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if condition(np.array([middle]))[0]:
            low = middle
        else:
            high = middle
    return high


def up_to(values: FloatArray, rim: float) -> FloatArray:
    """Values as they are up to a rim, and NaN beyond; those past it by rounding are put onto it."""
    return np.where(values <= rim * (1 + RIM), np.minimum(values, rim), np.nan)
