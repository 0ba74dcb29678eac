"""MATLAB files of versions 5 to 7."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import FileError
from rayrelief.io.sources import check_signature, choose_name, damaged, read_bytes

# What SciPy raises, besides its own MatReadError, for bytes that are not as they should be.
BROKEN = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    OSError,
    EOFError,
    MemoryError,
    UnboundLocalError,  # for an unknown class of array
)

# Types of the elements that a file is made of, by the numbers of the MAT-file format.
NUMERIC = frozenset((1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 18))
MATRIX, COMPRESSED = 14, 15
HEADER_SIZE = 128


def read_mat(path: Path, keys: Sequence[str] = ()) -> npt.NDArray[Any]:
    """Array of a .mat file: the first of ``keys`` that it has, else its only one."""
    from scipy.io import loadmat

    name = choose_name(path, mat_names(path), keys)
    with _refusing_damage(path):
        array: npt.NDArray[Any] = np.asarray(loadmat(path, variable_names=[name])[name])
    return array


def mat_names(path: Path) -> tuple[str, ...]:
    """Names of the arrays in a .mat file, whose elements are all checked."""
    from scipy.io import whosmat

    check_signature(path)
    data = read_bytes(path)
    if not data.startswith(b"MATLAB 5.0"):
        raise FileError(
            f"{path} is a MATLAB 7.3 file (HDF5)",
            expected="a MATLAB file of version 5 to 7",
            remedy="Save it again in MATLAB with save(file, variable, '-v7')",
        )
    with _refusing_damage(path):
        order = "<" if data[126:128] == b"IM" else ">"
        check_elements(memoryview(data)[HEADER_SIZE:], order)
        return tuple(name for name, _, _ in whosmat(path))


@contextmanager
def _refusing_damage(path: Path) -> Iterator[None]:
    from scipy.io.matlab import MatReadError

    try:
        yield
    except (MatReadError, zlib.error, struct.error, *BROKEN) as error:
        raise damaged(path, error) from error


def check_elements(data: memoryview | bytes, order: str) -> None:
    """Raise unless all elements are of a known type and fit: SciPy crashes on an unknown type."""
    position = 0
    while position < len(data):
        word, length = struct.unpack_from(f"{order}II", data, position)
        kind, short_length = word & 0xFFFF, word >> 16
        if short_length:  # up to four bytes are stored in the place of the length
            start, end, following = position + 4, position + 4 + short_length, position + 8
        else:
            start, end = position + 8, position + 8 + length
            following = end if kind == COMPRESSED else end + -length % 8
        if end > len(data):
            raise ValueError("the end of an array is missing")
        if kind == COMPRESSED:
            check_elements(zlib.decompress(data[start:end]), order)
        elif kind == MATRIX:
            check_elements(data[start:end], order)
        elif kind not in NUMERIC:
            raise ValueError(f"an element of the unknown type {kind}")
        position = following
