"""View: a camera looking at an image of one size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rayrelief.cameras.base import Camera, depth_kind
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.conventions import DepthKind, FloatArray
from rayrelief.errors import CameraError


@dataclass(frozen=True, eq=False)
class View:
    """Rays of an image in the camera frame: a pixel sees the points origin + depth * ray.

    Rays and origins are computed when they are first needed, and kept as long as the view.
    ``periodic`` says whether the rows, and the columns, of an orthographic image repeat.
    """

    camera: Camera
    height: int
    width: int
    periodic: tuple[bool, bool] = (False, False)

    @classmethod
    def of(
        cls, camera: Camera, height: int, width: int, periodic: tuple[bool, bool] = (False, False)
    ) -> View:
        """Look through a camera at an image of this size."""
        camera.check_resolution(height, width)
        if any(periodic) and not isinstance(camera, Orthographic):
            raise CameraError(
                f"a periodic map through a {type(camera).__name__} camera",
                expected="an orthographic camera: a texture that repeats has no perspective",
                remedy="Use rayrelief.cameras.Orthographic() (--camera orthographic)",
            )
        return cls(camera, height, width, periodic)

    def unused(self) -> View:
        """Return the same view, holding no rays yet."""
        return View(self.camera, self.height, self.width, self.periodic)

    @property
    def turn(self) -> tuple[float, float]:
        """How far apart in x and y the copies of a periodic image are; 0 where it is not."""
        if not isinstance(self.camera, Orthographic):
            return 0.0, 0.0
        (rows, columns), side = self.periodic, self.camera.pixel_size
        return side * self.width * columns, side * self.height * rows

    @cached_property
    def rays(self) -> FloatArray:
        """(H, W, 3), z = 1 or unit length; NaN where there is none."""
        return self.camera.rays(self.height, self.width)

    @cached_property
    def origins(self) -> FloatArray | None:
        """(H, W, 3) for parallel rays; None where all start at the camera."""
        if not isinstance(self.camera, Orthographic):
            return None
        return self.camera.origins(self.height, self.width)

    @property
    def wraps(self) -> bool:
        """Whether the last column is a neighbour of the first one."""
        return self.camera.wraps(self.width)

    @property
    def joined(self) -> tuple[bool, bool]:
        """Whether the last row is a neighbour of the first one, and the last column."""
        return self.periodic[0], self.periodic[1] or self.wraps

    @property
    def kind(self) -> DepthKind:
        """What the depth along these rays measures."""
        return depth_kind(self.rays)

    def points(self, depth: FloatArray) -> FloatArray:
        """Points (H, W, 3) at a depth (H, W); NaN where the depth is."""
        along = depth[..., None] * self.rays
        return along if self.origins is None else self.origins + along

    def footprint(self, depth: FloatArray) -> FloatArray:
        """Side of a pixel on a surface that faces the camera, (H, W), in units of depth."""
        if isinstance(self.camera, Orthographic):
            return np.full(depth.shape, self.camera.pixel_size)
        # Means of the steps that exist: at the rim of a ray map some neighbours have no ray.
        total, count = np.zeros(depth.shape), np.zeros(depth.shape)
        for axis in (0, 1):
            step = np.linalg.norm(np.diff(self.rays, axis=axis), axis=-1)
            around = self._around(axis)
            for neighbour in ((around, step), (step, around)):
                length = np.concatenate(neighbour, axis=axis)
                count += np.isfinite(length)
                total += np.nan_to_num(length)
        return depth * total / np.maximum(count, 1)

    def _around(self, axis: int) -> FloatArray:
        """Step from the last to the first ray of an axis, (1, W) or (H, 1); NaN if not joined."""
        first, last = np.take(self.rays, [0], axis), np.take(self.rays, [-1], axis)
        step: FloatArray = np.linalg.norm(first - last, axis=-1)
        return step if axis == 1 and self.wraps else np.full_like(step, np.nan)


def points_at(camera: Camera, kind: DepthKind, pixels: FloatArray, depth: FloatArray) -> FloatArray:
    """Points (..., 3) at a depth (...) of this kind, seen at pixels (..., 2)."""
    if isinstance(camera, Orthographic):
        offset = (pixels - (camera.cx, camera.cy)) * camera.pixel_size
        return np.concatenate((offset, depth[..., None]), axis=-1)
    rays = camera.directions(pixels)
    along = rays[..., 2:] if kind == "z" else np.linalg.norm(rays, axis=-1, keepdims=True)
    points: FloatArray = depth[..., None] * rays / along
    return points
