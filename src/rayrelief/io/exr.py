"""OpenEXR files: float images with named channels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import FileError
from rayrelief.io.atomic import atomic_write
from rayrelief.io.sources import check_signature, choose_name, damaged

# Channels that belong together, in the order in which they are stacked.
VECTORS = ("RGBA", "RGB", "XYZ")


def read_exr(path: Path, keys: Sequence[str] = ()) -> npt.NDArray[Any]:
    """Image (H, W) or (H, W, channels) of an .exr file, in the type of its channels.

    R, G, B (and A) or X, Y, Z of one layer are stacked; any other channel stands alone.

    Parameters
    ----------
    path
        A file with one part.
    keys
        Names of layers ("Normal" for the channels Normal.X, Normal.Y and Normal.Z), of channels
        ("Z"), or "RGB", "RGBA", "XYZ" for channels without a layer. The first that the file has is
        read, else the only one.
    """
    channels = read_channels(path)
    groups = group_channels(channels)
    members = [channels[name] for name in groups[choose_name(path, groups, keys)]]
    if len({member.shape for member in members}) != 1:
        raise damaged(path, "its channels differ in size")
    return members[0] if len(members) == 1 else np.stack(members, axis=-1)


def read_channels(path: Path) -> dict[str, npt.NDArray[Any]]:
    """All channels of a one-part file by name."""
    import OpenEXR

    check_signature(path)
    try:
        file = OpenEXR.File(str(path), separate_channels=True)
        parts, header = len(file.parts), file.header()
        channels = {name: channel.pixels for name, channel in file.channels().items()}
    except (RuntimeError, ValueError, TypeError) as error:
        raise damaged(path, error) from error
    if parts != 1:
        raise FileError(
            f"{path} has {parts} parts",
            expected="one part",
            remedy="Save each part as a file of its own",
        )
    if not np.array_equal(header["dataWindow"], header["displayWindow"]):
        raise FileError(
            f"{path} stores only part of its image",
            expected="a data window equal to the display window",
            remedy="Save it again without cropping, border rendering or overscan",
        )
    return channels


def read_attributes(path: Path) -> dict[str, Any]:
    """Header attributes of an .exr file by name."""
    import OpenEXR

    check_signature(path)
    try:
        return dict(OpenEXR.File(str(path), header_only=True).header())
    except (RuntimeError, ValueError, TypeError) as error:
        raise damaged(path, error) from error


def group_channels(names: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Channels by group: the layer (or "RGB", "RGBA", "XYZ" without one), or the channel alone."""
    groups: dict[str, tuple[str, ...]] = {}
    left = dict.fromkeys(names)
    for layer in sorted({name.rpartition(".")[0] for name in names}):
        for vector in VECTORS:
            members = tuple(f"{layer}.{axis}" if layer else axis for axis in vector)
            if all(member in left for member in members):
                groups[layer or vector] = members
                for member in members:
                    del left[member]
    return groups | {name: (name,) for name in left}


def write_exr(
    path: str | os.PathLike[str],
    channels: Mapping[str, npt.NDArray[Any]],
    attributes: Mapping[str, str | float] | None = None,
) -> None:
    """Write channels (H, W) as float32, compressed without loss, with header attributes."""
    import OpenEXR

    header = {
        "compression": OpenEXR.ZIP_COMPRESSION,
        "type": OpenEXR.scanlineimage,
        **(attributes or {}),
    }
    pixels = {name: np.ascontiguousarray(array, np.float32) for name, array in channels.items()}
    with atomic_write(path) as temporary:
        try:
            OpenEXR.File(header, pixels).write(str(temporary))
        except RuntimeError as error:
            raise OSError(str(error).replace(str(temporary), str(path))) from error
