"""Other libraries as oracles: each sees only part of what a model sees, and says the same there."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from rayrelief.cameras.fisheye import Equidistant
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.conventions import FloatArray


def points_in_front(seed: int, count: int = 300) -> FloatArray:
    """Points (count, 3) at depths from 1 to 3, up to 70 degrees off the axis."""
    return np.random.default_rng(seed).uniform((-2, -2, 1), (2, 2, 3), (count, 3))


def colmap_pixels(camera: IntrinsicCamera, model: str, points: FloatArray) -> FloatArray:
    """Pixels (n, 2) of points in COLMAP's model of that name, its pixel centres put to integers.

    The parameters of the model are those of the camera in the order of their declaration.
    """
    pycolmap = pytest.importorskip("pycolmap")
    common = {field.name for field in fields(Equidistant)}
    own = [getattr(camera, f.name) for f in fields(camera) if f.name not in common]
    intrinsics = [camera.fx, camera.fy, camera.cx + 0.5, camera.cy + 0.5]
    other = pycolmap.Camera(model=model, width=640, height=480, params=[*intrinsics, *own])
    return np.asarray(other.img_from_cam(points)) - 0.5
