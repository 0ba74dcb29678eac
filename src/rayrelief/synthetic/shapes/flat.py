"""Shapes made of planes: plane, box, tent and steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rayrelief.checks import require
from rayrelief.conventions import FloatArray
from rayrelief.synthetic.shapes.base import (
    Ball,
    Hits,
    Vector,
    check_positive,
    dot,
    nearest,
    unit,
    visible,
)


@dataclass(frozen=True)
class Plane:
    """Unbounded plane in the OpenCV camera frame, seen from both sides.

    Attributes
    ----------
    point, normal
        Any point on it, and its normal, of any length and either sign.
    """

    point: Vector
    normal: Vector

    def __post_init__(self) -> None:
        unit(self.normal, "normal")

    @property
    def bounds(self) -> None:
        """There is no end to it."""
        return None

    def intersect(self, origins: FloatArray, directions: FloatArray, *, near: float = 0.0) -> Hits:
        """Nearest hits (t, normals) with t > near; see `Shape.intersect`."""
        t, slant = _plane_crossings(unit(self.normal, "normal"), self.point, origins, directions)
        normals = -np.sign(slant)[..., None] * unit(self.normal, "normal")
        return visible(t, normals, directions, near)


@dataclass(frozen=True)
class Box:
    """Box in the OpenCV camera frame; lengths in the unit of the depth.

    Attributes
    ----------
    low, high
        Opposite corners before the rotation; infinite coordinates leave a side open.
    inside
        True to see only the inner walls, as a camera within does; from without, the near walls
        are cut away.
    rotation
        Rotation vector (axis times angle in degrees) that turns the box about its centre.
    """

    low: Vector
    high: Vector
    inside: bool = False
    rotation: Vector | None = None

    def __post_init__(self) -> None:
        ordered = all(low < high for low, high in zip(self.low, self.high, strict=True))
        found = f"a box from {self.low} to {self.high}"
        require(ordered, found, "low < high in each of x, y, z", "Order the corners")
        centred = self.rotation is None or np.isfinite(self.low + self.high).all()
        found, centre = "a rotated box with infinite corners", "a centre to turn it about"
        require(centred, found, centre, "Give finite corners")

    @property
    def bounds(self) -> Ball | None:
        """Ball that holds it; None where a side is open."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        diagonal = float(np.linalg.norm(high - low))
        return Ball.around((low + high) / 2, diagonal / 2) if np.isfinite(diagonal) else None

    def intersect(self, origins: FloatArray, directions: FloatArray, *, near: float = 0.0) -> Hits:
        """Nearest hits (t, normals) with t > near; see `Shape.intersect`."""
        if self.rotation is None:
            return self._intersect_upright(origins, directions, near)
        from scipy.spatial.transform import Rotation

        turn = Rotation.from_rotvec(self.rotation, degrees=True).as_matrix()
        centre = (np.asarray(self.low) + np.asarray(self.high)) / 2
        # Row vectors: v @ turn is the inverse rotation, into the frame of the box.
        t, normals = self._intersect_upright(
            (origins - centre) @ turn + centre, directions @ turn, near
        )
        return visible(t, normals @ turn.T, directions, near)

    def _intersect_upright(self, origins: FloatArray, directions: FloatArray, near: float) -> Hits:
        with np.errstate(divide="ignore", invalid="ignore"):
            to_low = (np.asarray(self.low) - origins) / directions
            to_high = (np.asarray(self.high) - origins) / directions
        # 0 / 0 is a ray within the plane of a face: the box contains it, as far as this face goes.
        within = np.isnan(to_low) | np.isnan(to_high)
        entries = np.where(within, -np.inf, np.minimum(to_low, to_high))
        exits = np.where(within, np.inf, np.maximum(to_low, to_high))
        entry, exit_ = entries.max(axis=-1), exits.min(axis=-1)
        leaving = self.inside | ~(entry > near)
        # Two faces that tie share an edge of the box; the first one takes it.
        face = np.where(leaving, exits.argmin(axis=-1), entries.argmax(axis=-1))
        t = np.where(entry < exit_, np.where(leaving, exit_, entry), np.inf)
        # Entering or leaving, the face looks back along its axis.
        normals = -np.sign(directions) * (np.arange(3) == face[..., None])
        return visible(t, normals, directions, near)


