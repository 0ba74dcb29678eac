"""Files of arrays: the ray of every pixel, a camera matrix, or what OpenCV's tutorials save."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.cameras.calibration import k_txt, opencv_file, ray_map_file
from rayrelief.cameras.calibration.document import Entries
from rayrelief.cameras.calibration.reading import Reading, Request
from rayrelief.errors import FileError
from rayrelief.io.arrays import array_names, read_array
from rayrelief.io.numpy_files import read_npz

READABLE = (".npy", ".npz", ".exr", ".mat")

# What else than a camera matrix OpenCV's reader asks for.
LENS = re.compile(r"(dist.*|d|xi)(\d*|left|right|l|r)")
NAMES = (
    *(*chain(*opencv_file.WIDTHS_AND_HEIGHTS), *opencv_file.SIZES),
    *(*opencv_file.FISHEYE_FLAGS, *opencv_file.MODELS),
)


def read(path: Path, request: Request) -> tuple[str, Reading]:
    """Name of the format that a file of arrays is of, and its camera.

    Rays go before matrices, since they leave nothing open. A 3x3 array alone is read like a K.txt,
    whatever its name; beside others it has one of the names that OpenCV's files have, such as
    ``mtx`` and ``dist``, ``camera_matrix`` and ``dist_coeffs``, ``K`` and ``D``.
    """
    if ray_map_file.tangents(path):
        return ray_map_file.FORMAT, ray_map_file.read_tangents(path)
    suffix, names = path.suffix.lower(), array_names(path)
    if suffix == ".npz" and len(names) != 1 and not _has_rays(names):
        return opencv_file.FORMAT, _read_calibration(path, names, request)
    array = read_array(path, keys=(ray_map_file.KEY,))
    # Those of MATLAB are left out: it counts pixels from 1, and has written matrices transposed.
    if array.shape == (3, 3) and suffix in (".npy", ".npz"):
        return k_txt.FORMAT, k_txt.read_matrix(path, _plain(array), request)
    return ray_map_file.FORMAT, ray_map_file.read_rays(path, array)


def _has_rays(names: tuple[str, ...]) -> bool:
    return any(name.rpartition(".")[2] == ray_map_file.KEY for name in names)


def _read_calibration(path: Path, names: tuple[str, ...], request: Request) -> Reading:
    """Camera of OpenCV's arrays; those of no use here, such as the poses, are not even loaded."""
    known = filter(_describes_camera, names)
    entries = Entries(path, {name: _plain(read_npz(path, (name,))) for name in known})
    if not opencv_file.matrix_keys(entries.content):
        rays, (x, y) = ray_map_file.KEY, ray_map_file.TANGENTS
        raise FileError(
            f"{path} holds {'the arrays ' + ', '.join(names) if names else 'no array'}",
            expected="a camera matrix mtx (camera_matrix, K) with its dist (dist_coeffs, D), "
            f"{rays} of the shape (height, width, 3), or {x} and {y}",
            remedy="Rename the arrays, or save alone what describes the camera",
        )
    return opencv_file.read_entries(entries, request)


def _describes_camera(name: str) -> bool:
    bare = opencv_file.bare(name)
    return bare in NAMES or any(each.fullmatch(bare) for each in (opencv_file.MATRIX, LENS))


def _plain(array: npt.NDArray[Any]) -> Any:
    """Lists of Python's own numbers, also from floats that are longer."""
    return (array.astype(np.float64) if array.dtype.kind == "f" else array).tolist()
