"""OpenEXR files: float images with named channels."""

from __future__ import annotations

import os
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import FileError, IntegrationWarning
from rayrelief.io.atomic import atomic_write
from rayrelief.io.exr_head import read_head
from rayrelief.io.sources import (
    BROKEN,
    READING_BYTES,
    check_entries,
    check_room,
    check_signature,
    choose_name,
    damaged,
    open_file,
)

_ONE_AT_A_TIME = threading.RLock()  # the standard output is that of all threads
if hasattr(os, "register_at_fork"):
    # A child must inherit neither a lock that nobody gives back, nor an output that is redirected.
    os.register_at_fork(
        before=_ONE_AT_A_TIME.acquire,
        after_in_parent=_ONE_AT_A_TIME.release,
        after_in_child=_ONE_AT_A_TIME.release,
    )

OPEN_FILES = "/proc/self/fd"  # of Linux
LARGEST_TILE = 1 << 20  # pixels, where the image has fewer
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
    with refusing_damage(path):
        with open_file(path) as file:
            read_head(file)
        head = OpenEXR.File(str(path), header_only=True)
        header, parts = head.header(), len(head.parts)
        (left, top), (right, bottom) = (map(int, corner) for corner in header["dataWindow"])
        whole = np.array_equal(header["dataWindow"], header["displayWindow"])
        pixels = (right - left + 1) * (bottom - top + 1)
        if tile := header.get("tiles"):  # of which OpenEXR makes room for a whole one
            check_entries(tile.xSize * tile.ySize, "pixels of a tile", max(pixels, LARGEST_TILE))
        values = pixels * len(header["channels"])
    check_image(path, parts, whole=whole)
    check_room(path, values * (4 + READING_BYTES))
    with refusing_damage(path):
        return _decoded(str(path))


def decode_part(path: Path, content: Iterable[bytes], where: str) -> dict[str, npt.NDArray[Any]]:
    """All channels by name, of a file with this content, which holds a part of another one."""
    with _temporary(path, content) as name, refusing_damage(path, where):
        return _decoded(name)


@contextmanager
def _temporary(path: Path, content: Iterable[bytes]) -> Iterator[str]:
    """Name of a file with some content of another one: before 3.5 OpenEXR reads no streams.

    Where the system names open files, this one is in no folder, and a kill leaves nothing.
    """
    try:
        with ExitStack() as stack:
            folder = tempfile.gettempdir()
            if os.path.isdir(OPEN_FILES):
                file: IO[bytes] = stack.enter_context(tempfile.TemporaryFile(dir=folder))
                name = f"{OPEN_FILES}/{file.fileno()}"
            else:
                name = os.path.join(
                    stack.enter_context(TemporaryDirectory(prefix="rayrelief-", dir=folder)),
                    "part.exr",
                )
                file = stack.enter_context(open(name, "wb"))
            file.writelines(content)  # piece after piece: never all of it in memory
            file.flush()
            yield name
    except OSError as error:  # no damage of the other file, whose errors are no OSError
        raise FileError(
            f"no part of {path} can be put into {tempfile.tempdir or 'a temporary file'}: "
            f"{error.strerror or error}",
            expected="a folder for temporary files that can be written to, and has room",
            remedy="Free some space there, or set TMPDIR to another folder",
        ) from error


def _decoded(name: str) -> dict[str, npt.NDArray[Any]]:
    import OpenEXR

    file = OpenEXR.File(name, separate_channels=True)
    return {name: channel.pixels for name, channel in file.channels().items()}


def check_image(path: Path, parts: int, *, whole: bool) -> None:
    """Raise FileError unless a file has one part, and all of its image."""
    if parts != 1:
        raise FileError(
            f"{path} has {parts} parts",
            expected="one part",
            remedy="Save each part as a file of its own",
        )
    if not whole:
        raise FileError(
            f"{path} stores only part of its image",
            expected="a data window equal to the display window",
            remedy="Save it again without cropping, border rendering or overscan",
        )


def read_attributes(path: Path) -> dict[str, Any]:
    """Header attributes of an .exr file by name."""
    import OpenEXR

    check_signature(path)
    with refusing_damage(path):
        with open_file(path) as file:
            read_head(file)
        return dict(OpenEXR.File(str(path), header_only=True).header())


@contextmanager
def refusing_damage(path: Path, where: str = "") -> Iterator[None]:
    """Turn what OpenEXR raises, and prints to the standard output, into an error of the file."""
    printed = StringIO()
    try:
        with _ONE_AT_A_TIME, redirect_stdout(printed):
            yield
    except BROKEN as error:
        cause = printed.getvalue().strip() or error
        raise damaged(path, f"{where}: {cause}" if where else cause) from error


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
    with np.errstate(over="ignore"):
        pixels = {name: np.ascontiguousarray(array, np.float32) for name, array in channels.items()}
    if any(np.isinf(pixels[name]).sum() > np.isinf(channels[name]).sum() for name in channels):
        warnings.warn(
            f"{path}: values beyond single precision were written as infinite",
            IntegrationWarning,
            stacklevel=2,
        )
    with atomic_write(path) as temporary:
        try:
            OpenEXR.File(header, pixels).write(str(temporary))
        except RuntimeError as error:
            raise OSError(str(error).replace(str(temporary), str(path))) from error
