"""Frames of a video: each starts from the surface of the frame before it, unless there is a cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from rayrelief.cameras.base import Camera, depth_kind, scale_rays, unit_length
from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.result import Integration
from rayrelief.scene import Scene

# Frames of one shot have most of their pixels in common, and most of these show the same: beyond
# either limit there is a cut.
COMMON = 0.5
SAME_DEGREES, SAME = 20.0, 0.5
# Rays of one shot differ by less than this, over their spread: a lens may zoom from frame to frame.
SAME_RAYS = 0.1
GRID = 33  # rays along a side that are compared


@dataclass(frozen=True, eq=False)
class LastFrame:
    """What is kept of a frame for the next one.

    Attributes
    ----------
    normals
        (H, W, 3) of unit length, NaN outside.
    depth
        (H, W), NaN outside.
    camera
        Another one makes the depths incomparable.
    """

    normals: SingleArray
    depth: FloatArray
    camera: Camera

    @classmethod
    def of(cls, scene: Scene, result: Integration) -> LastFrame | None:
        """Keep a frame; None if it has no surface to start from."""
        return cls.with_depth(scene, result.depth) if result.status.ok else None

    @classmethod
    def with_depth(cls, scene: Scene, depth: FloatArray) -> LastFrame:
        """Keep a frame whose depth (H, W) is known."""
        return cls(_unit(scene.normals, scene.mask), depth, scene.camera)

    def cut_before(self, scene: Scene) -> str:
        """Why the next frame does not go on from this one; empty if it does."""
        if scene.mask.shape != self.depth.shape:
            return "another size"
        if not _is_same(self.camera, scene.camera, *self.depth.shape):
            return "another camera"
        known = np.isfinite(self.depth)
        both = known & scene.mask
        if np.count_nonzero(both) < COMMON * np.count_nonzero(known | scene.mask):
            return "another mask"
        now, before = _unit(scene.normals, scene.mask)[both], self.normals[both]
        cosine = np.einsum("ij,ij->i", now, before)
        same = np.mean(cosine > np.cos(np.radians(SAME_DEGREES))) >= SAME
        return "" if same else "other normals"

    def start_for(self, scene: Scene) -> FloatArray | None:
        """Depth (H, W) to start the next frame from, or None if there is a cut before it.

        Where the frame before has no depth, that of the nearest pixel is taken.
        """
        from scipy.ndimage import distance_transform_edt

        if self.cut_before(scene):
            return None
        outside = ~np.isfinite(self.depth)
        nearest = distance_transform_edt(outside, return_distances=False, return_indices=True)
        start: FloatArray = self.depth[tuple(nearest)]
        return start


def _unit(normals: FloatArray, mask: BoolArray) -> SingleArray:
    """Normals of unit length, NaN outside, however they are stored in files."""
    with np.errstate(invalid="ignore"):
        unit = normals / np.linalg.norm(normals, axis=-1, keepdims=True)
    return cast("SingleArray", np.where(mask[..., None], unit, np.nan).astype(np.float32))


def _is_same(one: Camera, other: Camera, height: int, width: int) -> bool:
    """Whether depths of two cameras can be compared."""
    if not (one.central and other.central):
        return type(one) is type(other) and one.parameters() == other.parameters()
    columns, rows = (np.linspace(0, length - 1, GRID).round() for length in (width, height))
    grid = np.stack(np.meshgrid(columns, rows), axis=-1)
    here, there = (unit_length(camera.directions(grid)) for camera in (one, other))
    if depth_kind(scale_rays(here)) != depth_kind(scale_rays(there)):
        return False
    both = np.isfinite(here[..., 0]) & np.isfinite(there[..., 0])
    here, there = here[both], there[both]
    spread = here - here.mean(axis=0) if here.size else here
    return bool(np.sum((here - there) ** 2) <= SAME_RAYS**2 * np.sum(spread**2))
