"""Frames of a video: each starts from the surface of the frame before it, unless there is a cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rayrelief.conventions import FloatArray, SingleArray
from rayrelief.result import Integration
from rayrelief.scene import Scene

# Frames of one shot have most of their pixels in common, and most of these show the same: beyond
# either limit there is a cut.
COMMON = 0.5
SAME_DEGREES, SAME = 20.0, 0.5


@dataclass(frozen=True, eq=False)
class LastFrame:
    """What is kept of a frame for the next one.

    Attributes
    ----------
    normals
        (H, W, 3), NaN outside.
    depth
        (H, W), NaN outside.
    kind
        Camera and kind of the depth: another one makes the depths incomparable.
    """

    normals: SingleArray
    depth: FloatArray
    kind: tuple[type, str]

    @classmethod
    def of(cls, result: Integration) -> LastFrame | None:
        """Keep a frame; None if it has no surface to start from."""
        if not result.status.ok:
            return None
        kind = type(result.camera), result.depth_kind
        return cls(result.input_normals.astype(np.float32), result.depth, kind)

    def start_for(self, scene: Scene) -> FloatArray | None:
        """Depth (H, W) to start the next frame from, or None if there is a cut before it.

        Where the frame before has no depth, that of the nearest pixel is taken.
        """
        from scipy.ndimage import distance_transform_edt

        if scene.mask.shape != self.depth.shape or type(scene.camera) is not self.kind[0]:
            return None
        known = np.isfinite(self.depth)
        both = known & scene.mask
        if np.count_nonzero(both) < COMMON * np.count_nonzero(known | scene.mask):
            return None
        now, before = scene.normals[both], self.normals[both]
        with np.errstate(invalid="ignore"):
            now = now / np.linalg.norm(now, axis=-1, keepdims=True)
            cosine = np.einsum("ij,ij->i", now, before)
        if np.mean(cosine > np.cos(np.radians(SAME_DEGREES))) < SAME:
            return None
        nearest = distance_transform_edt(~known, return_distances=False, return_indices=True)
        start: FloatArray = self.depth[tuple(nearest)]
        return start
