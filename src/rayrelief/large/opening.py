"""Arrays in files that are opened by whoever reads them: zarr, TIFF and EXR, and whole masks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rayrelief.conventions import BoolArray
from rayrelief.errors import FileError, RayreliefError
from rayrelief.io.arrays import READERS
from rayrelief.io.masks import read_mask
from rayrelief.io.normals import NORMAL_KEYS
from rayrelief.io.sources import BROKEN, FORMATS, missing, open_file
from rayrelief.large.exr_files import ExrArray
from rayrelief.large.tiff_files import TiffArray, tifffile_package
from rayrelief.large.zarr_files import names_in, open_array

ZARR, TIFF, EXR = (".zarr",), (".tif", ".tiff"), (".exr",)
NORMALS, MASK = ("normals", "normal_map"), ("mask",)
KINDS = "a zarr array or group, a tiled TIFF, or an EXR"


@contextmanager
def refusing_damage(path: Path) -> Iterator[None]:
    """Turn what libraries raise into an error of the file; their advice is for writers."""
    try:
        with warnings.catch_warnings(), np.errstate(invalid="ignore", over="ignore"):
            warnings.simplefilter("ignore")
            yield
    except RayreliefError:
        raise
    except BROKEN as error:
        cause = " ".join(f"{type(error).__name__}: {error}".removeprefix("ValueError: ").split())
        raise FileError(
            f"{path} is damaged, or of a kind that is not read ({cause})",
            expected=KINDS,
            remedy="Check the path, or write it again",
        ) from error


@contextmanager
def normals_in(path: Path) -> Iterator[Any]:
    """Array (H, W, channels) of a map; FileError if a group has none."""
    if is_whole(path) and path.is_file():
        raise FileError(
            f"{path} is a file of the kind {FORMATS[path.suffix.lower()]}",
            expected="zarr, tiled TIFF or EXR: only these are read in blocks",
            remedy="Give a folder with -o to integrate it whole, or convert it: "
            "zarr.create_array('map.zarr', data=normals, chunks=(512, 512, 3))",
        )
    with _opened(path, NORMALS, NORMAL_KEYS) as found:
        if found is None:
            raise FileError(
                f"{path} is a folder, or a group of zarr, without an array of normals",
                expected=f"a file, a zarr array, or a group with one called {' or '.join(NORMALS)}",
                remedy="Give the path of the map itself",
            )
        yield found


@contextmanager
def mask_in(path: Path) -> Iterator[Any]:
    """Array (H, W) of a mask file, or of the mask in a group; an image or a plain array as whole.

    None for a group without a mask.
    """
    if is_whole(path):
        yield _whole(path, path.stat().st_mtime_ns if path.exists() else 0)
        return
    with _opened(path, MASK, MASK) as found:
        yield found


def is_whole(path: Path) -> bool:
    """Whether a file is of a kind that is read as a whole."""
    return path.suffix.lower() in READERS and path.suffix.lower() not in (*TIFF, *EXR)


def has_mask(path: Path) -> bool:
    """Whether a map is a group that holds a mask."""
    if path.suffix.lower() in (*TIFF, *EXR):
        return False
    return any(name in MASK for name in names_in(path) or ())


@lru_cache(maxsize=1)
def _whole(path: Path, _: int) -> BoolArray:
    """Mask as a whole: blocks that a process computes read it once, unless it is written again."""
    return read_mask(path)


@contextmanager
def _opened(path: Path, names: Sequence[str], layers: Sequence[str]) -> Iterator[Any]:
    """Open an array: the file, or the first of these in a group, None if it has none of them.

    Of an EXR, the first of these layers that it has, or the only one.

    Handles do not travel between processes, paths do.
    """
    if path.suffix.lower() in TIFF:
        package = tifffile_package()
        try:
            with open_file(path) as file, package.TiffFile(file) as tiff:
                yield TiffArray.of(tiff, path)
        except package.TiffFileError as error:  # of older versions, a kind of its own
            raise ValueError(str(error)) from error
        return
    if path.suffix.lower() in EXR:
        with open_file(path) as file:
            yield ExrArray.of(file, path, layers)
        return
    if not path.exists():
        raise missing(path, KINDS)
    held = names_in(path)
    name = "" if held is None else next((name for name in names if name in held), None)
    yield None if name is None else open_array(path / name)
