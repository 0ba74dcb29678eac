"""Ray casting: closed-form shapes seen by any camera become exact normals and depth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rayrelief.cameras.base import Camera, depth_kind
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.conventions import FloatArray
from rayrelief.errors import CameraError, InputError
from rayrelief.scene import Scene
from rayrelief.synthetic.shapes import Shape, nearest

_BLOCK_PIXELS = 1 << 15  # intermediate arrays of a block stay below about 50 MB


def render(
    shapes: Sequence[Shape], camera: Camera, height: int, width: int, *, name: str = "synthetic"
) -> Scene:
    """Exact normals and depth of shapes seen by a camera, in the OpenCV camera frame.

    Parameters
    ----------
    shapes
        What there is to see; the nearest one wins.
    camera
        Any camera; an orthographic one also sees what lies behind z = 0.
    height, width
        Size of the picture.
    name
        Name of the scene.

    Returns
    -------
    Scene
        The depth is measured along ``camera.rays(height, width)``, NaN where a ray meets nothing;
        the mask is True where it meets something.
    """
    if not shapes:
        raise InputError(
            "there are no shapes", expected="at least one", remedy="Give a list of shapes"
        )
    rays = camera.rays(height, width)
    origins, near = _starts(camera, height, width)
    depth = np.full((height, width), np.nan)
    normals = np.full((height, width, 3), np.nan)
    rows = max(1, _BLOCK_PIXELS // width)
    for top in range(0, height, rows):
        block = slice(top, top + rows)
        t, block_normals = nearest(shapes, origins[block], rays[block], near=near)
        depth[block] = np.where(np.isfinite(t), t, np.nan)
        normals[block] = block_normals
    return Scene(
        normals=normals,
        mask=np.isfinite(depth),
        camera=camera,
        depth=depth,
        depth_kind=depth_kind(rays),
        name=name,
    )


def _starts(camera: Camera, height: int, width: int) -> tuple[FloatArray, float]:
    """Where the rays start, (height, width, 3), and the t from which on they see."""
    if isinstance(camera, Orthographic):
        return camera.origins(height, width), -np.inf
    if camera.central:
        return np.broadcast_to(np.zeros(3), (height, width, 3)), 0.0
    raise CameraError(
        f"{type(camera).__name__} has no single centre",
        expected="a central or an orthographic camera",
        remedy="Render through one of these",
    )