@dataclass(frozen=True)
class Tent:
    """Two planes that meet in a ridge toward the camera (OpenCV frame), seen from the front.

    The surface is z = ridge_z + slope * |distance from the ridge in x, y|.

    Attributes
    ----------
    ridge
        A point on the ridge.
    slope
        Growth of z per unit away from the ridge.
    angle
        Degrees from the y axis to the ridge in the x, y plane, positive toward -x.
    """

    ridge: Vector
    slope: float
    angle: float = 0.0

    def __post_init__(self) -> None:
        check_positive("slope", self.slope)

    @property
    def bounds(self) -> None:
        """There is no end to it."""
        return None

    def intersect(self, origins: FloatArray, directions: FloatArray, *, near: float = 0.0) -> Hits:
        """Nearest hits (t, normals) with t > near; see `Shape.intersect`."""
        radians = math.radians(self.angle)
        across = np.array((math.cos(radians), math.sin(radians), 0.0)) * self.slope
        # The tent is what lies behind both planes, so a ray is in from its last entry on, until
        # its first exit.
        entry = np.full(np.broadcast_shapes(origins.shape, directions.shape)[:-1], -np.inf)
        exit_ = np.full_like(entry, np.inf)
        normals = np.zeros((*entry.shape, 3))
        for side in (across, -across):
            normal = side - (0.0, 0.0, 1.0)
            t, slant = _plane_crossings(normal, self.ridge, origins, directions)
            last = (slant < 0) & (t > entry)
            entry = np.where(last, t, entry)
            normals = np.where(last[..., None], normal, normals)
            exit_ = np.where(slant > 0, np.minimum(t, exit_), exit_)
        return visible(np.where(entry < exit_, entry, np.inf), normals, directions, near)


@dataclass(frozen=True)
class Steps:
    """Staircase of plateaus z = constant in the OpenCV camera frame, solid behind.

    Where the depth grows away from the camera's axis the risers are hidden, and the picture
    has true depth jumps between plateaus; elsewhere the risers are seen.

    Attributes
    ----------
    edges
        Rising x where one plateau ends and the next begins.
    depths
        z of the plateaus from left to right, one more than there are edges.
    """

    edges: tuple[float, ...]
    depths: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in pairwise(self.edges))
        found = f"steps with the edges {self.edges} and the depths {self.depths}"
        expected = "increasing edges, and one more depth than edges"
        remedy = "Order the edges, and give a depth for each plateau"
        require(rising and len(self.depths) == len(self.edges) + 1, found, expected, remedy)

    @property
    def bounds(self) -> None:
        """There is no end to it."""
        return None

    def intersect(self, origins: FloatArray, directions: FloatArray, *, near: float = 0.0) -> Hits:
        """Nearest hits (t, normals) with t > near; see `Shape.intersect`."""
        # Blocks that reach infinitely far back leave no crack along the edges.
        bounds = (-math.inf, *self.edges, math.inf)
        blocks = [
            Box((left, -math.inf, depth), (right, math.inf, math.inf))
            for left, right, depth in zip(bounds[:-1], bounds[1:], self.depths, strict=True)
        ]
        return nearest(blocks, origins, directions, near=near)


def _plane_crossings(
    normal: FloatArray, point: Vector, origins: FloatArray, directions: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Where lines cross a plane, as t (...,), and their n . direction (...,)."""
    slant = dot(directions, normal)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = dot(np.asarray(point) - origins, normal) / slant
    return t, np.broadcast_to(slant, t.shape)
