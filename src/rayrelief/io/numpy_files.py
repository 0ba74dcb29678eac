"""NumPy's own files, .npy and .npz; nothing in them is ever unpickled."""

from __future__ import annotations

import math
import os
import struct
import sys
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import FileError
from rayrelief.io.sources import (
    BROKEN,
    READING_BYTES,
    check_entries,
    check_room,
    check_signature,
    choose_name,
    damaged,
    open_file,
)

MOST_HEAD = 1 << 16  # bytes: NumPy reads as many as a head says before it looks at them
# How long the list of the members of an archive is: what its end says, and what stands before the
# end of a large one.
END, LARGE = struct.Struct("<4x8xI6x"), struct.Struct("<4x36xQ28x")
END_MARK, LARGE_MARK = b"PK\x05\x06", b"PK\x06\x06"
LONGEST_END = LARGE.size + END.size + (1 << 16)  # bytes, with a comment after it
MEMBER = 46  # bytes in that list, at least
# Of members of an archive: the others are decompressed without bound, however little is asked for.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


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
    with _open_archive(path) as archive:
        name = choose_name(path, archive.files, keys)
        member = name if name in archive.zip.namelist() else f"{name}.npy"
        entry = archive.zip.getinfo(member)
        if entry.compress_type not in METHODS:
            raise FileError(
                f"{path} is compressed by the method {entry.compress_type} of ZIP",
                expected="deflate, or no compression",
                remedy="Save it again with numpy.savez_compressed",
            )
        with archive.zip.open(entry) as content:
            check_header(path, content, entry.file_size, exact=True)
            content.seek(0)
            array: npt.NDArray[Any] = np.lib.format.read_array(content, allow_pickle=False)
        check_text(array)
    return array


def npz_names(path: Path) -> tuple[str, ...]:
    """Names of the arrays in a .npz file."""
    check_signature(path)
    with _open_archive(path) as archive:
        return tuple(archive.files)


@contextmanager
def _open_archive(path: Path) -> Iterator[Any]:
    with _refusing_damage(path), open_file(path) as file:
        _check_members(file)
        with np.load(file, allow_pickle=False) as archive:
            yield archive


def _check_members(file: IO[bytes]) -> None:
    """Raise ValueError for an archive of very many members, all of which are read at once."""
    file.seek(-min(LONGEST_END, file.seek(0, os.SEEK_END)), os.SEEK_END)
    tail = file.read()
    last = tail.rfind(END_MARK, 0, max(0, len(tail) - END.size + len(END_MARK)))
    for mark, end, start in ((END_MARK, END, last), (LARGE_MARK, LARGE, last - LARGE.size)):
        if start >= 0 and tail.startswith(mark, start):
            (length,) = end.unpack_from(tail, start)
            check_entries(length // MEMBER, "arrays")
    file.seek(0)


@contextmanager
def _refusing_damage(path: Path) -> Iterator[None]:
    """Turn what NumPy raises into an error of the file; its advice on old heads is for writers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except BROKEN as error:
        raise broken_or_pickled(path, error) from error


def check_header(path: Path, file: IO[bytes], size: int, *, exact: bool = False) -> None:
    """Raise unless the array that a head describes is in a file of this size, and has room."""
    head = BytesIO(file.read(MOST_HEAD))
    version = np.lib.format.read_magic(head)
    read = np.lib.format.read_array_header_1_0
    shape, _, dtype = (read if version == (1, 0) else np.lib.format.read_array_header_2_0)(head)
    if dtype.hasobject:
        return  # which is refused, and says why
    values = math.prod(shape) if min(shape, default=0) >= 0 else -1
    needed, held = values * dtype.itemsize, size - head.tell()
    if values < 0 or needed > held or (exact and needed < held):
        raise ValueError(f"{held} bytes for {dtype} values of the shape {shape}")
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
