"""The camera frame, and the only module that flips an axis.

Inside the library every vector is in the OpenCV camera frame: x right, y down, z forward, pixel
centres at integers, and a visible surface has ``n . ray < 0``. The four common conventions of
normal maps differ from it only by the signs of their axes.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from rayrelief.checks import as_array
from rayrelief.errors import InputError

FloatArray = npt.NDArray[np.float64]
SingleArray = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]

DepthKind = Literal["z", "distance"]
"""What a depth map measures: the z coordinate, or the distance along the ray."""

# Signs that take a normal from its convention to the OpenCV frame; each is its own inverse.
AXIS_SIGNS: dict[str, tuple[int, int, int]] = {
    "opencv": (1, 1, 1),  # x right, y down, z forward
    "opengl": (1, -1, -1),  # x right, y up, z toward the camera
    "dsine": (-1, -1, -1),  # x left, y up, z toward the camera
    "directx": (1, 1, -1),  # x right, y down, z toward the camera (left-handed)
}


def to_opencv(normals: npt.ArrayLike, convention: str) -> FloatArray:
    """Convert normals (..., 3) from a named convention to the OpenCV camera frame.

    Parameters
    ----------
    normals
        Vectors with x, y, z in the source convention along the last axis.
    convention
        ``"opencv"``, ``"opengl"``, ``"dsine"`` or ``"directx"``.

    Returns
    -------
    numpy.ndarray
        A new float64 array of the same shape; the input is not modified.
    """
    array = as_array(normals, "normals")
    if array.ndim == 0 or array.shape[-1] != 3:
        raise InputError(
            f"normals have the shape {array.shape}",
            expected="(..., 3), one vector x, y, z per pixel",
            remedy="Move the vector components to the last axis",
        )
    return array.astype(np.float64) * np.array(axis_signs(convention), dtype=np.float64)


def from_opencv(normals: npt.ArrayLike, convention: str) -> FloatArray:
    """Convert normals (..., 3) from the OpenCV camera frame to a named convention."""
    return to_opencv(normals, convention)  # sign flips are their own inverse


def axis_signs(convention: str) -> tuple[int, int, int]:
    """Signs that convert normals of a named convention to the OpenCV camera frame."""
    if not isinstance(convention, str) or convention not in AXIS_SIGNS:
        raise InputError(
            f"the convention {convention!r} is not known",
            expected="one of " + ", ".join(AXIS_SIGNS),
            remedy="See docs/conventions.md for the convention that your tool writes",
        )
    return AXIS_SIGNS[convention]
