"""Depth maps to files and back, with their kind: z, or the distance along the ray."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from rayrelief.checks import as_array
from rayrelief.conventions import DepthKind, FloatArray
from rayrelief.errors import FileError, InputError
from rayrelief.io.arrays import read_array
from rayrelief.io.atomic import atomic_write, write_whole
from rayrelief.io.exr import read_attributes, write_exr
from rayrelief.io.images import encode_png
from rayrelief.io.numpy_files import npz_names, read_npz
from rayrelief.io.png_chunks import add_text, read_text
from rayrelief.io.sources import as_path, check_suffix, read_bytes

KINDS = ("z", "distance")
EXR_CHANNELS = {"z": "Z", "distance": "distance"}
EXR_ATTRIBUTE = "rayreliefDepthKind"
PNG_TOP = 65535


def write_depth(path: str | os.PathLike[str], depth: npt.ArrayLike, kind: DepthKind) -> None:
    """Write a depth map (H, W), NaN outside, in the unit of the depth.

    Parameters
    ----------
    path
        The suffix chooses the format: .npy (float64, cannot store the kind), .npz (float64,
        arrays ``depth`` and ``kind``), .exr (float32, channel ``Z`` or ``distance``) or .png
        (16 bits, 0 is outside; text chunks hold the kind, and the scale and the offset in
        depth = DepthOffset + DepthScale * value).
    depth
        The depth of every pixel.
    kind
        "z" for the coordinate along the optical axis, "distance" along the ray.
    """
    path = as_path(path)
    array = as_array(depth, "the depth").astype(np.float64, copy=False)
    if array.ndim != 2 or array.size == 0:
        raise InputError(f"a depth map of the shape {array.shape}", expected="the shape (H, W)")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"the depth kind {kind!r}", expected="'z' or 'distance'")
    check_suffix(path, WRITERS, "a depth map")
    WRITERS[path.suffix.lower()](path, array, kind)


@np.errstate(invalid="ignore", over="ignore")  # files hold any bits
def read_depth(path: str | os.PathLike[str]) -> tuple[FloatArray, DepthKind | None]:
    """Read a depth map (H, W) in its unit, NaN outside, and its kind if the file stores it.

    Reads what ``write_depth`` writes, single-channel .exr files and 16-bit .png files of other
    programs (kind None; ``bare_note`` tells how the latter are read), and .npz files with an array
    ``depth_gt``, which is z-depth.
    """
    path = as_path(path)
    check_suffix(path, WRITERS, "a depth map")
    array = read_array(path, keys=("depth", "depth_gt", *EXR_CHANNELS.values()))
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "iuf":
        raise FileError(
            f"{path} holds {array.dtype} values of the shape {array.shape}",
            expected="a depth map of real numbers, one per pixel, shape (H, W)",
            remedy="Save only the depth",
        )
    if path.suffix.lower() == ".png":
        return decode_png(path, array)
    return array.astype(np.float64), stored_kind(path)


def stored_kind(path: Path) -> DepthKind | None:
    """Kind of depth that an .npz or .exr file stores, else None."""
    kind: object = None
    if path.suffix.lower() == ".npz":
        names = npz_names(path)
        if "kind" in names:
            kind = str(read_npz(path, ("kind",)))
        elif "depth_gt" in names and "depth" not in names:
            kind = "z"
    elif path.suffix.lower() == ".exr":
        kind = read_attributes(path).get(EXR_ATTRIBUTE)
    return None if kind is None else check_kind(path, kind)


def check_kind(path: Path, kind: object) -> DepthKind:
    """Return the kind of depth that a file claims, if it is one."""
    if kind not in KINDS:
        raise FileError(f"{path} says that its depth is {kind!r}", expected="'z' or 'distance'")
    return cast(DepthKind, kind)


def write_npy(path: Path, depth: FloatArray, kind: DepthKind) -> None:
    """Write float64 values; the format cannot store the kind."""
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        np.save(file, depth)


def write_npz(path: Path, depth: FloatArray, kind: DepthKind) -> None:
    """Write float64 values and the kind, compressed."""
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, depth=depth, kind=np.array(kind))


def write_depth_exr(path: Path, depth: FloatArray, kind: DepthKind) -> None:
    """Write float32 values; the channel and an attribute store the kind."""
    write_exr(path, {EXR_CHANNELS[kind]: depth}, {EXR_ATTRIBUTE: kind})


def write_depth_png(path: Path, depth: FloatArray, kind: DepthKind) -> None:
    """Write 16 bits between the smallest and the largest depth; text chunks hold the mapping."""
    inside = np.isfinite(depth)
    if not inside.any():
        raise InputError(
            "a depth map without a finite value",
            expected="at least one pixel with depth",
            remedy="Check the mask, or write .npz, .npy or .exr",
        )
    low, high = float(depth[inside].min()), float(depth[inside].max())
    scale = (high - low) / (PNG_TOP - 1) or abs(low) or 1.0  # of a constant depth any will do
    offset = low - scale  # value 1 is the smallest depth: 0 is kept for the outside
    if not math.isfinite(offset + PNG_TOP * scale):
        raise InputError(
            f"a depth map from {low:g} to {high:g}",
            expected="depths that floating-point numbers can span",
            remedy="Check the surface, or write .npz or .npy",
        )
    values = np.zeros(depth.shape, np.uint16)
    values[inside] = np.clip(np.rint((depth[inside] - offset) / scale), 1, PNG_TOP)
    text = {
        "DepthKind": kind,
        "DepthOffset": repr(offset),
        "DepthScale": repr(scale),
        "Description": "depth = DepthOffset + DepthScale * value; 0 is outside",
    }
    data = add_text(encode_png(values), text)
    write_whole(path, data)


def bare_note(path: Path, kind: DepthKind | None) -> tuple[str, ...]:
    """Say how a PNG file was read that stores no kind, and so nothing else about its numbers."""
    if path.suffix.lower() != ".png" or kind is not None:
        return ()
    return (f"{path.name}: 16-bit numbers taken as they are, 0 as unknown",)


def decode_png(path: Path, values: npt.NDArray[Any]) -> tuple[FloatArray, DepthKind | None]:
    """Depth and kind from the values of a PNG file and its text chunks.

    Without any of these, 16-bit numbers are those of a depth sensor, and stand for themselves.
    """
    text = read_text(read_bytes(path))
    if values.dtype == np.uint16 and not any(name.startswith("Depth") for name in text):
        return np.where(values == 0, np.nan, values.astype(np.float64)), None
    try:
        offset, scale, kind = (text[f"Depth{name}"] for name in ("Offset", "Scale", "Kind"))
        depth = float(offset) + values.astype(np.float64) * float(scale)
    except (KeyError, ValueError) as error:
        raise FileError(
            f"{path} does not store the scale of its depth",
            expected="16 bits, as depth sensors write, or the text chunks DepthOffset, "
            "DepthScale and DepthKind",
            remedy="Use the .npz, .npy or .exr file of the same depth",
        ) from error
    depth[values == 0] = np.nan
    return depth, check_kind(path, kind)


WRITERS: dict[str, Callable[[Path, FloatArray, DepthKind], None]] = {
    ".npz": write_npz,
    ".npy": write_npy,
    ".exr": write_depth_exr,
    ".png": write_depth_png,
}
