"""Lens distortion: OpenCV's rational model with tangential terms, and its exact inverse.

In polar coordinates (r, phi) of the plane z = 1 the map is the gradient of a potential, so that its
Jacobian J is symmetric. With g the radial factor, A = d(r g)/dr, and q and w the components of
(p2, p1) along and across the direction of the point,

    J_rr = A + 6 q r,    J_tt = g + 2 q r,    J_rt = 2 w r.

J is the identity at the principal point. The branch that a lens can use ends, on each straight line
from there, where det J or the denominator of g first reaches zero: beyond it the image folds over.
With P the length of (p2, p1), q^2 + w^2 = P^2, the fold at a radius depends on q alone:

    det J = 16 (q r)^2 + (2 A + 6 g) q r + A g - 4 (P r)^2.

"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray

# Relative steps of 0.2 % from the principal point to 90 degrees off the axis.
SEARCH_RADII = np.geomspace(1e-4, 1e8, 1 << 14)
BISECTIONS = 60
TINY = np.finfo(np.float64).tiny

NEWTON_STEPS = 60
NEWTON_TOLERANCE = 1e-13
SMALLEST_DAMPING = 1e-6


class Distorted(NamedTuple):
    """Distorted points on the plane z = 1 with their derivatives."""

    x: FloatArray
    y: FloatArray
    x_x: FloatArray
    """dx/dx, the derivative of the distorted x by the ideal x."""
    x_y: FloatArray
    """dx/dy, which equals dy/dx."""
    y_y: FloatArray
    regular: BoolArray
    """Whether the denominator and the Jacobian are positive here."""


class Extent(NamedTuple):
    """Bounds of the branch that contains the principal point, on the plane z = 1."""

    inner: float
    """Every point within this radius is on the branch."""
    outer: float
    """No point from this radius on is on the branch."""
    reach: float
    """No point of the branch is distorted to a larger radius than this."""


@dataclass(frozen=True)
class RationalDistortion:
    """Distortion of points (x, y) on the plane z = 1 in OpenCV's rational model.

    The radial factor is (1 + k1 r2 + k2 r4 + k3 r6) / (1 + k4 r2 + k5 r4 + k6 r6).
    """

    k1: float = 0.0
    k2: float = 0.0
    p1: float = 0.0
    p2: float = 0.0
    k3: float = 0.0
    k4: float = 0.0
    k5: float = 0.0
    k6: float = 0.0

    def distort(self, x: FloatArray, y: FloatArray) -> Distorted:
        """Distort points of the plane z = 1, wherever they lie."""
        r2 = x * x + y * y
        factor, slope, denominator = self._radial(r2)
        tangential = 2 * (self.p1 * x + self.p2 * y)
        along = 2 * (self.p1 * y + self.p2 * x)
        x_x = factor + 2 * slope * x * x + along + 4 * self.p2 * x
        x_y = 2 * slope * x * y + tangential
        y_y = factor + 2 * slope * y * y + along + 4 * self.p1 * y
        return Distorted(
            x=x * (factor + along) + self.p2 * r2,
            y=y * (factor + along) + self.p1 * r2,
            x_x=x_x,
            x_y=x_y,
            y_y=y_y,
            regular=(denominator > 0) & (x_x * y_y > x_y * x_y) & (x_x + y_y > 0),
        )

    def on_branch(self, x: FloatArray, y: FloatArray) -> BoolArray:
        """Whether points (n,) of the plane z = 1 are joined to the principal point without a fold.

        Only in the ring where tangential terms let the answer depend on the direction, the line
        to the point needs a look; elsewhere the radius decides.
        """
        radius = np.hypot(x, y)
        seen: BoolArray = radius < self.extent.inner
        ring = np.flatnonzero(~seen & (radius < self.extent.outer))
        along = (self.p2 * x[ring] + self.p1 * y[ring]) / radius[ring]
        passed = np.maximum(np.searchsorted(SEARCH_RADII, radius[ring], side="right") - 1, 0)
        seen[ring] = (along > self._folded_before[passed]) & self.distort(x[ring], y[ring]).regular
        return seen

    def undistort(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points of the plane z = 1 that are distorted to the points (n,); NaN where none is.

        A radial start on the safe part of the branch is refined by Newton's method in the plane.
        A step is halved until it stays regular and comes closer: the map is the gradient of
        a potential that is convex there, hence no local minima to fall into.
        """
        solution = np.full((2, x.size), np.nan)
        distance = np.hypot(x, y)
        active = np.flatnonzero(distance <= self.extent.reach)
        target = np.stack((x, y))[:, active]
        distance = distance[active]
        tolerance = NEWTON_TOLERANCE * (1 + distance)

        scale = np.divide(
            self._radial_start(distance), distance, out=np.ones_like(distance), where=distance > 0
        )
        point = target * scale
        error, step = self._newton_step(point, target)
        damping = np.ones(active.size)
        for _ in range(NEWTON_STEPS):
            ended = (error <= tolerance) | (damping < SMALLEST_DAMPING)
            if ended.any():
                solution[:, active[ended]] = point[:, ended]
                rest = ~ended
                active, tolerance = active[rest], tolerance[rest]
                target, point, step = target[:, rest], point[:, rest], step[:, rest]
                error, damping = error[rest], damping[rest]
            if not active.size:
                break
            trial = point + damping * step
            trial_error, trial_step = self._newton_step(trial, target)
            closer = trial_error < error
            point = np.where(closer, trial, point)
            step = np.where(closer, trial_step, step)
            error = np.where(closer, trial_error, error)
            damping = np.where(closer, np.minimum(1, 4 * damping), damping / 2)
        solution[:, active] = point
        solution[:, ~self.on_branch(*solution)] = np.nan
        return solution[0], solution[1]

    @cached_property
    def extent(self) -> Extent:
        """Bounds of the branch; ``inner`` equals ``outer`` without tangential terms."""
        strength = math.hypot(self.p1, self.p2)
        inner = _first_failure(lambda radii: self._folded_at(radii) < -strength)
        outer = _first_failure(lambda radii: self._folded_at(radii) < strength)
        if math.isinf(outer):
            return Extent(inner, outer, math.inf)
        radii = np.append(SEARCH_RADII[outer > SEARCH_RADII], outer * (1 - 1e-12))
        factor, _, _ = self._radial(radii**2)
        bound = np.hypot(radii * factor + 3 * strength * radii**2, strength * radii**2)
        return Extent(inner, outer, float(bound.max()) * (1 + 1e-9))

    def _radial(self, r2: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Radial factor, its derivative by r2, and its denominator."""
        denominator = 1 + r2 * (self.k4 + r2 * (self.k5 + r2 * self.k6))
        inverse = np.divide(1, denominator, out=np.zeros_like(r2), where=denominator > 0)
        factor = (1 + r2 * (self.k1 + r2 * (self.k2 + r2 * self.k3))) * inverse
        numerator_slope = self.k1 + r2 * (2 * self.k2 + r2 * 3 * self.k3)
        denominator_slope = self.k4 + r2 * (2 * self.k5 + r2 * 3 * self.k6)
        slope = (numerator_slope - factor * denominator_slope) * inverse
        return factor, slope, denominator

    def _folded_at(self, radii: FloatArray) -> FloatArray:
        """Greatest q (see above) that is folded at radii (n,): the larger zero of det J.

        A zero P turns every direction into q = 0. Below the smaller zero J could be regular again
        if the tangential terms were as strong as the radial factor, which no lens comes near.
        """
        factor, slope, denominator = self._radial(radii**2)
        radial = factor + 2 * radii**2 * slope
        bend = math.hypot(self.p1, self.p2) * radii
        half = radial + 3 * factor
        discriminant = (radial - factor) * (radial - 9 * factor) + 64 * bend**2
        root = np.sqrt(np.maximum(discriminant, 0))
        # The form of the solution of the quadratic equation that does not cancel.
        constant = 4 * bend**2 - radial * factor
        folded = np.where(half > 0, constant / np.maximum(half + root, TINY), (root - half) / 16)
        folded = np.where((discriminant < 0) & (half > 0), -np.inf, folded / radii)
        return np.where((denominator > 0) & ((discriminant >= 0) | (half > 0)), folded, np.inf)

    @cached_property
    def _folded_before(self) -> FloatArray:
        """Greatest q that is folded at each of SEARCH_RADII or before it.

        A fold that opens and closes between two radii shows as a maximum of q between them, which
        a parabola through three radii finds.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            folded = self._folded_at(SEARCH_RADII)
        finite = np.isfinite(folded)
        middle = np.flatnonzero(
            (folded[1:-1] > folded[:-2])
            & (folded[1:-1] >= folded[2:])
            & (finite[:-2] & finite[1:-1] & finite[2:])
        )
        left, centre, right = folded[middle], folded[middle + 1], folded[middle + 2]
        # Two differences: their sum is positive, where 2 centre - left - right may round to zero.
        bend = (centre - left) + (centre - right)
        peak = centre + (right - left) ** 2 / (8 * bend)
        folded[middle + 2] = np.maximum(right, peak)
        return np.maximum.accumulate(folded)

    def _radial_start(self, distance: FloatArray) -> FloatArray:
        """Radius whose radial distortion is nearest to a distance, well within the branch."""
        radii, distorted = self._radial_table
        return np.interp(distance, distorted, radii)

    @cached_property
    def _radial_table(self) -> tuple[FloatArray, FloatArray]:
        """Radii on the safe part of the branch, and where radial terms alone take them."""
        limit = 0.98 * self.extent.inner
        radii = np.concatenate(([0.0], SEARCH_RADII[limit > SEARCH_RADII]))
        return radii, radii * self._radial(radii**2)[0]

    def _newton_step(self, point: FloatArray, target: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distance (n,) of distorted points to targets, infinite where folded, and Newton step."""
        image = self.distort(point[0], point[1])
        dx, dy = target[0] - image.x, target[1] - image.y
        error = np.where(image.regular, np.hypot(dx, dy), np.inf)
        determinant = np.where(image.regular, image.x_x * image.y_y - image.x_y**2, 1.0)
        step = np.stack((image.y_y * dx - image.x_y * dy, image.x_x * dy - image.x_y * dx))
        return error, step / determinant


def _first_failure(condition: Callable[[FloatArray], BoolArray]) -> float:
    """Least radius at which a condition on radii (n,) fails; infinite if it never does."""
    with np.errstate(over="ignore", invalid="ignore"):
        failures = np.flatnonzero(~condition(SEARCH_RADII))
        if not failures.size:
            return math.inf
        high = float(SEARCH_RADII[failures[0]])
        low = float(SEARCH_RADII[failures[0] - 1]) if failures[0] else 0.0
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if condition(np.array([middle]))[0]:
                low = middle
            else:
                high = middle
    return high
