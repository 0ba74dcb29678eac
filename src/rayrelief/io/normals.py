"""Normal maps from files: decoded to vectors, still in the frame of the file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import FileError, in_number
from rayrelief.io.arrays import read_array
from rayrelief.io.encoding import (
    SAMPLE,
    UNIT,
    Decoded,
    decode,
    from_colours,
    unit_share,
)
from rayrelief.io.masks import above_half
from rayrelief.io.sources import FORMATS, as_path

# Names of arrays in .npz, .mat and .h5 files, and of layers in .exr files.
NORMAL_KEYS = ("Normal_gt", "Normal_est", "normals", "normal", "Normal", "RGB", "RGBA", "XYZ")
IMAGES = ("PNG", "TIFF", "JPEG")
IMAGES_WITH_ALPHA = (*IMAGES, "EXR")
FRINGE = 3  # pixels around a background that JPEG mixes with it
FEWER_BITS = (8, 10, 12, 14)  # that a sensor or a program may put into 16
CONTENT = 0.05  # share of a picture that shows something, at least


@dataclass(frozen=True, eq=False)
class NormalFile:
    """A normal map as a file holds it, in the frame of the file.

    Attributes
    ----------
    normals
        (H, W, 3) vectors, not normalised; NaN where the file has no normal.
    mask
        (H, W), True where the alpha channel is above half; None without one, or if it is all.
    notes
        How the values were decoded.
    outside
        (H, W), True where there is no normal, or a colour that is none.
    confidence
        (H, W) from 0 to 1, the fourth channel of an array; None without one.
    image
        Whether it is an image of colours, and not an array.
    coded
        Whether the vectors were decoded from colours, so that all normals had a length of 1.
    """

    normals: FloatArray
    mask: BoolArray | None
    notes: tuple[str, ...]
    outside: BoolArray
    confidence: FloatArray | None = None
    image: bool = False
    coded: bool = False


@np.errstate(invalid="ignore", over="ignore")  # files hold any bits
def read_normals(path: str | os.PathLike[str]) -> NormalFile:
    """Read a normal map in the frame of its file: vectors (H, W, 3), NaN where there is none.

    Integers are decoded from 8 or 16 bits; the lengths of the vectors tell values of 8 bits that
    were truncated, another zero, an sRGB curve and two channels. Floats are taken as they are,
    unless the file lies within [0, 1] and only n = 2 v - 1 gives unit vectors. Black and white
    pixels and zero vectors (for integers also mid grey) are background.

    Parameters
    ----------
    path
        An image, or an array in a .npy, .npz, .mat or .h5 file, of the shape (H, W, 3), (3, H, W)
        or (1, 3, H, W); a fourth channel is alpha or, of floats, a confidence. Of an image that
        shows a photo beside its normals, the half with the normals is read.
    """
    path = as_path(path)
    kind = FORMATS.get(path.suffix.lower(), "")
    array, notes = components_last(read_array(path, keys=NORMAL_KEYS))
    check_shape(path, array)
    array, side_note = normals_of_a_pair(array) if kind in IMAGES else (array, ())
    values, mask, confidence, more = split_channels(array, kind in IMAGES_WITH_ALPHA)
    check_colour(path, values)
    check_bits(path, values)
    decoded = decode(path, values)
    notes += (*side_note, decoded.encoding.note, *more)
    if kind == "JPEG":
        notes += ("JPEG compression reduces the accuracy: prefer 16-bit PNG",)

    background = empty_pixels(values, decoded)
    normals = decoded.vectors
    normals[background] = np.nan
    if background.all():
        raise FileError(
            f"{path} has no normal: all pixels are black, white, zero or NaN",
            expected="a normal map",
            remedy="Check that this is the right file",
        )
    if background.any():
        without = in_number(int(background.sum()), "pixel")
        notes += (f"{without} without a normal (black, white, zero or NaN)",)
    outside = background | decoded.far_from_unit | grey_around(values)
    if kind == "JPEG":
        outside = with_fringe(outside, normals)
    coded, image = decoded.encoding.coded, kind in IMAGES
    return NormalFile(normals, mask, notes, outside, confidence, image=image, coded=coded)


def components_last(array: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """Array (H, W, components), from a batch of one and from (components, H, W)."""
    notes: tuple[str, ...] = ()
    while array.ndim > 3 and array.shape[0] == 1:
        array, notes = array[0], ("the only map of a batch",)
    if array.ndim == 3 and array.shape[0] in (3, 4) and array.shape[2] not in (2, 3, 4):
        array = np.moveaxis(array, 0, -1)
        notes = (*notes, "components moved from the first to the last axis")
    return array, notes


def check_shape(path: Path, array: npt.NDArray[Any]) -> None:
    """Raise FileError unless an array is (H, W, components), with two to four of them."""
    if array.ndim == 3 and array.size > 0 and array.shape[2] in (2, 3, 4):
        return
    if array.ndim == 2 or array.shape[2:] == (1,):
        found = f"{path} is grey: one value per pixel, shape {array.shape}"
    else:
        found = f"{path} has the shape {array.shape}"
    raise FileError(
        found,
        expected="a normal map with three components, (H, W, 3) or (3, H, W)",
        remedy="Save x, y and z of one map",
    )


def check_colour(path: Path, vectors: npt.NDArray[Any]) -> None:
    """Raise FileError for a grey image that is stored as RGB."""
    if all(np.array_equal(vectors[..., 0], vectors[..., k]) for k in range(1, vectors.shape[2])):
        raise FileError(
            f"{path} is grey: its {vectors.shape[2]} channels are equal",
            expected="a normal map with three components",
            remedy="Check that this is not a depth, height or mask image",
        )


def check_bits(path: Path, values: npt.NDArray[Any]) -> None:
    """Raise FileError for vectors of fewer bits in a file of 16, which are near black in it."""
    if values.dtype != np.uint16 or values.shape[-1] != 3:
        return
    top = int(values.max())
    bits = next((each for each in FEWER_BITS if top < 2**each), None)
    if bits is None:
        return
    some, most = values.reshape(-1, 3)[:: max(1, values.size // (3 * SAMPLE))], 2**bits - 1
    if unit_share(2.0 / most * some - 1.0) > max(0.5, unit_share(from_colours(some))):
        raise FileError(
            f"{path} has values up to {top:,} of 65,535: {bits} bits in a 16-bit file",
            expected="values that reach over all of the 16 bits",
            remedy=f"Multiply them by 65535 / {most}",
        )


def normals_of_a_pair(array: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """Half of an image (H, W, 3) that shows something else beside its normals; or all of it."""
    half = array.shape[1] // 2
    if (
        array.shape[1] % 2
        or array.shape[2] not in (3, 4)
        or array.dtype not in (np.uint8, np.uint16)
    ):
        return array, ()
    some = np.s_[:: max(1, array.shape[0] * half // SAMPLE)]  # rows
    shares = {
        side: unit_share(from_colours(array[some, place, :3]))
        for side, place in (("left", np.s_[:half]), ("right", np.s_[half:]))
    }
    best = max(shares, key=shares.__getitem__)
    if shares[best] < 0.9 or min(shares.values()) > 0.4 or half < 8:
        return array, ()
    other = array[:, half:] if best == "left" else array[:, :half]
    if _content(other[some]) < CONTENT:  # nothing is beside it
        return array, ()
    note = f"the {best} half: the other one holds something else, such as the photo"
    return (array[:, :half] if best == "left" else array[:, half:]), (note,)


def _content(image: npt.NDArray[Any]) -> float:
    """Share of the pixels of an image (H, W, C) that differ clearly from its usual colour."""
    usual = np.median(image, axis=(0, 1))
    differs = np.abs(image - usual).max(axis=-1) > int(np.iinfo(image.dtype).max) / 16
    return float(differs.mean())


def split_channels(
    array: npt.NDArray[Any], is_image: bool
) -> tuple[npt.NDArray[Any], BoolArray | None, FloatArray | None, tuple[str, ...]]:
    """Components, mask and confidence of an array (H, W, channels), and notes on them."""
    if array.shape[2] < 4:
        return array, None, None, ()
    fourth = array[..., 3]
    # The layout of DXT5nm; only images have it, and only they can be sure to hold numbers.
    if is_image and not np.ptp(array[..., [0, 2]], axis=(0, 1)).any() and np.ptp(fourth) > 0:
        return array[..., [3, 1]], None, None, ("x is in the alpha channel, y in green",)
    if is_image or array.dtype.kind != "f" or np.isin(fourth, (0, 1)).all():
        inside = above_half(fourth)
        return array[..., :3], None if inside.all() else inside, None, ()
    confidence = np.where(np.isfinite(fourth), np.maximum(fourth, 0.0), 0.0).astype(np.float64)
    confidence /= max(float(confidence.max()), 1.0)
    return array[..., :3], None, confidence, ("the fourth channel is taken as a confidence",)


def empty_pixels(values: npt.NDArray[Any], decoded: Decoded) -> BoolArray:
    """Where (H, W) there is no normal at all: black, white, zero, NaN."""
    vectors = decoded.vectors
    black = ~values.any(axis=-1)
    white = np.zeros_like(black)
    if decoded.encoding.coded:
        top = np.iinfo(values.dtype).max if values.dtype.kind == "u" else 1.0
        white = (values == top).all(axis=-1)
    zero, finite = np.ones_like(black), np.ones_like(black)
    for component in np.moveaxis(vectors, -1, 0):  # one by one: they are as large as the map
        zero &= np.abs(component) <= decoded.encoding.step / 2 * (1 + 1e-9)
        finite &= np.isfinite(component)
    nothing: BoolArray = black | white | zero | ~finite
    return nothing


def grey_around(values: npt.NDArray[Any]) -> BoolArray:
    """Where (H, W) an image has the grey that all of its corners have: some stand for a normal."""
    corner = values[0, 0]
    corners = values[:: max(1, len(values) - 1), :: max(1, values.shape[1] - 1)]
    is_colour = values.dtype.kind == "u" and values.shape[2] == 3
    if not is_colour or np.ptp(corner) or (corners != corner).any():
        return np.zeros(values.shape[:2], np.bool_)
    grey: BoolArray = (values == corner).all(axis=-1)
    return grey


def with_fringe(outside: BoolArray, normals: FloatArray) -> BoolArray:
    """Background with the pixels around it that compression has mixed with it."""
    from scipy.ndimage import binary_dilation

    if not outside.any():
        return outside
    length = np.sqrt(np.einsum("...i,...i->...", normals, normals))
    near = binary_dilation(outside, iterations=FRINGE)
    with np.errstate(invalid="ignore"):
        mixed = near & (np.abs(length - 1.0) > UNIT)
    grown: BoolArray = binary_dilation(outside | mixed)
    return grown
