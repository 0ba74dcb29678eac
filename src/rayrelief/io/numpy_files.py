"""NumPy's own files, .npy and .npz; nothing in them is ever unpickled."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import FileError
from rayrelief.io.sources import (
    BROKEN,
    READING_BYTES,
    check_room,
    check_signature,
    choose_name,
    damaged,
    open_file,
)

MAGIC = b"\x93NUMPY"


def read_npy(path: Path) -> npt.NDArray[Any]:
    """Array of a .npy file, as it was stored."""
    check_signature(path)
    with _refusing_damage(path), open_file(path) as file:
        check_header(path, file, os.fstat(file.fileno()).st_size)
        file.seek(0)
        array: npt.NDArray[Any] = check_text(np.load(file, allow_pickle=False))
    return array


def read_npz(path: Path, keys: Sequence[str] = ()) -> npt.NDArray[Any]:
    """Array of a .npz file: the first of ``keys`` that it has, else its only one."""
    check_signature(path)
    with (
        _refusing_damage(path),
        open_file(path) as file,
        np.load(file, allow_pickle=False) as archive,
    ):
        name = choose_name(path, archive.files, keys)
        member = name if name in archive.zip.namelist() else f"{name}.npy"
        with archive.zip.open(member) as content:
            if content.peek(len(MAGIC)).startswith(MAGIC):
                check_header(path, content, archive.zip.getinfo(member).file_size)
        array: npt.NDArray[Any] = check_text(archive[name])
    if not isinstance(array, np.ndarray):
        raise damaged(path, "a member is not an array")
    return array


def npz_names(path: Path) -> tuple[str, ...]:
    """Names of the arrays in a .npz file."""
    check_signature(path)
    with (
        _refusing_damage(path),
        open_file(path) as file,
        np.load(file, allow_pickle=False) as archive,
    ):
        return tuple(archive.files)


@contextmanager
def _refusing_damage(path: Path) -> Iterator[None]:
    """Turn what NumPy raises into an error of the file; its advice on old heads is for writers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except BROKEN as error:
        raise broken_or_pickled(path, error) from error


def check_header(path: Path, file: Any, size: int) -> None:
    """Raise unless the array that a head describes is in a file of this size, and has room."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0
    shape, _, dtype = (read if version == (1, 0) else np.lib.format.read_array_header_2_0)(file)
    if dtype.hasobject:
        return  # which is refused, and says why
    values = math.prod(shape) if min(shape, default=0) >= 0 else -1
    if values < 0 or values * dtype.itemsize > size - file.tell():
        raise ValueError(f"{size - file.tell()} bytes for {dtype} values of the shape {shape}")
    check_room(path, values * (dtype.itemsize + READING_BYTES))


def check_text(array: Any) -> Any:
    """Raise ValueError for an array of texts with numbers that are no characters."""
    if isinstance(array, np.ndarray) and array.dtype.kind == "U" and array.dtype.itemsize:
        codes = np.frombuffer(array.astype(array.dtype.newbyteorder("=")).tobytes(), np.uint32)
        if codes.max(initial=0) > sys.maxunicode:
            raise ValueError("a text of numbers that are no characters")
    return array


def broken_or_pickled(path: Path, error: Exception) -> FileError:
    """Error for a file that NumPy refused."""
    if "allow_pickle" in str(error):
        return FileError(
            f"{path} holds pickled Python objects, which could run code when loaded",
            expected="an array of numbers",
            remedy="Save it again as a plain numeric array, for example with array.astype(float)",
        )
    return damaged(path, error)
