"""Surfaces that are a function of the direction or of the pixel: something to see everywhere."""

from __future__ import annotations

import numpy as np

from rayrelief.cameras.base import Camera, depth_kind
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.conventions import FloatArray
from rayrelief.errors import CameraError
from rayrelief.scene import Scene

# The room is a rounded box |x/a|^4 + |y/b|^4 + |z/c|^4 = 1 around the camera ...
HALF_SIZES = np.array([3.2, 2.1, 3.8])
# ... whose distance in a direction d is scaled by 1 + sum of h sin(k . d + phase).
WAVES = (
    (0.04, np.array([7.0, 2.0, -3.0]), 0.3),
    (0.03, np.array([-2.0, 9.0, 4.0]), 1.7),
    (0.02, np.array([5.0, -6.0, 11.0]), 2.9),
)


def wavy_room(height: int, width: int, camera: Camera | None = None) -> Scene:
    """Inside of a rounded box with wavy walls around the camera: continuous in every direction."""
    camera = Pinhole.from_fov(50.0, height, width) if camera is None else camera
    if not camera.central:
        raise CameraError(
            f"a {type(camera).__name__} camera cannot be placed in a room",
            expected="a central camera",
            remedy="Use wavy_relief for an orthographic one",
        )
    rays = camera.rays(height, width)
    length = np.linalg.norm(rays, axis=-1, keepdims=True)
    d = rays / length
    # distance(d) is constant along rays: its gradient at the wall is that across the ray over it.
    distance, gradient = _distance(d)
    across = gradient - np.sum(gradient * d, axis=-1, keepdims=True) * d
    towards = across / distance[..., None] - d
    return Scene(
        normals=towards / np.linalg.norm(towards, axis=-1, keepdims=True),
        mask=np.isfinite(distance),
        camera=camera,
        depth=distance / length[..., 0],
        depth_kind=depth_kind(rays),
        name="wavy_room",
    )


def wavy_relief(height: int, width: int, camera: Orthographic | None = None) -> Scene:
    """Plate with waves in all directions, in front of an orthographic camera."""
    if camera is None:
        camera = Orthographic(2.0 / max(height, width), (width - 1) / 2, (height - 1) / 2)
    if not isinstance(camera, Orthographic):
        raise CameraError(
            f"a {type(camera).__name__} camera does not see a relief as a function of its pixels",
            expected="an Orthographic camera",
            remedy="Use wavy_room for a central one",
        )
    x, y, _ = np.moveaxis(camera.origins(height, width), -1, 0)
    depth, slope_x, slope_y = np.full(x.shape, 2.0), np.zeros(x.shape), np.zeros(x.shape)
    for amplitude, k, phase in WAVES:
        angle = k[0] * x + k[1] * y + phase
        depth += amplitude * np.sin(angle)
        slope_x += amplitude * k[0] * np.cos(angle)
        slope_y += amplitude * k[1] * np.cos(angle)
    towards = np.stack((slope_x, slope_y, -np.ones(x.shape)), axis=-1)
    return Scene(
        normals=towards / np.linalg.norm(towards, axis=-1, keepdims=True),
        mask=np.ones(x.shape, dtype=np.bool_),
        camera=camera,
        depth=depth,
        name="wavy_relief",
    )


def _distance(d: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distance (H, W) of the wall in directions (H, W, 3), and its gradient by them (H, W, 3)."""
    powers = (d / HALF_SIZES) ** 4
    box = np.sum(powers, axis=-1) ** -0.25
    box_gradient = -(box**5)[..., None] * (d / HALF_SIZES) ** 3 / HALF_SIZES
    factor, factor_gradient = np.ones(box.shape), np.zeros(d.shape)
    for amplitude, k, phase in WAVES:
        angle = d @ k + phase
        factor += amplitude * np.sin(angle)
        factor_gradient += (amplitude * np.cos(angle))[..., None] * k
    return box * factor, box_gradient * factor[..., None] + box[..., None] * factor_gradient
