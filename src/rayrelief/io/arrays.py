"""One array from one file, whatever its format."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import FileError
from rayrelief.io.exr import read_exr
from rayrelief.io.hdf5 import read_hdf5
from rayrelief.io.images import read_image
from rayrelief.io.matlab import mat_names, read_mat
from rayrelief.io.numpy_files import npz_names, read_npy, read_npz
from rayrelief.io.sources import as_path, check_suffix

READERS: dict[str, Callable[[Path, Sequence[str]], npt.NDArray[Any]]] = {
    ".npy": lambda path, _: read_npy(path),
    ".npz": read_npz,
    ".mat": read_mat,
    ".exr": read_exr,
    ".png": lambda path, _: read_image(path),
    ".tif": lambda path, _: read_image(path),
    ".tiff": lambda path, _: read_image(path),
    ".jpg": lambda path, _: read_image(path),
    ".jpeg": lambda path, _: read_image(path),
    ".h5": read_hdf5,
    ".hdf5": read_hdf5,
}


def read_array(path: str | os.PathLike[str], *, keys: Sequence[str] = ()) -> npt.NDArray[Any]:
    """Array of numbers from a file, in the frame, unit and type of the file.

    Parameters
    ----------
    path
        A .npy, .npz, .mat, .exr, .png, .tif, .tiff, .jpg, .jpeg, .h5 or .hdf5 file. Images are
        (H, W) or (H, W, channels) with the channels in the order R, G, B, A.
    keys
        For files that hold several named arrays (.npz, .mat, .exr, .h5): the first of these names
        that the file has is read. Without a match the file must hold one array.

    Returns
    -------
    numpy.ndarray
        Booleans, integers, or real or complex floats, in the byte order of the machine; never
        Python objects.
    """
    path = as_path(path)
    check_suffix(path, READERS, "an array", "Save the array in one of these formats")
    array = READERS[path.suffix.lower()](path, keys)
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == np.bool_):
        raise FileError(
            f"{path} holds an array of the type {array.dtype}",
            expected="an array of numbers",
            remedy="Save it again as a plain numeric array",
        )
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def array_names(path: Path) -> tuple[str, ...]:
    """Names of the arrays in a .npz or .mat file; none for other formats."""
    names = {".npz": npz_names, ".mat": mat_names}.get(path.suffix.lower())
    return () if names is None else names(path)
