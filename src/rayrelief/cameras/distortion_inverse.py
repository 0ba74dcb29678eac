"""Inverse of a smooth map of the plane, exact on the branch that contains the principal point.

The map is the identity to first order at the principal point (0, 0). On each straight line from
there, the branch that a lens can use ends where the Jacobian first stops being regular: beyond it
the image folds over, and a pixel could be two rays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rayrelief.cameras.base import BLOCK_LENGTH
from rayrelief.conventions import BoolArray, FloatArray

# Every half degree. Between two directions the fold is interpolated.
DIRECTIONS = 720
BISECTIONS = 60

# Within this part of the smallest fold no point is beyond the fold of its own direction.
SAFE_PART = 0.98
# How far beyond the interpolated fold, relatively, a point may be if it is regular itself.
FOLD_SLACK = 1e-3

# Samples of the branch: every degree, up to the fold or as good as 90 degrees off the axis.
SAMPLE_EVERY = 2
SAMPLE_RADII = 96
SAME_PLACE = 9  # decimals, of the image plane: samples are to start from
SMALLEST_NEARNESS = 1e-6

NEWTON_STEPS = 60
NEWTON_TOLERANCE = 1e-13
SMALLEST_DAMPING = 1e-6  # right before a pole steps are that much too long


class Distorted(NamedTuple):
    """Points of the plane after a map, with the derivatives of the map."""

    x: FloatArray
    y: FloatArray
    x_x: FloatArray
    """dx/dx, the derivative of the distorted x by the ideal x."""
    x_y: FloatArray
    """dx/dy, the derivative of the distorted x by the ideal y."""
    y_x: FloatArray
    y_y: FloatArray
    determinant: FloatArray
    """x_x y_y - x_y y_x."""
    regular: BoolArray
    """Whether the map is defined here, and determinant and trace of its Jacobian are positive."""


Distortion2D = Callable[[FloatArray, FloatArray], Distorted]


@dataclass(frozen=True, eq=False)
class Branch:
    """Points that a straight line joins to the principal point without meeting a fold.

    Attributes
    ----------
    distort
        The map, with its derivatives.
    fold_nearness
        (m,) one over the radius of the fold in m directions, evenly spaced from the x axis on
        towards y; 0 where there is no fold. Unlike radii these can be interpolated past infinity.
    """

    distort: Distortion2D
    fold_nearness: FloatArray

    @cached_property
    def inner(self) -> float:
        """Least radius of the fold."""
        nearest = float(self.fold_nearness.max())
        return 1 / nearest if nearest else math.inf

    @cached_property
    def outer(self) -> float:
        """Greatest radius of the fold."""
        farthest = float(self.fold_nearness.min())
        return 1 / farthest if farthest else math.inf

    def contains(self, x: FloatArray, y: FloatArray) -> BoolArray:
        """Whether points (n,) are on the branch.

        The interpolated fold tells the branch from what is regular again far beyond; right at the
        fold the Jacobian of the point itself decides.
        """
        radius = np.hypot(x, y)
        inside: BoolArray = radius < SAFE_PART * self.inner
        doubtful = np.flatnonzero(~inside & (radius < (1 + FOLD_SLACK) * self.outer))
        if doubtful.size:
            x, y, radius = x[doubtful], y[doubtful], radius[doubtful]
            nearness = np.interp(
                np.arctan2(y, x),
                _angles(self.fold_nearness.size),
                self.fold_nearness,
                period=2 * math.pi,
            )
            inside[doubtful] = (radius * nearness < 1 + FOLD_SLACK) & self.distort(x, y).regular
        return inside

    def samples_near(self, target: FloatArray) -> FloatArray:
        """Regular points (2, n) that are distorted to somewhere near targets (2, n)."""
        if not target.size:
            return target
        points, tree = self._samples
        _, nearest = tree.query(target.T)
        # Where all are too far for a number the tree answers one beyond the last.
        return points[:, np.minimum(nearest, points.shape[1] - 1)]

    @cached_property
    def _samples(self) -> tuple[FloatArray, Any]:
        """Points (2, n) in the outer part of the branch, and a tree of where they are distorted to.

        Their radii grow by equal ratios in each direction.
        """
        from scipy.spatial import KDTree

        angles = _angles(self.fold_nearness.size)[::SAMPLE_EVERY]
        nearness = np.maximum(self.fold_nearness[::SAMPLE_EVERY], SMALLEST_NEARNESS)
        start = 0.5 * self.inner
        radii = start / (start * nearness) ** np.linspace(0, 1, SAMPLE_RADII)[:-1, None]
        points = np.stack((radii * np.cos(angles), radii * np.sin(angles))).reshape(2, -1)
        image = self.distort(points[0], points[1])
        images, points = (
            np.stack((image.x, image.y), axis=1)[image.regular],
            points[:, image.regular],
        )
        # Of many in one place one is enough: a tree of them would look at all, for every target.
        _, apart = np.unique(np.round(images, SAME_PLACE), axis=0, return_index=True)
        apart.sort()
        return points[:, apart], KDTree(images[apart])


def find_branch(distort: Distortion2D, radii: FloatArray, directions: int) -> Branch:
    """Search the fold along straight lines, at increasing radii first and then between two.

    One direction is enough for a map that is the same in all. Where a map is irregular only
    between two neighbouring radii, it goes backwards by next to nothing, and passes.
    """
    cos, sin = np.cos(_angles(directions)), np.sin(_angles(directions))
    first = np.full(directions, radii.size)
    at_once = BLOCK_LENGTH // directions
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, radii.size, at_once):
            unfolded = np.flatnonzero(first == radii.size)
            if not unfolded.size:
                break
            block = radii[start : start + at_once]
            image = distort(np.outer(cos[unfolded], block), np.outer(sin[unfolded], block))
            ended = ~image.regular.all(axis=1)
            first[unfolded[ended]] = start + image.regular[ended].argmin(axis=1)
        bounds = np.concatenate(([0.0], radii, [math.inf]))
        low, high = bounds[first], bounds[first + 1]
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            regular = distort(middle * cos, middle * sin).regular
            low, high = np.where(regular, middle, low), np.where(regular, high, middle)
    return Branch(distort, 1 / high)


def invert(
    distort: Distortion2D, target: FloatArray, start: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Points (2, n) that a map takes to targets (2, n), by Newton's method from regular points.

    A step is cut short until it stays regular and misses the target by less, as measured in the
    plane of the points, by the Jacobian before the step: measured between targets, which a strong
    distortion stretches, the iteration would run into the fold. Also tells (n,) which points map
    to their targets to nearly all digits; the others are where no step led on.
    """
    solution, found = np.empty_like(target), np.zeros(target.shape[1], dtype=np.bool_)
    active = np.arange(target.shape[1])
    tolerance = NEWTON_TOLERANCE**2 * (1 + _square(target))
    point, damping = start, np.ones(active.size)
    missed, inverse, _ = _linearise(distort, point, target)
    for _ in range(NEWTON_STEPS):
        step = _apply(inverse, missed)
        trial = point + damping * step
        trial_missed, trial_inverse, regular = _linearise(distort, trial, target)
        solved = regular & (_square(trial_missed) <= tolerance)
        stuck = ~solved & (damping < SMALLEST_DAMPING)
        # Most points end at once: what decides on the next step is for the rest of them only.
        if solved.any() or stuck.any():
            solution[:, active[solved]], found[active[solved]] = trial[:, solved], True
            solution[:, active[stuck]] = point[:, stuck]
            rest = np.flatnonzero(~solved & ~stuck)
            active, tolerance, damping = active[rest], tolerance[rest], damping[rest]
            target, point, missed, inverse = (a[:, rest] for a in (target, point, missed, inverse))
            step, trial, regular = step[:, rest], trial[:, rest], regular[rest]
            trial_missed, trial_inverse = trial_missed[:, rest], trial_inverse[:, rest]
        if not active.size:
            break
        closer = regular & (_square(_apply(inverse, trial_missed)) < _square(step))
        point = np.where(closer, trial, point)
        missed = np.where(closer, trial_missed, missed)
        inverse = np.where(closer, trial_inverse, inverse)
        damping = np.where(closer, np.minimum(1, 4 * damping), damping / 4)
    solution[:, active] = point
    return solution, found


def _linearise(
    distort: Distortion2D, point: FloatArray, target: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """By what points (2, n) miss targets, the inverse Jacobian (4, n) there, and where regular."""
    image = distort(point[0], point[1])
    missed = np.stack((target[0] - image.x, target[1] - image.y))
    inverse = np.stack((image.y_y, -image.x_y, -image.y_x, image.x_x))
    inverse /= np.where(image.regular, image.determinant, 1.0)
    return missed, inverse, image.regular


def _apply(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """Products (2, n) of matrices (4, n), row after row, with vectors (2, n)."""
    product: FloatArray = matrix[::2] * vector[0] + matrix[1::2] * vector[1]
    return product


def _square(vector: FloatArray) -> FloatArray:
    """Squared lengths (n,) of vectors (2, n)."""
    square: FloatArray = vector[0] * vector[0] + vector[1] * vector[1]
    return square


def _angles(count: int) -> FloatArray:
    """Directions (count,) evenly around, in radians from the x axis on."""
    return np.linspace(0, 2 * math.pi, count, endpoint=False)
