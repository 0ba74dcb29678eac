"""Scene: the input of an integration, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from rayrelief.cameras.base import Camera
from rayrelief.conventions import BoolArray, DepthKind, FloatArray


@dataclass(frozen=True, eq=False)
class Scene:
    """A normal map with its camera, in the OpenCV camera frame.

    Attributes
    ----------
    normals
        (H, W, 3) float64, facing the camera (n . ray < 0); arbitrary outside the mask.
    mask
        (H, W), True inside.
    camera
        Gives the ray of every pixel.
    depth
        (H, W) ground truth, NaN outside; or None.
    depth_kind
        What ``depth`` measures: "z" or "distance" along the ray.
    confidence
        (H, W) from 0 to 1, how far each normal is to be trusted; None if nothing is known.
    name
        For tables and file names.
    notes
        What the reader assumed: convention, order of K.txt, mask.
    """

    normals: FloatArray
    mask: BoolArray
    camera: Camera
    depth: FloatArray | None = None
    depth_kind: DepthKind = "z"
    confidence: FloatArray | None = None
    name: str = "scene"
    notes: tuple[str, ...] = ()
