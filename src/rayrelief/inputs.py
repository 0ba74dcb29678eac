"""Arrays that callers give, checked: normals, a mask, a confidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.checks import as_array, as_mask, require
from rayrelief.conventions import BoolArray, SingleArray, check_floats, decode_first
from rayrelief.errors import InputError
from rayrelief.formulation.confidence import check_any

SAMPLED = 256  # rows and columns that are looked at for colours
VARIED = 0.05  # range of each channel, at least
GREY = 0.02  # difference between the channels of a background, at most
UNIT = 0.03  # error of the length of a vector, at most
MOST = 0.9  # share of the pixels
TOPS = (1, 255, 65535)  # of colours


def checked_normals(normals: npt.ArrayLike) -> npt.NDArray[Any]:
    """Normals as an array (H, W, 3) of floats, or an InputError."""
    array = as_array(normals, "normals")
    if array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape:
        hint = "Move the channels to the end: numpy.moveaxis(normals, 0, -1)"
        chw = array.ndim == 3 and array.shape[0] == 3
        raise InputError(
            f"normals have the shape {array.shape}",
            expected="(height, width, 3)",
            remedy=hint if chw else "Give one vector x, y, z per pixel",
        )
    check_floats(array)
    return array


def check_decoded(normals: npt.NDArray[Any], mask: BoolArray) -> None:
    """Refuse colours: from 0 to 1, less 1/2, and twice that, they have unit length; else not.

    Whatever signs a change of axes has given them.
    """
    rows, columns = (np.s_[:: -(-length // SAMPLED)] for length in mask.shape)
    colours = np.abs(normals[rows, columns][mask[rows, columns]].astype(np.float64))
    colours = colours[np.isfinite(colours).all(axis=-1)]
    largest = colours.max(initial=0.0)
    top = next((top for top in TOPS if largest <= top * (1.0 + UNIT)), 0)
    if not top:
        return
    colours /= top
    colours = colours[np.ptp(colours, axis=-1) > GREY]
    if not len(colours) or np.ptp(colours, axis=0).min() < VARIED:
        return
    raw, decoded = (
        np.mean(np.abs(np.linalg.norm(vectors, axis=-1) - 1) < UNIT)
        for vectors in (colours, 2 * colours - 1)
    )
    require(
        decoded < MOST or raw > 1 - MOST,
        f"normals from 0 to {top}, as an image stores them",
        "vectors of floats, not the colours of an image",
        decode_first(top),
    )


def checked_mask(mask: npt.ArrayLike | None, shape: tuple[int, ...]) -> BoolArray:
    """Mask (H, W) of the size of the normal map, with pixels inside, or an InputError."""
    if mask is None:
        return np.ones((shape[0], shape[1]), dtype=np.bool_)
    array = as_mask(mask)
    if array.shape != tuple(shape):
        raise InputError(
            f"the mask has the shape {array.shape}",
            expected=f"{tuple(shape)}, the size of the normal map",
            remedy="Crop or resize the mask to the normal map",
        )
    if not array.any():
        raise InputError(
            "the mask is empty",
            expected="at least one pixel inside (True)",
            remedy="Check that the mask is not inverted",
        )
    return array


def checked_confidence(confidence: npt.ArrayLike, shape: tuple[int, int]) -> SingleArray:
    """Confidence (H, W) from 0 to 1, with 0 where it is NaN, or an InputError."""
    given = as_array(confidence, "the confidence").astype(np.float64, copy=False)
    array = np.nan_to_num(given, posinf=np.inf, neginf=-np.inf)
    if array.shape != shape or not np.all((array >= 0) & (array <= 1)):
        found = f"from {array.min():g} to {array.max():g}" if array.size else "no values"
        raise InputError(
            f"the confidence has the shape {array.shape}, and values {found}",
            expected=f"{shape}, the size of the normal map, from 0 for none to 1 for full",
            remedy="Divide it by its largest value; of an uncertainty s take min(s) ** 2 / s ** 2",
        )
    check_any(float(array.max()))
    return array.astype(np.float32)
