"""Masks from files: True is inside."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray
from rayrelief.errors import FileError
from rayrelief.io.arrays import read_array
from rayrelief.io.sources import as_path


@np.errstate(invalid="ignore", over="ignore")  # files hold any bits
def read_mask(path: str | os.PathLike[str]) -> BoolArray:
    """Read a mask (H, W): True where a pixel lies above half of its range.

    The range is that of the type for 8- and 16-bit integers and [0, 1] for floats; integers that
    are all 0 or 1 are taken as such. An alpha channel decides if it varies; otherwise a pixel
    is inside if any of its colours is.
    """
    path = as_path(path)
    array = read_array(path, keys=("mask",))
    if array.ndim == 3 and array.shape[2] == 4 and array.size > 0:
        alpha = array[..., 3]
        array = alpha if alpha.min() != alpha.max() else array[..., :3]
    if array.ndim not in (2, 3) or array.shape[2:] not in ((), (1,), (3,)) or array.size == 0:
        raise FileError(
            f"{path} has the shape {array.shape}",
            expected="a mask of the shape (H, W)",
            remedy="Save one value per pixel",
        )
    inside = threshold(path, array)
    return inside if inside.ndim == 2 else np.any(inside, axis=-1)


def threshold(path: Path, array: npt.NDArray[Any]) -> BoolArray:
    """Where the values of a mask of any type are inside."""
    if np.issubdtype(array.dtype, np.complexfloating):
        raise FileError(
            f"{path} holds complex numbers",
            expected="a mask of real numbers",
            remedy="Save the mask as booleans",
        )
    if array.dtype == np.bool_ or _is_zero_or_one(array):
        return array.astype(np.bool_)
    if array.dtype in (np.uint8, np.uint16):
        return above_half(array)
    low, high = np.fmin.reduce(array, axis=None), np.fmax.reduce(array, axis=None)  # skip NaN
    if np.issubdtype(array.dtype, np.floating) and low >= 0 and high <= 1:
        return above_half(array)
    raise FileError(
        f"{path} holds {array.dtype} values from {low} to {high}",
        expected="booleans, 8- or 16-bit unsigned integers, or numbers between 0 and 1",
        remedy="Save the mask as booleans",
    )


def _is_zero_or_one(array: npt.NDArray[Any]) -> bool:
    if array.dtype.kind == "u":  # without the room that the other way takes
        return bool(array.max() <= 1)
    return bool(np.isin(array, (0, 1)).all())


def above_half(channel: npt.NDArray[Any]) -> BoolArray:
    """Where a channel lies above half of its range: of the type for integers, 1 for floats."""
    top = np.iinfo(channel.dtype).max if np.issubdtype(channel.dtype, np.integer) else 1.0
    inside: BoolArray = channel > top / 2
    return inside
