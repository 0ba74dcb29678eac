"""NumPy's own files, .npy and .npz; nothing in them is ever unpickled."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import FileError
from rayrelief.io.sources import check_signature, choose_name, damaged

# What np.load and the zip reader below it raise for bytes that are not as they should be.
# TokenError comes from a damaged header, MemoryError from one that promises an absurd shape.
BROKEN = (ValueError, EOFError, OSError, MemoryError, tokenize.TokenError)
BROKEN_ZIP = (*BROKEN, zipfile.BadZipFile, zlib.error, KeyError, NotImplementedError, RuntimeError)


def read_npy(path: Path) -> npt.NDArray[Any]:
    """Array of a .npy file, as it was stored."""
    check_signature(path)
    try:
        array: npt.NDArray[Any] = np.load(path, allow_pickle=False)
    except BROKEN as error:
        raise broken_or_pickled(path, error) from error
    return array


def read_npz(path: Path, keys: Sequence[str] = ()) -> npt.NDArray[Any]:
    """Array of a .npz file: the first of ``keys`` that it has, else its only one."""
    check_signature(path)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            array: npt.NDArray[Any] = archive[choose_name(path, archive.files, keys)]
    except BROKEN_ZIP as error:
        raise broken_or_pickled(path, error) from error
    if not isinstance(array, np.ndarray):
        raise damaged(path, "a member is not an array")
    return array


def npz_names(path: Path) -> tuple[str, ...]:
    """Names of the arrays in a .npz file."""
    check_signature(path)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return tuple(archive.files)
    except BROKEN_ZIP as error:
        raise broken_or_pickled(path, error) from error


def broken_or_pickled(path: Path, error: Exception) -> FileError:
    """Error for a file that NumPy refused."""
    if "allow_pickle" in str(error):
        return FileError(
            f"{path} holds pickled Python objects, which could run code when loaded",
            expected="an array of numbers",
            remedy="Save it again as a plain numeric array, for example with array.astype(float)",
        )
    return damaged(path, error)
