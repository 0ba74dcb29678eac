"""Cameras from files and to files: one reader per format."""

from __future__ import annotations

import os
from pathlib import Path

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration.camera_json import read_camera_json, write_camera_json
from rayrelief.cameras.calibration.camera_text import is_camera_text, parse_camera
from rayrelief.cameras.calibration.k_txt import KOrder, read_k_txt
from rayrelief.cameras.calibration.ray_map_file import (
    READABLE,
    WRITABLE,
    read_ray_map,
    write_ray_map,
)
from rayrelief.errors import FileError

__all__ = ["KOrder", "is_camera_text", "parse_camera", "read_camera", "write_camera"]


def read_camera(
    path: str | os.PathLike[str],
    *,
    height: int | None = None,
    width: int | None = None,
    k_order: KOrder = "auto",
) -> tuple[Camera, tuple[str, ...]]:
    """Read a camera (OpenCV frame, pixels, pixel centres at integers) and notes on how.

    Parameters
    ----------
    path
        ``K.txt`` (3x3 camera matrix as text), ``camera.json`` (written by ``write_camera``), or
        the ray of every pixel as .npy, .npz, .exr or .mat.
    height, width
        Size of the image that the camera is for: checked, and used to detect the order of a K.txt.
    k_order
        Order of a K.txt: ``"auto"``, ``"opencv"`` or ``"legacy"`` (older BiNI folders).

    Returns
    -------
    camera, notes
        The camera, and what was detected or assumed about it.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    camera: Camera
    notes: tuple[str, ...] = ()
    if suffix == ".txt":
        camera, notes = read_k_txt(path, height=height, width=width, k_order=k_order)
    elif suffix == ".json":
        camera = read_camera_json(path)
    elif suffix in READABLE:
        camera = read_ray_map(path)
    else:
        raise unknown_suffix(path, (".txt", ".json", *READABLE))
    if height is not None and width is not None:
        camera.check_resolution(height, width)
    return camera, notes


def write_camera(
    path: str | os.PathLike[str],
    camera: Camera,
    *,
    height: int | None = None,
    width: int | None = None,
) -> None:
    """Write a camera (OpenCV frame, pixels) as .json, or the ray of every pixel as .npy/.npz/.exr.

    Parameters
    ----------
    path
        .json keeps the parameters bit for bit; .npy and .npz keep the unit rays of any central
        camera, .exr in single precision.
    height, width
        Size of the ray map; not needed for a camera that knows its resolution.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        write_camera_json(path, camera)
    elif suffix in WRITABLE:
        write_ray_map(path, camera, height, width)
    else:
        raise unknown_suffix(Path(path), (".json", *WRITABLE))


def unknown_suffix(path: Path, known: tuple[str, ...]) -> FileError:
    """Error for a file whose name does not tell a format that holds cameras."""
    return FileError(
        f"{path} has the suffix {path.suffix!r}" if path.suffix else f"{path} has no suffix",
        expected="one of " + ", ".join(known),
        remedy="Rename the file, or save the camera in one of these formats",
    )
