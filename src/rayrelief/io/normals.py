"""Normal maps from files: decoded to vectors, still in the frame of the file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import FileError
from rayrelief.io.arrays import read_array
from rayrelief.io.masks import above_half
from rayrelief.io.sources import FORMATS

# Names of arrays in .npz and .mat files, and of layers in .exr files.
NORMAL_KEYS = ("Normal_gt", "Normal_est", "normals", "normal", "Normal", "RGB", "RGBA", "XYZ")
IMAGE_FORMATS = ("PNG", "TIFF", "JPEG", "EXR")
COLOURS = ("PNG", "TIFF", "JPEG")
ROUNDING = 0.01
"""How far resampling may push a float file out of its range without changing what it means."""


@dataclass(frozen=True, eq=False)
class NormalFile:
    """A normal map as a file holds it, in the frame of the file.

    Attributes
    ----------
    normals
        (H, W, 3) vectors, not normalised; NaN where the file has no normal.
    mask
        (H, W), True where the alpha channel is above half; None without an alpha channel.
    notes
        How the values were decoded.
    image
        Whether it is an image of colours, and not an array.
    """

    normals: FloatArray
    mask: BoolArray | None
    notes: tuple[str, ...]
    image: bool = False


def read_normals(path: str | os.PathLike[str]) -> NormalFile:
    """Read a normal map in the frame of its file: vectors (H, W, 3), NaN where there is none.

    Integers are decoded from 8 or 16 bits. Floats are taken as they are, unless the file lies
    within [0, 1] and only n = 2 v - 1 gives unit vectors. Black pixels and zero vectors (for
    integers also mid grey) are background.

    Parameters
    ----------
    path
        An image, or a .npy, .npz or .mat array, of the shape (H, W, 3) or (3, H, W).
    """
    path = Path(path)
    array = read_array(path, keys=NORMAL_KEYS)
    notes: list[str] = []
    if array.ndim == 3 and array.shape[0] == 3 and array.shape[2] not in (3, 4):
        array = np.moveaxis(array, 0, -1)
        notes.append("components moved from the first to the last axis")
    check_shape(path, array)

    vectors = array[..., :3]
    mask = above_half(array[..., 3]) if array.shape[2] == 4 else None
    check_colour(path, vectors)
    normals, note, step = decode(path, vectors)
    notes.append(note)
    if FORMATS[path.suffix.lower()] == "JPEG":
        notes.append("JPEG compression reduces the accuracy: prefer 16-bit PNG")

    black = ~vectors.any(axis=-1)
    zero = (np.abs(normals) <= step / 2 * (1 + 1e-9)).all(axis=-1)
    background = black | zero | ~np.isfinite(normals).all(axis=-1)
    normals[background] = np.nan
    if background.all():
        raise FileError(
            f"{path} has no normal: all pixels are black, zero or NaN",
            expected="a normal map",
            remedy="Check that this is the right file",
        )
    if background.any():
        notes.append(f"{background.sum():,} pixels without a normal (black, zero or NaN)")
    return NormalFile(normals, mask, tuple(notes), image=FORMATS[path.suffix.lower()] in COLOURS)


def check_shape(path: Path, array: npt.NDArray[Any]) -> None:
    """Raise FileError unless an array is (H, W, 3), or an image with an alpha channel."""
    has_alpha = FORMATS[path.suffix.lower()] in IMAGE_FORMATS and array.shape[2:] == (4,)
    if array.ndim == 3 and array.size > 0 and (array.shape[2] == 3 or has_alpha):
        return
    if array.ndim == 2 or array.shape[2:] == (1,):
        found = f"{path} is grey: one value per pixel, shape {array.shape}"
    elif array.shape[2:] == (2,):
        found = f"{path} has two channels per pixel, shape {array.shape}"
    else:
        found = f"{path} has the shape {array.shape}"
    raise FileError(
        found,
        expected="a normal map with three components, (H, W, 3) or (3, H, W)",
        remedy="Save x, y and z; from two components, z = sqrt(1 - x^2 - y^2)",
    )


def check_colour(path: Path, vectors: npt.NDArray[Any]) -> None:
    """Raise FileError for a grey image that is stored as RGB."""
    if np.array_equal(vectors[..., 0], vectors[..., 1]) and np.array_equal(
        vectors[..., 1], vectors[..., 2]
    ):
        raise FileError(
            f"{path} is grey: its three channels are equal",
            expected="a normal map with three components",
            remedy="Check that this is not a depth, height or mask image",
        )


def decode(path: Path, vectors: npt.NDArray[Any]) -> tuple[FloatArray, str, float]:
    """Return the vectors, a note that says how they were decoded, and the step of the values."""
    if vectors.dtype in (np.uint8, np.uint16):
        top = np.iinfo(vectors.dtype).max
        bits = 8 * vectors.dtype.itemsize
        return vectors / top * 2.0 - 1.0, f"{bits}-bit, decoded as value / {top} * 2 - 1", 2.0 / top
    if not np.issubdtype(vectors.dtype, np.floating):
        raise FileError(
            f"{path} holds values of the type {vectors.dtype}",
            expected="8- or 16-bit unsigned integers, or floats",
            remedy="Save the vectors as floats between -1 and 1",
        )
    vectors = vectors.astype(np.float64)
    finite = vectors[np.isfinite(vectors).all(axis=-1) & vectors.any(axis=-1)]
    if finite.size == 0 or finite.min() < -ROUNDING:
        return vectors, "floats, as stored", 0.0
    if finite.max() > 1.0 + ROUNDING:
        raise FileError(
            f"{path} holds floats from {finite.min():g} to {finite.max():g}",
            expected="components between -1 and 1, or encoded between 0 and 1",
            remedy="Decode the values to vectors, or save them as integers",
        )
    # A flat wall (0, 0, 1) also lies within [0, 1]: the length tells vectors from colours.
    if length_error(finite) <= length_error(2.0 * finite - 1.0):
        return vectors, "floats, as stored", 0.0
    return 2.0 * vectors - 1.0, "floats between 0 and 1, decoded as 2 * value - 1", 0.0


def length_error(vectors: FloatArray) -> float:
    """Median distance of the lengths of vectors (N, 3) from 1."""
    return float(np.median(np.abs(np.linalg.norm(vectors, axis=-1) - 1.0)))
