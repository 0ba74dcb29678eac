"""What every shape answers, and the few lines of geometry that all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import InputError

Vector = tuple[float, float, float]
Hits = tuple[FloatArray, FloatArray]

_ROOM = 1.01  # lest rounding decide whether the outermost points of a shape lie in its ball


@dataclass(frozen=True)
class Ball:
    """Ball in the OpenCV camera frame; lengths in the unit of the depth."""

    centre: Vector
    radius: float

    @classmethod
    def around(cls, centre: Vector | FloatArray, reach: float) -> Ball:
        """Ball with some room around a shape that reaches so far from its centre."""
        x, y, z = (float(coordinate) for coordinate in centre)
        return cls((x, y, z), _ROOM * reach)

    def chord(self, origins: FloatArray, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where lines enter and leave the ball, as t (...,); NaN where they miss."""
        start = (origins - np.asarray(self.centre)) / self.radius
        return unit_ball_chord(start, directions / self.radius)


class Shape(Protocol):
    """A closed-form surface in the OpenCV camera frame."""

    @property
    def bounds(self) -> Ball | None:
        """Ball that holds every point where a ray can meet it; None where it has no end."""
        ...

    def intersect(self, origins: FloatArray, directions: FloatArray, *, near: float = 0.0) -> Hits:
        """Nearest hits of the rays ``origins + t * directions`` with t > near.

        Parameters
        ----------
        origins, directions
            (..., 3) that broadcast against one another; directions of any length.
        near
            Where the rays begin; ``-numpy.inf`` for whole lines, as an orthographic camera sees.

        Returns
        -------
        tuple of numpy.ndarray
            t (...,), infinite where a ray misses or merely grazes, and the unit normals (..., 3)
            that face the ray (n . direction < 0), NaN where it misses.
        """
        ...


def nearest(
    shapes: Sequence[Shape], origins: FloatArray, directions: FloatArray, *, near: float = 0.0
) -> Hits:
    """Nearest hits (t, normals) among several shapes; see `Shape.intersect`."""
    shape = np.broadcast_shapes(origins.shape, directions.shape)
    t = np.full(shape[:-1], np.inf)
    normals = np.full(shape, np.nan)
    for candidate in shapes:
        candidate_t, candidate_normals = candidate.intersect(origins, directions, near=near)
        closer = candidate_t < t
        t = np.where(closer, candidate_t, t)
        normals = np.where(closer[..., None], candidate_normals, normals)
    return t, normals


def visible(
    t: FloatArray, normals: FloatArray, directions: FloatArray, near: float | FloatArray
) -> Hits:
    """Give the normals unit length and drop the hits that lie behind or merely graze."""
    with np.errstate(invalid="ignore", divide="ignore"):
        normals = normals / np.linalg.norm(normals, axis=-1, keepdims=True)
        # A normal known to face the ray has n . d >= 0 only where rounding decides: a graze.
        hit: BoolArray = (t > near) & (t < np.inf) & (dot(normals, directions) < 0)
    return np.where(hit, t, np.inf), np.where(hit[..., None], normals, np.nan)


def unit_ball_chord(origins: FloatArray, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where lines enter and leave the unit ball about zero, as t (...,); NaN where they miss."""
    squared_length = dot(directions, directions)
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = -dot(origins, directions) / squared_length
        # Measured from the foot of the perpendicular, nothing cancels for distant origins.
        foot = origins + middle[..., None] * directions
        half: FloatArray = np.sqrt((1.0 - dot(foot, foot)) / squared_length)
    return middle - half, middle + half


def dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Scalar products (...,) of vectors (..., 3)."""
    product: FloatArray = np.einsum("...i,...i->...", a, b)
    return product


def unit(vector: Vector, name: str) -> FloatArray:
    """Scale a direction to unit length; InputError where it has none."""
    array = np.asarray(vector, dtype=np.float64)
    length = float(np.linalg.norm(array))
    if not (np.isfinite(length) and length > 0):
        raise InputError(
            f"the {name} is {vector}",
            expected="a finite vector that is not zero",
            remedy="Give a direction of any length",
        )
    return array / length


def check_positive(name: str, *values: float) -> None:
    """Raise InputError unless all values are finite and positive."""
    if not all(np.isfinite(value) and value > 0 for value in values):
        shown = values[0] if len(values) == 1 else values
        raise InputError(
            f"the {name} is {shown}",
            expected="finite and positive",
            remedy="Give lengths in the unit of the depth",
        )
