"""The depth of a finished map as zarr or tiled EXR, with its pyramid, or as tiled TIFF."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rayrelief.conventions import SingleArray
from rayrelief.errors import FileError, InputError, RayreliefError
from rayrelief.estimate import directions_of
from rayrelief.io.atomic import target_of
from rayrelief.io.depth import EXR_ATTRIBUTE, EXR_CHANNELS
from rayrelief.io.exr import read_attributes
from rayrelief.io.sources import BROKEN, open_file, parse_json
from rayrelief.large.exr_pyramid import Pyramid
from rayrelief.large.layout import Layout, Window, shape_of, size_of
from rayrelief.large.levels import TILE, halved
from rayrelief.large.opening import EXR, TIFF, ZARR
from rayrelief.large.running import Finished
from rayrelief.large.store import RESULT
from rayrelief.large.tiff_files import tifffile_package
from rayrelief.large.zarr_files import read_head, zarr_package
from rayrelief.memory import in_words
from rayrelief.methods.base import Method

CHUNK = 512  # pixels along a side
MESH = 48  # bytes per pixel of the mesh: a vertex, its normal and two triangles
CHUNKS_AT_A_TIME = 4  # along a side of what is written together
SMALLEST = 512  # pixels along the longer side of the last level, at most
NAME = "rayrelief"  # attribute that tells our own from what must not be replaced


def check_place(path: Path) -> None:
    """Raise FileError unless a depth can be written to a path."""
    kind = path.suffix.lower()
    if kind not in (*ZARR, *TIFF, *EXR):
        raise FileError(
            f"{path} as the result of a map that is integrated in blocks",
            expected="a path that ends in .zarr, .tif or .exr",
            remedy="Give such a path with -o",
        )
    if not path.parent.is_dir():
        raise FileError(
            f"{path.parent} is no folder",
            expected="a folder that is there: a map in blocks and what is kept of it go into it",
            remedy="Create it, or choose another -o",
        )
    if kind not in EXR:
        (tifffile_package if kind in TIFF else zarr_package)()  # or says how to get it
    if kind not in ZARR:
        target_of(path)
    if os.path.lexists(path) and (path.is_symlink() or not _is_ours(path)):
        raise FileError(
            f"{path} is there already, and is not the result of a map in blocks",
            expected="a path that can be created or replaced",
            remedy="Choose another -o, or remove it",
        )


def check_disk(
    folder: Path, layout: Layout, method: Method, work: Path, *, mesh: bool = False
) -> None:
    """Raise InputError if there is no place for what is kept of a map while it is integrated.

    What an earlier run left in the working folder is there already.
    """
    kept, free = size_of_folder(work), shutil.disk_usage(folder).free
    needed = disk_needed(layout, method, mesh=mesh) - kept
    if needed > free:
        height, width = layout.shape
        raise InputError(
            f"a map of {width}x{height} pixels needs about {in_words(needed)} in {folder}"
            + (f" beside the {in_words(kept)} that are there" if kept else "")
            + f", where {in_words(free)} is free",
            expected="a disk that holds what is computed",
            remedy="Check the size of the map, or write to another disk",
        )


def disk_needed(layout: Layout, method: Method, *, mesh: bool) -> int:
    """Bytes that a run keeps at most, with its results.

    Of each pixel of the map the equations, whether it is inside, and twice the depth; of each pixel
    of a block two surfaces and its part.
    """
    pixels = layout.shape[0] * layout.shape[1]
    in_blocks = sum(size_of(layout.block(number).whole) for number in range(len(layout)))
    return (4 * directions_of(method) + 1 + 8 + MESH * mesh) * pixels + (2 * 8 + 4) * in_blocks


def size_of_folder(folder: Path) -> int:
    """Bytes of the files in a folder; none where it is missing."""
    return (
        sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        if folder.is_dir()
        else 0
    )


def write_depth(path: Path, finished: Finished, about: dict[str, Any]) -> None:
    """Write the depth of a map: whole, or not at all; an earlier one goes at once, too."""
    folder = finished.job.store.folder
    part, earlier = folder / f"{RESULT}{path.suffix}", folder / f"{RESULT}.old"
    if path.suffix.lower() not in ZARR:
        write = _write_tiff if path.suffix.lower() in TIFF else _write_exr
        write(part, finished, about)
        os.replace(part, path)
        return
    for left in (part, earlier):
        shutil.rmtree(left, ignore_errors=True)
    _write_zarr(part, finished, about)
    if path.exists():
        os.replace(path, earlier)
    os.replace(part, path)


def _is_ours(path: Path) -> bool:
    """Whether a result says that it was written by us."""
    try:
        if path.suffix.lower() in ZARR:
            return NAME in (read_head(path) or {})["attributes"]
        if path.suffix.lower() in EXR:
            return NAME in read_attributes(path)
        package = tifffile_package()
        try:
            with open_file(path) as file, package.TiffFile(file) as tiff:
                return NAME in parse_json(tiff.pages.first.description)
        except package.TiffFileError:  # of older versions, a kind of its own
            return False
    except (RayreliefError, *BROKEN):
        return False


def _write_zarr(path: Path, finished: Finished, about: dict[str, Any]) -> None:
    """Levels "0", "1", ... of an OME-Zarr multiscale: each half the size of the one before."""
    group = zarr_package().open_group(path, mode="w", zarr_format=3)
    height, width = finished.job.layout.shape
    levels = [_level(group, 0, height, width)]
    for window in windows(height, width, CHUNKS_AT_A_TIME * CHUNK):
        levels[0][window] = _depth(finished, window)
    while max(height, width) > SMALLEST:
        height, width = (height + 1) // 2, (width + 1) // 2
        levels.append(_level(group, len(levels), height, width))
        for window in windows(height, width, CHUNKS_AT_A_TIME * CHUNK // 2):
            rows, columns = (slice(2 * part.start, 2 * part.stop) for part in window)
            levels[-1][window] = halved(np.asarray(levels[-2][rows, columns]))
    scales = [
        {
            "path": str(number),
            "coordinateTransformations": [{"type": "scale", "scale": [2.0**number] * 2}],
        }
        for number in range(len(levels))
    ]
    axes = [{"name": name, "type": "space"} for name in ("y", "x")]
    multiscale = {"name": "depth", "axes": axes, "datasets": scales}
    group.attrs.update({"ome": {"version": "0.5", "multiscales": [multiscale]}, NAME: about})


def _level(group: Any, number: int, height: int, width: int) -> Any:
    return group.create_array(
        name=str(number),
        shape=(height, width),
        chunks=(min(CHUNK, height), min(CHUNK, width)),
        dtype="float32",
        fill_value=float("nan"),
    )


def _write_tiff(path: Path, finished: Finished, about: dict[str, Any]) -> None:
    height, width = finished.job.layout.shape

    def tiles() -> Iterator[SingleArray]:
        for window in windows(height, width, TILE):
            tile: SingleArray = np.full((TILE, TILE), np.nan, np.float32)
            rows, columns = shape_of(window)
            tile[:rows, :columns] = _depth(finished, window)
            yield tile

    tifffile_package().imwrite(
        path,
        tiles(),
        shape=(height, width),
        dtype=np.float32,
        tile=(TILE, TILE),
        photometric="minisblack",
        bigtiff=4 * height * width > 2**31,
        metadata={NAME: about},
    )


def _write_exr(path: Path, finished: Finished, about: dict[str, Any]) -> None:
    kind, shape = finished.job.kind, finished.job.layout.shape
    with path.open("wb") as file:
        Pyramid(file, shape, partial(_depth, finished)).write(
            EXR_CHANNELS[kind], {EXR_ATTRIBUTE: kind, NAME: json.dumps(about)}
        )


def _depth(finished: Finished, window: Window) -> SingleArray:
    job = finished.job
    depth: SingleArray = job.store.window(job.layout, "depth", window)
    return depth


def windows(height: int, width: int, side: int) -> Iterator[Window]:
    """Windows of so many pixels a side that tile an image, row by row."""
    for top in range(0, height, side):
        for left in range(0, width, side):
            yield slice(top, min(top + side, height)), slice(left, min(left + side, width))
