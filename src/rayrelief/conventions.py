"""The camera frame, and the only module that flips or swaps an axis.

Inside the library every vector is in the OpenCV camera frame: x right, y down, z forward, pixel
centres at integers, and a visible surface has ``n . ray < 0``. A normal map in other axes differs
from it by the order and the signs of its channels. Three letters say both: the direction that
each channel points to, of Right or Left, Up or Down, Forward or Back (towards the camera).
"""

from __future__ import annotations

from itertools import permutations, product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rayrelief.checks import as_array
from rayrelief.errors import InputError

FloatArray = npt.NDArray[np.float64]
SingleArray = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]

DepthKind = Literal["z", "distance"]
"""What a depth map measures: the z coordinate, or the distance along the ray."""

CONVENTIONS: dict[str, str] = {"opengl": "RUB", "opencv": "RDF", "dsine": "LUB", "directx": "RDB"}
"""The four common conventions and their axes."""

SOURCES: dict[str, str] = {
    **CONVENTIONS,
    "stablenormal": "LUB",
    "geowizard": "LUB",
    "lotus": "LUB",
    "omnidata": "RDF",
    "moge": "RDF",
    "metric3d": "RDF",
    "marigold": "RUB",
    "sapiens": "RUB",
    "diligent": "RUB",
    "bini": "RUB",
    "blender": "RUB",
    "blenderproc": "RUB",
    "alicevision": "RUB",
    "sdm-unips": "RUB",
}
"""Axes of arrays by the names of what writes them."""

IMAGES: dict[str, str] = {"moge": "RUB", "metric3d": "FDR"}
"""Axes of the images of tools whose images have others than their arrays."""

AUTO = "auto"
"""Asks to find the axes out from the map."""

_DIRECTIONS = {"R": (0, 1), "L": (0, -1), "D": (1, 1), "U": (1, -1), "F": (2, 1), "B": (2, -1)}

ALL_AXES: tuple[str, ...] = tuple(
    "".join(code) for letters in product("RL", "DU", "FB") for code in permutations(letters)
)
"""All 48 ways to store a vector."""


def axes_of(convention: str, *, image: bool = False) -> str:
    """Axes, as three letters, of a convention, a source or an image of it; in any case.

    Parameters
    ----------
    convention
        A key of `SOURCES`, or three letters such as ``"RUB"``.
    image
        Whether the vectors come from an image: some tools write their images in other axes.
    """
    name = convention.strip().lower() if isinstance(convention, str) else ""
    if image and name in IMAGES:
        return IMAGES[name]
    if name in SOURCES:
        return SOURCES[name]
    if name.upper() in ALL_AXES:
        return name.upper()
    raise InputError(
        f"the convention {convention!r} is not known",
        expected=f"one of {', '.join(SOURCES)}, or three letters such as RUB "
        "(x right, y up, z back)",
        remedy="See docs/conventions.md for the convention that your tool writes, or ask "
        "'rayrelief doctor'",
    )


def convention_name(axes: str) -> str:
    """Name of axes given as three letters, where they have one."""
    return next((name for name, code in CONVENTIONS.items() if code == axes), axes)


def axes_in_words(axes: str) -> str:
    """Axes in words, such as "red right, green up, blue towards the camera"."""
    words = {"R": "right", "L": "left", "U": "up", "D": "down"}
    words |= {"F": "away from the camera", "B": "towards the camera"}
    channels = ("red", "green", "blue")
    return ", ".join(f"{channel} {words[a]}" for channel, a in zip(channels, axes, strict=True))


def to_opencv(normals: npt.ArrayLike, convention: str) -> FloatArray:
    """Convert normals (..., 3) from a named convention to the OpenCV camera frame.

    Parameters
    ----------
    normals
        Vectors in the axes of the convention along the last axis.
    convention
        ``"opencv"``, ``"opengl"``, ``"dsine"``, ``"directx"``, the name of what wrote them
        (``"marigold"``, ``"moge"`` ...), or three letters: where each component points to.

    Returns
    -------
    numpy.ndarray
        A new float64 array of the same shape; the input is not modified.
    """
    array, (channels, signs) = _vectors(normals), _layout(axes_of(convention))
    check_floats(array)
    order = np.argsort(channels)
    return _ordered(array, order, np.array(signs, dtype=np.float64)[order])


def from_opencv(normals: npt.ArrayLike, convention: str) -> FloatArray:
    """Convert normals (..., 3) from the OpenCV camera frame to a named convention."""
    array, (channels, signs) = _vectors(normals), _layout(axes_of(convention))
    return _ordered(array, np.array(channels), np.array(signs, dtype=np.float64))


def check_floats(normals: npt.NDArray[Any]) -> None:
    """Raise InputError for the colours of an image: integers that no unit vector has."""
    if np.issubdtype(normals.dtype, np.unsignedinteger) or (
        np.issubdtype(normals.dtype, np.integer) and normals.max(initial=0) > 1
    ):
        top = 255 if normals.max(initial=0) <= 255 else 65535
        raise InputError(
            f"normals of the type {normals.dtype}",
            expected="vectors of floats, not the colours of an image",
            remedy=decode_first(top),
        )


def decode_first(top: int) -> str:
    """What to do with colours from 0 to the top."""
    share = f"normals / {top}" if top > 1 else "normals"
    return (
        f"Decode them before the axes are converted: normals = {share} * 2 - 1; read_scene does "
        "both for files"
    )


def _layout(axes: str) -> tuple[list[int], list[int]]:
    """Component of the OpenCV frame that each channel holds, and its sign."""
    component, sign = zip(*(_DIRECTIONS[letter] for letter in axes), strict=True)
    return [*component], [*sign]


def _ordered(array: npt.NDArray[Any], order: npt.NDArray[Any], signs: FloatArray) -> FloatArray:
    """Components in another order and with these signs, as a new array of float64."""
    in_order = bool((order == np.arange(3)).all())
    found: FloatArray = (array if in_order else array[..., order]).astype(np.float64, copy=in_order)
    found *= signs
    return found


def _vectors(normals: npt.ArrayLike) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = as_array(normals, "normals")
    if array.ndim == 0 or array.shape[-1] != 3:
        raise InputError(
            f"normals have the shape {array.shape}",
            expected="(..., 3), one vector x, y, z per pixel",
            remedy="Move the vector components to the last axis",
        )
    return array
