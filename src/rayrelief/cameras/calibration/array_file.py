"""Files of arrays: the ray of every pixel, a camera matrix, or what OpenCV's tutorials save."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.cameras.calibration import k_txt, opencv_entries, opencv_file, ray_map_file
from rayrelief.cameras.calibration.document import Entries, shortened
from rayrelief.cameras.calibration.reading import Reading, Request
from rayrelief.errors import FileError
from rayrelief.io.arrays import array_names, read_array
from rayrelief.io.numpy_files import read_npz

READABLE = (".npy", ".npz", ".exr", ".mat")

# What OpenCV's reader asks for, or refuses to leave out.
NAMES = (
    *(*chain(*opencv_entries.WIDTHS_AND_HEIGHTS), *opencv_entries.SIZES),
    *(*opencv_entries.FISHEYE_FLAGS, *opencv_entries.MODELS),
)
PATTERNS = (opencv_entries.MATRIX, opencv_entries.LENS, opencv_entries.ONE_COEFFICIENT)


def read(path: Path, request: Request) -> tuple[str, Reading]:
    """Name of the format that a file of arrays is of, and its camera.

    Rays go before matrices, since they leave nothing open. A 3x3 array alone is read like a K.txt
    if it is called K (or not at all), else in OpenCV's order; beside others it has one of the names
    that OpenCV's files have, such as ``mtx`` and ``dist``, ``camera_matrix`` and ``dist_coeffs``,
    ``K`` and ``D``.
    """
    if ray_map_file.tangents(path):
        return ray_map_file.FORMAT, ray_map_file.read_tangents(path)
    suffix, names = path.suffix.lower(), array_names(path)
    if suffix == ".npz" and len(names) != 1 and not _has_rays(names):
        return opencv_file.FORMAT, _read_calibration(path, names, request)
    array = read_array(path, keys=(ray_map_file.KEY,))
    # Those of MATLAB are left out: it counts pixels from 1, and has written matrices transposed.
    if array.shape == (3, 3) and suffix in (".npy", ".npz"):
        rows = {f"row {number}": row for number, row in enumerate(_plain(array), 1)}
        name = names[0] if names else path.stem
        return k_txt.FORMAT, k_txt.read_matrix(path, rows, request, name)
    return ray_map_file.FORMAT, ray_map_file.read_rays(path, array)


def _has_rays(names: tuple[str, ...]) -> bool:
    return any(name.rpartition(".")[2] == ray_map_file.KEY for name in names)


def _read_calibration(path: Path, names: tuple[str, ...], request: Request) -> Reading:
    """Camera of OpenCV's arrays; those of no use here, such as the poses, are not even loaded."""
    known = filter(_describes_camera, names)
    entries = Entries(path, {name: _load(path, name) for name in known})
    if not opencv_entries.matrix_keys(entries.content):
        rays, (x, y) = ray_map_file.KEY, ray_map_file.TANGENTS
        raise FileError(
            f"{path} holds {'the arrays ' + shortened(names) if names else 'no array'}",
            expected="a camera matrix mtx (camera_matrix, K) with its dist (dist_coeffs, D), "
            f"{rays} of the shape (height, width, 3), or {x} and {y}",
            remedy="Rename the arrays, or save only those that describe the camera",
        )
    return opencv_entries.read_entries(entries, request)


def _load(path: Path, name: str) -> Any:
    """One of several arrays, named in the errors about it."""
    try:
        return _plain(read_npz(path, (name,)))
    except FileError as error:
        found = f"array {name} of {error.found}"
        raise FileError(found, expected=error.expected, remedy=error.remedy) from error


def _describes_camera(name: str) -> bool:
    bare = opencv_entries.bare(name)
    return bare in NAMES or any(pattern.fullmatch(bare) for pattern in PATTERNS)


def _plain(array: npt.NDArray[Any]) -> Any:
    """Lists of Python's own numbers, also from floats that are longer."""
    return (array.astype(np.float64) if array.dtype.kind == "f" else array).tolist()
