"""Height maps to files: white is high."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rayrelief.checks import as_array
from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.io.atomic import write_whole
from rayrelief.io.exr import write_exr
from rayrelief.io.images import encode_png
from rayrelief.io.png_chunks import add_text
from rayrelief.io.sources import as_path, check_suffix

SUFFIXES = (".png", ".exr")
PNG_TOP = 65535


def check_height_suffix(path: Path) -> None:
    """Raise FileError unless the suffix is one that height maps are stored with."""
    remedy = "Choose .exr to keep the unit of the height, .png for other programs"
    check_suffix(path, SUFFIXES, "a height map", remedy)


def write_height(path: str | os.PathLike[str], height: npt.ArrayLike) -> None:
    """Write a height map (H, W), not finite outside, white is high.

    The suffix chooses the format: .png has 16 bits from the lowest point, black, to the highest,
    white, with the scale and the offset in height = HeightOffset + HeightScale * value as text;
    .exr has float32 in the unit of the height, channel ``Y``.
    """
    path, array = as_path(path), as_array(height, "the height").astype(np.float64, copy=False)
    check_height_suffix(path)
    if array.ndim != 2 or not np.isfinite(array).any():
        raise InputError(
            f"a height map of the shape {array.shape}",
            expected="the shape (H, W), with at least one finite height",
            remedy="Check the mask",
        )
    if path.suffix.lower() == ".exr":
        write_exr(path, {"Y": array})
        return
    data = _png(array)
    write_whole(path, data)


def _png(height: FloatArray) -> bytes:
    inside = np.isfinite(height)
    low, high = float(height[inside].min()), float(height[inside].max())
    scale = (high - low) / PNG_TOP or 1.0  # of a constant height any will do
    values = np.zeros(height.shape, np.uint16)
    values[inside] = np.rint((height[inside] - low) / scale)
    text = {
        "HeightOffset": repr(low),
        "HeightScale": repr(scale),
        "Description": "height = HeightOffset + HeightScale * value; white is high",
    }
    return add_text(encode_png(values), text)
