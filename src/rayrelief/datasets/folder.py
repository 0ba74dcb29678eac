"""A folder, or one normal map, to a Scene: what the files do not contain must be given."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration import (
    KOrder,
    Request,
    is_camera_text,
    parse_camera,
    read_calibration,
)
from rayrelief.cameras.intrinsics import outside_note
from rayrelief.conventions import SOURCES, BoolArray, DepthKind, FloatArray, to_opencv
from rayrelief.datasets.masks import check_size, find_mask
from rayrelief.doctor.advice import settle_axes
from rayrelief.errors import FileError, InputError, in_number
from rayrelief.io.depth import read_depth
from rayrelief.io.normals import read_normals
from rayrelief.io.reports import REPORT_NAME, files_of_run, read_report
from rayrelief.io.sources import as_path, missing
from rayrelief.scene import Scene

NORMAL_SUFFIXES = (".png", ".tif", ".tiff", ".exr", ".npy", ".npz", ".mat")
NORMAL_NAMES = (
    *(f"normal_map{suffix}" for suffix in NORMAL_SUFFIXES),
    "Normal_gt.mat",
    "Normal_gt.png",
)
CAMERA_NAME = "camera.json"
MATRIX_NAMES = ("K.txt", "K.npy")
CAMERA_NAMES = (CAMERA_NAME, *MATRIX_NAMES)
DEPTH_NAMES = ("depth_gt.npz", "depth_gt.npy", "depth_gt.exr")


def read_scene(
    path: str | os.PathLike[str],
    *,
    convention: str | None = None,
    check_convention: bool = True,
    camera: Camera | str | os.PathLike[str] | None = None,
    mask: BoolArray | str | os.PathLike[str] | None = None,
    which: str | None = None,
    k_order: KOrder = "auto",
) -> Scene:
    """Read a normal map with its camera and mask, in the OpenCV camera frame.

    Parameters
    ----------
    path
        A normal map, or a folder with ``normal_map.*`` (png, tif, tiff, exr, npy, npz or mat) or
        ``Normal_gt.mat`` or ``.png``. In the folder, or beside the map, these are also read if they
        exist and are not given as arguments: ``mask.png``, and ``camera.json`` or else ``K.txt`` or
        ``K.npy``; from a folder also ``depth_gt.npz``, ``.npy`` or ``.exr``. A depth file that does
        not store its kind is read as z-depth, or as distance for a camera that sees past 90
        degrees.
    convention
        Axes of the normals: "opencv", "opengl", "dsine" or "directx", the name of what wrote them
        ("marigold", "moge" ...), three letters (see ``to_opencv``), or "auto" to find them out.
        Optional only for ``normal_map.*`` in a folder (the layout of DiLiGenT and BiNI, "opengl").
    check_convention
        Whether to refuse a map that speaks clearly against its convention.
    camera
        A camera, the path of a calibration file (see ``read_camera``), or a description:
        ``"fx,fy,cx,cy"``, ``"fov:60"``, ``"focal:3700"``, ``"focal:50mm/36mm"``,
        ``"orthographic"``, ``"equirectangular"``, ``"cylindrical"``; or a photo with EXIF.
    mask
        Booleans (H, W), or the path of a mask. By default, or as "auto", ``mask.png`` in the folder
        or beside the map, else the alpha channel, else every pixel that has a normal and not the
        colour of a background; "none" for every pixel that has a normal.
    which
        Name or number of the camera in a calibration with several.
    k_order
        Order of a ``K.txt``, see ``read_camera``.

    Returns
    -------
    Scene
        Its notes say what was assumed and how the files were decoded.
    """
    path = as_path(path)
    if not path.exists():
        raise missing(path, "a folder or a normal map")
    folder = path if path.is_dir() else None
    source = path if folder is None else find_normals(folder)
    file = read_normals(source)  # what is no map at all is told before what it lacks
    convention, convention_note = choose_convention(folder, source, convention)
    height, width = file.normals.shape[:2]

    chosen_camera, camera_notes = find_camera(path, camera, height, width, which, k_order)
    chosen_mask, mask_notes = find_mask(path, source, mask, file)
    depth, kind, depth_notes = find_depth(folder, chosen_mask, chosen_camera)
    axes, axes_notes = settle_axes(
        file.normals,
        chosen_mask,
        chosen_camera,
        convention,
        image=file.image,
        coded=file.coded,
        name=str(source),
        check=check_convention,
    )
    return Scene(
        normals=to_opencv(file.normals, axes),
        mask=chosen_mask,
        camera=chosen_camera,
        confidence=file.confidence,
        depth=depth,
        depth_kind=kind,
        name=path.resolve().name if folder else path.stem,
        notes=(
            *(f"{source.name}: {note}" for note in file.notes),
            *convention_note,
            *axes_notes,
            *camera_notes,
            *mask_notes,
            *depth_notes,
        ),
    )


def find_normals(folder: Path) -> Path:
    """Return the one normal map of a folder."""
    source = only_file(folder, NORMAL_NAMES)
    if source is None:
        remedy = "Rename your file, or pass its path instead of the folder"
        suffixes = [each.suffix for each in sorted(folder.glob("*"))]
        maps = [each for each in suffixes if each.lower() in NORMAL_SUFFIXES]
        if len(maps) > 1:
            every = folder / f"*{maps[0]}"
            remedy += f". Many maps are given as {every}, frames of a video with --sequence"
        raise FileError(
            f"{folder} has no normal map",
            expected="one of " + ", ".join(NORMAL_NAMES),
            remedy=remedy,
        )
    return source


def choose_convention(
    folder: Path | None, source: Path, convention: str | None
) -> tuple[str, tuple[str, ...]]:
    """Axes of the normals, and a note where they follow from the layout of the folder."""
    if convention is not None:
        return convention, ()
    if folder is not None and source.stem == "normal_map":
        return "opengl", (f"{source.name}: OpenGL axes, as in the DiLiGenT and BiNI layout",)
    raise InputError(
        f"{source} does not say which axes its normals use",
        expected="convention= (--convention), one of " + ", ".join(SOURCES),
        remedy="See docs/conventions.md for the convention that your tool writes, or pass "
        "convention='auto' (--convention auto) to find it out",
    )


def camera_file(place: Path) -> Path | None:
    """File that holds the camera of a folder or, beside it, of a normal map; or None.

    What an earlier run left does not count beside the folder's own calibration.
    """
    folder = place if place.is_dir() else place.parent
    own = file_in(folder, CAMERA_NAME)
    if own is not None and CAMERA_NAME not in files_of_run(read_report(folder / REPORT_NAME)):
        return own
    return only_file(folder, MATRIX_NAMES) or own


def find_camera(
    place: Path,
    camera: Camera | str | os.PathLike[str] | None,
    height: int,
    width: int,
    which: str | None,
    k_order: KOrder,
) -> tuple[Camera, tuple[str, ...]]:
    """Camera from the argument, else of a folder or beside a map; and what its reader assumed."""
    notes: tuple[str, ...] = ()
    where = "in it" if place.is_dir() else "beside it"
    if camera is None and (camera := camera_file(place)) is not None and not place.is_dir():
        notes = (f"camera: {camera.name} beside the map",)
    if camera is None:
        raise InputError(
            f"{place} has no camera",
            expected=f"a camera argument or, {where}, " + " or ".join(CAMERA_NAMES),
            remedy="Pass camera='fx,fy,cx,cy', 'fov:60', 'orthographic' or one of "
            "rayrelief.cameras (--camera fx,fy,cx,cy, --fov 60 or --camera orthographic), "
            f"or put a K.txt {where}",
        )
    if isinstance(camera, Camera):
        camera.check_resolution(height, width)
        return camera, ()
    if isinstance(camera, str) and is_camera_text(camera):
        told = parse_camera(camera, height, width)
        return told, outside_note(told, height, width)
    reading = read_calibration(camera, Request(height, width, which, k_order))
    return reading.camera, (*notes, *reading.notes)


def find_depth(
    folder: Path | None, mask: BoolArray, camera: Camera
) -> tuple[FloatArray | None, DepthKind, tuple[str, ...]]:
    """Ground truth of the folder with NaN outside the mask, its kind and what was assumed."""
    source = None if folder is None else only_file(folder, DEPTH_NAMES)
    if source is None:
        return None, "z", ()
    depth, kind = read_depth(source)
    check_size(str(source), depth, mask)
    notes: tuple[str, ...] = ()
    if kind is None:
        kind, meaning = assumed_kind(camera, *mask.shape)
        notes = (f"{source.name}: does not say what its depth measures, taken as {meaning}",)
    behind = mask & (depth < 0) & camera.central
    if behind.any():
        what = in_number(int(behind.sum()), "depth is", "depths are")
        notes = (*notes, f"{source.name}: {what} negative and left out: check the sign")
    return np.where(mask & ~behind, depth, np.nan), kind, notes


def assumed_kind(camera: Camera, height: int, width: int) -> tuple[DepthKind, str]:
    """Assumed kind of a depth whose file does not store it, as a keyword and for the notes."""
    if np.any(camera.unit_rays(height, width)[..., 2] <= 0):
        return "distance", "distance: the camera sees past 90 degrees, where there is no z-depth"
    return "z", "z-depth"


def file_in(folder: Path | None, name: str) -> Path | None:
    """Return the file of this name, or None where there is no such file or no folder."""
    return folder / name if folder is not None and (folder / name).is_file() else None


def only_file(folder: Path, names: Iterable[str]) -> Path | None:
    """Return the one of several names that a folder has, or None; two are an error."""
    found = [folder / name for name in names if (folder / name).is_file()]
    if len(found) > 1:
        raise FileError(
            f"{folder} has both " + " and ".join(file.name for file in found),
            expected="one of them, as their contents may differ",
            remedy="Remove or rename all but one; a normal map or a camera can also be passed by "
            "its path",
        )
    return found[0] if found else None
