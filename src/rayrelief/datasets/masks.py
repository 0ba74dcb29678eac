"""Which pixels of a normal map are inside: told, in a file beside it, or seen in the map itself."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from rayrelief.checks import as_mask
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import InputError
from rayrelief.io.arrays import array_names
from rayrelief.io.masks import read_mask
from rayrelief.io.normals import NormalFile

MASK_NAME = "mask.png"
MASK_ARRAY = "mask"  # in a file that holds several
AUTO, NONE = "auto", "none"


def find_mask(
    place: Path, source: Path, mask: BoolArray | str | os.PathLike[str] | None, file: NormalFile
) -> tuple[BoolArray, tuple[str, ...]]:
    """Mask from the argument, else mask.png, else in the map, else all pixels that have a normal.

    Parameters
    ----------
    place
        The folder that was given, or the normal map: its mask.png counts if it has its size.
    source
        The normal map.
    mask
        Booleans, a path, "auto" (also None) to look for it, or "none" for every pixel.
    file
        What it holds.
    """
    if mask is None or (isinstance(mask, str) and mask == AUTO):
        chosen, name, notes = _mask_of(place, source, file)
    elif isinstance(mask, str) and mask == NONE:
        chosen, name, notes = ~np.isnan(file.normals[..., 0]), "the mask", ()
    elif isinstance(mask, str | os.PathLike):
        chosen, name, notes = read_mask(mask), str(mask), ()
    else:
        chosen, name, notes = as_mask(mask).copy(), "the mask", ()
    check_size(name, chosen, file.normals)
    if not chosen.any():
        raise InputError(
            f"{name} has no pixel inside",
            expected="at least one",
            remedy="White (above half) is inside: check the file, or invert it",
        )
    return chosen, notes


def _mask_of(place: Path, source: Path, file: NormalFile) -> tuple[BoolArray, str, tuple[str, ...]]:
    """Mask that a map comes with, its name for messages, and a note on it."""
    notes: tuple[str, ...] = ()
    beside = (place if place.is_dir() else place.parent) / MASK_NAME
    if beside.is_file() and beside != place:
        found = read_mask(beside)
        if place.is_dir():
            return found, str(beside), ()
        if found.shape == file.normals.shape[:2]:
            return found, str(beside), (f"mask: {MASK_NAME} beside the map",)
        notes = (f"mask: {MASK_NAME} beside the map has another size and is not used",)
    if MASK_ARRAY in array_names(source):
        array = f"the array {MASK_ARRAY!r} of {source.name}"
        return read_mask(source), array, (*notes, f"mask: {array}")
    if file.mask is not None:
        return file.mask, "the alpha channel", (*notes, "mask: from the alpha channel")
    said = "no mask given, every pixel that has a normal is inside"
    colours = np.count_nonzero(file.outside & np.isfinite(file.normals[..., 0]))
    if colours:
        said += f", but {colours:,} with the colour of a background"
    return ~file.outside, "the mask", (*notes, f"mask: {said}")


def check_size(name: str, array: BoolArray | FloatArray, like: BoolArray | FloatArray) -> None:
    """Raise InputError unless an image has the size of the normal map."""
    if array.shape[:2] != like.shape[:2]:
        raise InputError(
            f"{name} has {array.shape[1]}x{array.shape[0]} pixels (width x height) "
            f"and the normal map has {like.shape[1]}x{like.shape[0]}",
            expected="the same size",
            remedy="Crop or resize it to the normal map (a mask without interpolation)",
        )
