"""What a camera sees of the world: fields of view, the area without rays, the kind of depth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rayrelief.cameras.base import Camera, depth_kind, scale_rays
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.conventions import DepthKind, FloatArray


@dataclass(frozen=True)
class Survey:
    """Angles in degrees, from border to border of the image.

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
    """Look at an image of this size through a camera."""
    unit = camera.unit_rays(height, width)
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


def off_axis(unit: FloatArray) -> FloatArray:
    """Angle (...) in radians between unit rays (..., 3) and the z axis; NaN where there is none."""
    angle: FloatArray = np.arctan2(np.hypot(unit[..., 0], unit[..., 1]), unit[..., 2])
    return angle


def _field(camera: Camera, count: int, middle: float, axis: int) -> float:
    """Degrees from border to border of an image, along the row or column through its middle."""
    # Between pixel centres, and beyond them, only a camera with parameters knows its rays.
    between = isinstance(camera, IntrinsicCamera)
    pixels = np.full((count + 1 if between else count, 2), middle if between else round(middle))
    pixels[:, axis] = np.arange(len(pixels)) - (0.5 if between else 0.0)
    line = camera.directions(pixels)
    line = line[np.isfinite(line[:, 0])]
    if len(line) < 2:
        return 0.0
    line /= np.linalg.norm(line, axis=1, keepdims=True)
    # The chord keeps its digits for neighbours, where the arc cosine loses half of them.
    chord = np.linalg.norm(np.diff(line, axis=0), axis=1)
    angle = math.degrees(np.sum(2 * np.arcsin(np.minimum(chord / 2, 1.0))))
    return angle if between else angle * len(line) / (len(line) - 1)
