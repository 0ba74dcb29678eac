"""Ray casting: closed-form shapes seen by any camera become exact normals and depth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rayrelief.cameras.base import Camera, depth_kind
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import CameraError, InputError
from rayrelief.scene import Scene
from rayrelief.synthetic.shapes import Shape
from rayrelief.synthetic.tiles import Tiles, Window

_BLOCK_PIXELS = 1 << 14  # the intermediate arrays of a block stay in the cache


def render(
    shapes: Sequence[Shape], camera: Camera, height: int, width: int, *, name: str = "synthetic"
) -> Scene:
    """Exact normals and depth of shapes seen by a camera, in the OpenCV camera frame.

    Parameters
    ----------
    shapes
        Shapes of the scene; the nearest one is seen. It is fastest to list them from near to far,
        because shapes occluded by an earlier one are skipped.
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
    tiles = Tiles.of(origins, rays, lines=near < 0)
    depth = np.full((height, width), np.inf)
    normals = np.full((height, width, 3), np.nan)
    for shape in shapes:
        ball = shape.bounds
        window = (slice(0, height), slice(0, width)) if ball is None else tiles.window(ball)
        for block in _blocks(window):
            starts = _part(origins, block)
            _add(shape, starts, rays[block], near, depth[block], normals[block])
    mask = np.isfinite(depth)
    depth[~mask] = np.nan
    return Scene(
        normals=normals,
        mask=mask,
        camera=camera,
        depth=depth,
        depth_kind=depth_kind(rays),
        name=name,
    )


def _starts(camera: Camera, height: int, width: int) -> tuple[FloatArray, float]:
    """Where the rays start, (3,) or (height, width, 3), and the t from which on they see."""
    if isinstance(camera, Orthographic):
        return camera.origins(height, width), -np.inf
    if camera.central:
        return np.zeros(3), 0.0
    raise CameraError(
        f"{type(camera).__name__} has no single centre",
        expected="a central or an orthographic camera",
        remedy="Render through one of these",
    )


def _blocks(window: Window) -> Iterator[Window]:
    """Cut a window into blocks of rows."""
    rows, columns = window
    step = max(1, _BLOCK_PIXELS // max(1, columns.stop - columns.start))
    for top in range(rows.start, rows.stop, step):
        yield slice(top, min(top + step, rows.stop)), columns


def _part(origins: FloatArray, where: Window | BoolArray) -> FloatArray:
    """Origins of some of the pixels; one origin serves all."""
    return origins if origins.ndim == 1 else origins[where]


def _add(
    shape: Shape,
    origins: FloatArray,
    rays: FloatArray,
    near: float,
    depth: FloatArray,
    normals: FloatArray,
) -> None:
    """Put a shape into a part of the picture, where nothing nearer stands before it."""
    if shape.bounds is None:
        chosen = np.ones(depth.shape, dtype=np.bool_)
    else:
        entry, exit_ = shape.bounds.chord(origins, rays)
        chosen = (exit_ > near) & (entry < depth)
    t, facing = shape.intersect(_part(origins, chosen), rays[chosen], near=near)
    closer = t < depth[chosen]
    chosen[chosen] = closer
    depth[chosen], normals[chosen] = t[closer], facing[closer]
