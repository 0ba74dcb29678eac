"""What a camera sees of the world: fields of view, the area without rays, the kind of depth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rayrelief.cameras.base import Camera, depth_kind, scale_rays, unit_length
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.conventions import DepthKind, FloatArray

MOST_ROWS = 400  # and columns, that are looked at: an image may be declared to have any size
MOST_STEPS = 10_000


@dataclass(frozen=True)
class Survey:
    """What there is to see in an image.

    Angles are in degrees, from border to border of the image.

    Attributes
    ----------
    across, down
        Field of view along the row and the column through the middle of the image.
    widest
        Largest angle between a ray and the z axis.
    invalid
        Fraction of the pixels that have no ray.
    kind
        What the depth along the rays measures.
    wraps
        Whether the last column is a neighbour of the first.
    """

    across: float
    down: float
    widest: float
    invalid: float
    kind: DepthKind
    wraps: bool


def survey(camera: Camera, height: int, width: int) -> Survey:
    """Look at an image of this size through a camera; of a large one at rays spread over it."""
    camera.check_resolution(height, width)
    unit = ray_grid(camera, _spread(height, MOST_ROWS), _spread(width, MOST_ROWS))
    valid = np.isfinite(unit[..., 0])
    kind = depth_kind(scale_rays(unit))  # raises where no pixel has a ray
    parallel = not camera.central
    return Survey(
        across=0.0 if parallel else _field(camera, width, (height - 1) / 2, 0),
        down=0.0 if parallel else _field(camera, height, (width - 1) / 2, 1),
        widest=float(np.degrees(off_axis(unit)[valid].max())),
        invalid=1.0 - float(valid.mean()),
        kind=kind,
        wraps=camera.wraps(width),
    )


def ray_grid(camera: Camera, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Unit rays (rows, columns, 3) of some rows and columns of an image; NaN where none."""
    pixels = np.empty((len(rows), len(columns), 2))
    pixels[..., 0], pixels[..., 1] = columns, rows[:, None]
    return unit_length(camera.directions(pixels))


def _spread(count: int, most: int) -> FloatArray:
    """So many of some pixel centres at most, from the first to the last."""
    return np.rint(np.linspace(0, count - 1, min(count, most)))


def off_axis(unit: FloatArray) -> FloatArray:
    """Angle (...) in radians between unit rays (..., 3) and the z axis; NaN where there is none."""
    angle: FloatArray = np.arctan2(np.hypot(unit[..., 0], unit[..., 1]), unit[..., 2])
    return angle


def _field(camera: Camera, count: int, middle: float, axis: int) -> float:
    """Degrees from border to border of an image, along the row or column through its middle."""
    # Between pixel centres, and beyond them, only a camera with parameters knows its rays.
    between = isinstance(camera, IntrinsicCamera)
    if between:
        places = np.linspace(-0.5, count - 0.5, min(count, MOST_STEPS) + 1)
    else:
        places = np.arange(count, dtype=np.float64)
    pixels = np.full((len(places), 2), middle if between else round(middle))
    pixels[:, axis] = places
    line = camera.directions(pixels)
    line = line[np.isfinite(line[:, 0])]
    if len(line) < 2:
        return 0.0
    line /= np.linalg.norm(line, axis=1, keepdims=True)
    # The chord keeps its digits for neighbours, where the arc cosine loses half of them.
    chord = np.linalg.norm(np.diff(line, axis=0), axis=1)
    angle = math.degrees(np.sum(2 * np.arcsin(np.minimum(chord / 2, 1.0))))
    return angle if between else angle * len(line) / (len(line) - 1)
