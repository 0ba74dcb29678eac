"""Ray maps: the ray of every pixel as an array (H, W, 3) in the OpenCV camera frame."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration.document import naming_file
from rayrelief.cameras.calibration.reading import Reading
from rayrelief.cameras.calibration.writing import with_article
from rayrelief.cameras.ray_map import RayMap
from rayrelief.errors import CameraError, FileError
from rayrelief.io.arrays import array_names, read_array
from rayrelief.io.atomic import atomic_write
from rayrelief.io.exr import write_exr
from rayrelief.memory import in_words, memory_available

FORMAT = "ray of every pixel"
KEY = "rays"
TANGENTS = ("ray_directions_x", "ray_directions_y")
RAY_BYTES = 100  # per pixel, while rays are computed and written
WRITABLE = (".npy", ".npz", ".exr")


def read_rays(path: Path, array: npt.NDArray[Any]) -> Reading:
    """Rays (x right, y down, z forward) of a file; NaN or zero where a pixel has none."""
    if array.ndim != 3 or array.shape[-1] != 3:
        raise FileError(
            f"{path} holds an array of the shape {array.shape}",
            expected="rays of the shape (height, width, 3)",
            remedy="Write a camera matrix as numpy.save('K.npy', K) or numpy.savetxt('K.txt', K)",
        )
    if _are_matrices(array):
        raise FileError(
            f"{path} holds camera matrices, as an array of the shape {array.shape}",
            expected="one matrix of the shape (3, 3), or rays of the shape (height, width, 3)",
            remedy="Write one of them: numpy.save('K.npy', K[0])",
        )
    with naming_file(path):
        return Reading(RayMap(array))


def _are_matrices(array: npt.NDArray[Any]) -> bool:
    """Whether an array (n, 3, 3) is a stack of camera matrices: 0 0 1 below, and 0 on the left."""
    if array.shape[1:] != (3, 3):
        return False
    return not array[:, 1, 0].any() and bool((array[:, 2] == (0, 0, 1)).all())


def tangents(path: Path) -> list[str]:
    """Names of the tangents that a file holds; a .npy file has no other name than its own."""
    if path.suffix.lower() == ".npy":
        return [name for name in TANGENTS if path.stem.endswith(name) and path.is_file()]
    names = array_names(path)
    return [name for name in TANGENTS if name in names]


def read_tangents(path: Path) -> Reading:
    """Ray of every pixel from x / z and y / z, as the authors of the paper publish them.

    Arrays ``ray_directions_x`` and ``ray_directions_y`` of a .mat or .npz file, or of two of them
    beside each other; or two .npy files whose names end like this.
    """
    x, y = (read_array(_file_with(path, name), keys=(name,)) for name in TANGENTS)
    if x.ndim != 2 or x.shape != y.shape:
        raise FileError(
            f"{path}: {TANGENTS[0]} and {TANGENTS[1]} have the shapes {x.shape} and {y.shape}",
            expected="(height, width) both",
            remedy="Write the file again",
        )
    with naming_file(path):
        camera = RayMap(np.stack((x, y, np.ones(x.shape)), axis=-1))
    return Reading(camera, ("rays (x/z, y/z, 1) from " + " and ".join(TANGENTS),))


def _file_with(path: Path, name: str) -> Path:
    """The file itself, or the one beside it that has the other letter at the end of its name."""
    own = tangents(path)
    if name in own:
        return path
    partner = path.with_name(f"{path.stem[:-1]}{name[-1]}{path.suffix}")
    paired = path.stem.endswith(own[0][-1])
    if paired and partner.is_file() and name in tangents(partner):
        return partner
    raise FileError(
        f"{path} holds {own[0]} but no {name}",
        expected="both in one file"
        + (f", or {name} in {partner.name} beside it" if paired else ""),
        remedy="Download or write the other half too",
    )


def write(
    path: str | os.PathLike[str], camera: Camera, height: int | None, width: int | None
) -> None:
    """Write the unit ray of every pixel of a central camera; .exr keeps single precision."""
    if not camera.central:
        raise CameraError(
            f"the rays of {with_article(camera)} camera do not meet in one point",
            expected="a central camera for a ray map",
            remedy="Write it with the suffix .json",
        )
    if camera.resolution is not None:
        width = camera.resolution[0] if width is None else width
        height = camera.resolution[1] if height is None else height
    if height is None or width is None:
        raise CameraError(
            f"the camera for {path} has no image size",
            expected="a height and a width",
            remedy="Pass height= and width= to write_camera",
        )
    needed, available = RAY_BYTES * height * width, memory_available()
    if needed > available:
        raise CameraError(
            f"the rays of {width}x{height} pixels need {in_words(needed)} of memory, "
            f"but {in_words(available)} is available",
            expected="a ray map that fits into memory",
            remedy="Write the parameters of the camera with the suffix .json",
        )
    rays = camera.unit_rays(height, width)
    suffix = Path(path).suffix.lower()
    if suffix == ".exr":
        write_exr(path, {axis: rays[..., i] for i, axis in enumerate("XYZ")})
        return
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        if suffix == ".npz":
            np.savez_compressed(file, rays=rays)
        else:
            np.save(file, rays, allow_pickle=False)
