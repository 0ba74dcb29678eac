"""Tori and surfaces of revolution: shapes that a ray meets at the root of a polynomial."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.polynomial import Polynomial

from rayrelief.checks import require
from rayrelief.conventions import FloatArray
from rayrelief.synthetic.shapes.base import Ball, Hits, Vector, check_positive, dot, unit, visible
from rayrelief.synthetic.shapes.polynomial import evaluate, first_root


@dataclass(frozen=True)
class Torus:
    """Ring torus in the OpenCV camera frame; lengths in the unit of the depth.

    Attributes
    ----------
    centre, axis
        Its centre, and the direction of its axis, of any length.
    major
        Radius of the circle in the middle of the tube.
    minor
        Radius of the tube, less than ``major``.
    """

    centre: Vector
    axis: Vector
    major: float
    minor: float

    def __post_init__(self) -> None:
        unit(self.axis, "axis")
        check_positive("minor radius", self.minor)
        found = f"a torus with the radii {self.major} (major) and {self.minor} (minor)"
        remedy = "Give the radius of the ring first, then that of the tube"
        usable = self.minor < self.major < np.inf
        require(usable, found, "a minor radius below the major one", remedy)

    @cached_property
    def bounds(self) -> Ball:
        """Ball that holds it."""
        return Ball.around(self.centre, self.major + self.minor)

    def intersect(self, origins: FloatArray, directions: FloatArray, *, near: float = 0.0) -> Hits:
        """Nearest hits (t, normals) with t > near; see `Shape.intersect`."""
        start = origins - np.asarray(self.centre)
        entry, exit_ = self.bounds.chord(origins, directions)
        return _first_hits(self, start, directions, np.maximum(entry, near), exit_)

    def along(self, origins: FloatArray, directions: FloatArray) -> FloatArray:
        """(5, N) coefficients of (|p|^2 + R^2 - r^2)^2 - 4 R^2 (distance from the axis)^2."""
        axis = unit(self.axis, "axis")
        square = _squared_norm(origins, directions)
        height = np.stack((dot(origins, axis), dot(directions, axis)))
        from_axis = square - _product(height, height)
        square[0] += self.major**2 - self.minor**2
        quartic = _product(square, square)
        quartic[:3] -= 4 * self.major**2 * from_axis
        return quartic

    def outward(self, points: FloatArray) -> FloatArray:
        """Give the normals (N, 3) of points on the torus, away from the middle of the tube."""
        axis = unit(self.axis, "axis")
        radial = points - dot(points, axis)[:, None] * axis
        middle: FloatArray = radial * (self.major / np.linalg.norm(radial, axis=-1, keepdims=True))
        return points - middle


@dataclass(frozen=True)
class Revolution:
    """Thin surface of revolution in the OpenCV camera frame: a vase, open where it does not close.

    At the height h above the base its squared radius is a polynomial: r(h)^2 = c0 + c1 h + ...;
    it ends at h = 0 and h = ``height``, and closes smoothly where the polynomial vanishes.

    Attributes
    ----------
    base
        Point on the axis at h = 0.
    axis
        Direction in which h grows, of any length.
    height
        Where the surface ends, in the unit of the depth.
    squared_radius
        Coefficients c0, c1, ... of r^2.
    """

    base: Vector
    axis: Vector
    height: float
    squared_radius: tuple[float, ...]

    def __post_init__(self) -> None:
        unit(self.axis, "axis")
        check_positive("height", self.height)
        found = f"a squared radius with the coefficients {self.squared_radius}"
        expected = "a polynomial that is positive somewhere between 0 and the height"
        remedy = "Give the constant term first, and squared lengths"
        require(self._widest > 0, found, expected, remedy)

    @cached_property
    def bounds(self) -> Ball:
        """Ball that holds it."""
        middle = np.asarray(self.base) + unit(self.axis, "axis") * self.height / 2
        return Ball.around(middle, float(np.hypot(self.height / 2, np.sqrt(self._widest))))

    @classmethod
    def through(
        cls, base: Vector, axis: Vector, heights: tuple[float, ...], radii: tuple[float, ...]
    ) -> Revolution:
        """Surface whose profile goes through the given radii at rising heights, the first at 0."""
        rising = all(a < b for a, b in pairwise(heights))
        usable = len(heights) == len(radii) > 1 and heights[0] == 0 and rising
        found = f"a profile with the heights {heights} and the radii {radii}"
        expected = "two or more increasing heights that start at 0, and as many radii"
        require(usable, found, expected, "Give one radius for each height")
        fit = Polynomial.fit(heights, np.square(radii), len(heights) - 1)
        coefficients = fit.convert().coef
        return cls(base, axis, heights[-1], tuple(float(value) for value in coefficients))

    def intersect(self, origins: FloatArray, directions: FloatArray, *, near: float = 0.0) -> Hits:
        """Nearest hits (t, normals) with t > near; see `Shape.intersect`."""
        axis = unit(self.axis, "axis")
        start = origins - np.asarray(self.base)
        entry, exit_ = self.bounds.chord(origins, directions)
        with np.errstate(divide="ignore", invalid="ignore"):
            to_base = -dot(start, axis) / dot(directions, axis)
            to_top = (self.height - dot(start, axis)) / dot(directions, axis)
        entry = np.maximum(entry, np.fmin(to_base, to_top))
        exit_ = np.minimum(exit_, np.fmax(to_base, to_top))
        return _first_hits(self, start, directions, np.maximum(entry, near), exit_)

    def along(self, origins: FloatArray, directions: FloatArray) -> FloatArray:
        """(degree + 1, N) coefficients of (distance from the axis)^2 - r(h)^2."""
        axis = unit(self.axis, "axis")
        height = np.stack((dot(origins, axis), dot(directions, axis)))
        from_axis = _squared_norm(origins, directions) - _product(height, height)
        # Horner's scheme in polynomials: r^2 at the height that is linear along the ray.
        profile = np.full((1, height.shape[1]), self.squared_radius[-1])
        for coefficient in self.squared_radius[-2::-1]:
            profile = _product(profile, height)
            profile[0] += coefficient
        difference = np.zeros((max(3, len(profile)), height.shape[1]))
        difference[:3] += from_axis
        difference[: len(profile)] -= profile
        return difference

    def outward(self, points: FloatArray) -> FloatArray:
        """Give the normals (N, 3) of points on the surface, away from the axis."""
        axis = unit(self.axis, "axis")
        height = dot(points, axis)
        growth = Polynomial(self.squared_radius).deriv()(height)
        return points - (height + growth / 2)[:, None] * axis

    @cached_property
    def _widest(self) -> float:
        """Largest squared radius between the base and the height."""
        profile = Polynomial(self.squared_radius)
        turning = np.real(profile.deriv().roots()).astype(np.float64)
        heights = np.clip(turning, 0.0, self.height)
        return float(profile(np.concatenate((heights, (0.0, self.height)))).max())


class _Algebraic(Protocol):
    """A shape about zero whose implicit function, positive outside, is a polynomial on a line."""

    def along(self, origins: FloatArray, directions: FloatArray) -> FloatArray: ...

    def outward(self, points: FloatArray) -> FloatArray: ...


def _first_hits(
    shape: _Algebraic,
    origins: FloatArray,
    directions: FloatArray,
    entry: FloatArray,
    exit_: FloatArray,
) -> Hits:
    """Nearest hits (t, normals) with entry < t < exit; the other rays miss."""
    t = np.full(entry.shape, np.inf)
    normals = np.full((*entry.shape, 3), np.nan)
    close = entry < exit_
    origins = np.broadcast_to(origins, normals.shape)[close]
    directions = np.broadcast_to(directions, normals.shape)[close]
    middle, half = (entry + exit_)[close] / 2, (exit_ - entry)[close] / 2
    # Seen from the middle of its chord and measured in half chords, a root keeps all its digits.
    polynomial = shape.along(origins + middle[:, None] * directions, half[:, None] * directions)
    nearest_t = middle + half * first_root(polynomial)
    outward = shape.outward(origins + nearest_t[:, None] * directions)
    # Before its first root a ray is on the side on which it begins.
    side = np.where(evaluate(polynomial, -1.0) > 0, 1.0, -1.0)
    t[close], normals[close] = visible(nearest_t, side[:, None] * outward, directions, entry[close])
    return t, normals


def _squared_norm(origins: FloatArray, directions: FloatArray) -> FloatArray:
    """(3, N) coefficients of |origin + s direction|^2."""
    return np.stack(
        (dot(origins, origins), 2 * dot(origins, directions), dot(directions, directions))
    )


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Coefficients of the products of N polynomials."""
    product = np.zeros((len(a) + len(b) - 1, a.shape[1]))
    for power, coefficient in enumerate(a):
        product[power : power + len(b)] += coefficient * b
    return product
