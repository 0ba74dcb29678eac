"""Lens distortion: radial, tangential and thin prism terms, and their exact inverse.

With x a point of the plane, r its distance from the principal point, g the radial factor,
p = (p2, p1), and a = p + (s1, s3) and b = (s2, s4), everything that OpenCV and COLMAP add to a
point is of one form:

    x  ->  (g(r^2) + 2 p.x) x  +  a r^2 + b r^4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from rayrelief.cameras.distortion_inverse import (
    DIRECTIONS,
    SAFE_PART,
    Branch,
    Distorted,
    find_branch,
    invert,
)
from rayrelief.conventions import BoolArray, FloatArray

# Relative steps of 0.2 % from the principal point to 90 degrees off the axis.
RADII = np.geomspace(1e-4, 1e8, 1 << 14)
# For a search in many directions: steps of 0.7 %, and of 5 % where no lens with an image folds.
FEWER_RADII = np.concatenate(
    (
        np.geomspace(1e-4, 1e-2, 92, endpoint=False),
        np.geomspace(1e-2, 1e2, 1300, endpoint=False),
        np.geomspace(1e2, 1e8, 276),
    )
)

# By how much the radius of the fold has to vary for Newton's method to meet it on its way.
LOPSIDED = 1.5


@dataclass(frozen=True)
class LensDistortion:
    """Distortion of points of a plane, whatever the plane is.

    Attributes
    ----------
    numerator, denominator
        Coefficients of r^2, r^4, ... in the radial factor (1 + ...) / (1 + ...).
    tangential
        p1 and p2 in OpenCV's order.
    prism
        s1, s2, s3 and s4 in OpenCV's order: of r^2 and r^4 along x, then along y.
    """

    numerator: tuple[float, ...] = ()
    denominator: tuple[float, ...] = ()
    tangential: tuple[float, float] = (0.0, 0.0)
    prism: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is not regular
    def distort(self, x: FloatArray, y: FloatArray) -> Distorted:
        """Distort points of the plane, wherever they lie."""
        p1, p2 = self.tangential
        (a_x, a_y), (b_x, b_y) = self._shift
        r2 = x * x + y * y
        factor, slope, denominator = self._radial(r2)
        bend = 2 * slope
        gain = factor + 2 * (p2 * x + p1 * y)
        gain_x, gain_y = bend * x + 2 * p2, bend * y + 2 * p1
        of_r4 = r2 if b_x or b_y else 0.0  # few lenses have such terms: spare the others the time
        shift_x, shift_y = 2 * a_x + 4 * b_x * of_r4, 2 * a_y + 4 * b_y * of_r4  # by r^2, twice
        x_x, x_y = gain + x * (gain_x + shift_x), x * gain_y + y * shift_x
        y_x, y_y = y * gain_x + x * shift_y, gain + y * (gain_y + shift_y)
        determinant = x_x * y_y - x_y * y_x
        return Distorted(
            x=gain * x + r2 * (a_x + b_x * of_r4),
            y=gain * y + r2 * (a_y + b_y * of_r4),
            x_x=x_x,
            x_y=x_y,
            y_x=y_x,
            y_y=y_y,
            determinant=determinant,
            regular=(denominator > 0) & (determinant > 0) & (x_x + y_y > 0),
        )

    def on_branch(self, x: FloatArray, y: FloatArray) -> BoolArray:
        """Whether points (n,) are joined to the principal point without a fold."""
        return self.branch.contains(x, y)

    def distort_seen(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distort points (n,) of the branch; NaN beyond its fold."""
        distorted, seen = self.distort(x, y), self.on_branch(x, y)
        return np.where(seen, distorted.x, np.nan), np.where(seen, distorted.y, np.nan)

    @np.errstate(over="ignore", invalid="ignore")
    def undistort(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points of the branch that are distorted to points (n,); NaN where none is in reach.

        The iteration starts on the safe part of the branch, from where radial terms alone lead to
        the points; for the few that are lost in a strong lens, again from a point close by. Where
        a point has no origin, the result may be distorted to another one.
        """
        origin = np.full((2, x.size), np.nan)
        distance = np.hypot(x, y)
        reached = np.flatnonzero((distance <= self.reach) & (distance < math.inf))
        target, distance = np.stack((x, y))[:, reached], distance[reached]
        radius = np.interp(distance, *self._radial_table)
        scale = np.divide(radius, distance, out=np.ones_like(distance), where=distance > 0)
        found, solved = invert(self.distort, target, target * scale)
        if self.branch.outer > LOPSIDED * self.branch.inner:
            lost = np.flatnonzero(~(solved & self.on_branch(*found)))
            near = self.branch.samples_near(target[:, lost])
            found[:, lost], _ = invert(self.distort, target[:, lost], near)
        origin[:, reached] = np.where(self.on_branch(*found), found, np.nan)
        return origin[0], origin[1]

    @cached_property
    def branch(self) -> Branch:
        """Points that are joined to the principal point without a fold."""
        return _branch_of(self)

    @cached_property
    def reach(self) -> float:
        """Bound on where points of the branch are distorted to: none to a larger radius."""
        outer = self.branch.outer
        return math.inf if math.isinf(outer) else self._bound(outer)

    def _bound(self, outer: float) -> float:
        """Radius beyond which no point closer than ``outer`` to the principal point is taken."""
        r = np.append(RADII[outer > RADII], outer * (1 - 1e-12))
        along, across = 2 * math.hypot(*self.tangential), [math.hypot(*c) for c in self._shift]
        bound = r * np.abs(self._radial(r**2)[0]) + r**2 * (along + across[0] + across[1] * r**2)
        return float(bound.max()) * (1 + 1e-9)

    @cached_property
    def _shift(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Vectors a and b of the terms a r^2 + b r^4."""
        (p1, p2), (s1, s2, s3, s4) = self.tangential, self.prism
        return (p2 + s1, p1 + s3), (s2, s4)

    @cached_property
    def _radial_table(self) -> tuple[FloatArray, FloatArray]:
        """Where radial terms alone take radii on the safe part of the branch, and these radii."""
        limit = SAFE_PART * self.branch.inner
        radii = np.concatenate(([0.0], RADII[limit > RADII]))
        return radii * self._radial(radii**2)[0], radii

    def _radial(self, r2: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Radial factor, its derivative by r2, and its denominator."""
        upper, upper_slope = _series(self.numerator, r2)
        if not any(self.denominator):
            return upper, upper_slope, np.ones_like(r2)
        lower, lower_slope = _series(self.denominator, r2)
        inverse = np.divide(1, lower, out=np.zeros_like(r2), where=lower > 0)
        factor = upper * inverse
        return factor, (upper_slope - factor * lower_slope) * inverse, lower


@lru_cache(maxsize=16)
def _branch_of(distortion: LensDistortion) -> Branch:
    """Branch of a distortion: found once for a camera and all that are cut or scaled from it."""
    if any(distortion.tangential) or any(distortion.prism):
        return find_branch(distortion.distort, FEWER_RADII, DIRECTIONS)
    return find_branch(distortion.distort, RADII, 1)


def _series(coefficients: tuple[float, ...], r2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """1 + c1 r2 + c2 r2^2 + ... and its derivative by r2."""
    value, slope = np.zeros_like(r2), np.zeros_like(r2)
    for coefficient in (*coefficients[::-1], 1.0):
        slope = slope * r2 + value
        value = value * r2 + coefficient
    return value, slope
