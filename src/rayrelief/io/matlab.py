"""MATLAB files of versions 5 to 7."""

from __future__ import annotations

import math
import struct
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import FileError
from rayrelief.io.sources import (
    BROKEN,
    MOST_ENTRIES,
    READING_BYTES,
    check_entries,
    check_room,
    check_signature,
    choose_name,
    damaged,
    read_bytes,
)

# Types of the elements that a file is made of, by the numbers of the MAT-file format, with the
# bytes of an item.
NUMERIC = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
MATRIX, COMPRESSED = 14, 15
CLASSES = range(6, 16)  # arrays of numbers: others are cells, structures, characters, sparse ...
COMPLEX = 0x0800
HEADER_SIZE = 128
PIECE = 1 << 16  # bytes that are decompressed at a time
HEAD_OF_VARIABLE = 1024  # bytes that hold its class, its dimensions and its name
MOST_DENSE = 1032  # bytes that one compressed byte can stand for


@dataclass(frozen=True)
class Variable:
    """An array of a file: what its head says, and where it lies (its element, after the tag)."""

    name: str
    numeric: bool
    content: memoryview
    compressed: bool


def read_mat(path: Path, keys: Sequence[str] = ()) -> npt.NDArray[Any]:
    """Array of a .mat file: the first of ``keys`` that it has, else its only one."""
    from scipy.io import loadmat

    data, variables = _read_variables(path)
    name = choose_name(path, [variable.name for variable in variables], keys)
    chosen = next(variable for variable in variables if variable.name == name)
    if not chosen.numeric:
        raise FileError(
            f"{path}: {name} is a cell, a structure, a text or a sparse array",
            expected="an array of numbers",
            remedy="Save it again as a plain numeric array",
        )
    with _refusing_damage(path):
        element = _whole(path, chosen, _order(data))
        values = _check_array(element, _order(data))
        check_room(path, values * (16 + READING_BYTES))
        # The array alone, whose every element is checked: SciPy crashes on some that are not.
        tag = struct.pack(f"{_order(data)}II", MATRIX, len(element))
        file = BytesIO(b"".join((data[:HEADER_SIZE], tag, element)))
        del data, variables, chosen, element  # each may be as large as the array
        return np.asarray(loadmat(file, variable_names=[name])[name])


def mat_names(path: Path) -> tuple[str, ...]:
    """Names of the arrays in a .mat file."""
    return tuple(variable.name for variable in _read_variables(path)[1])


def _read_variables(path: Path) -> tuple[bytes, list[Variable]]:
    """Bytes of a file, and the heads of its variables; what they hold is not decompressed."""
    check_signature(path)
    data = read_bytes(path)
    if not data.startswith(b"MATLAB 5.0"):
        raise FileError(
            f"{path} is a MATLAB 7.3 file (HDF5)",
            expected="a MATLAB file of version 5 to 7",
            remedy="Save it again in MATLAB with save(file, variable, '-v7')",
        )
    with _refusing_damage(path):
        elements = list(
            islice(_elements(memoryview(data)[HEADER_SIZE:], _order(data)), MOST_ENTRIES + 1)
        )
        check_entries(len(elements), "arrays")
        found = (_variable(kind, content, _order(data)) for kind, content in elements)
        variables = [variable for variable in found if variable is not None]
    return data, variables


def _order(data: bytes) -> str:
    return "<" if data[126:128] == b"IM" else ">"


@contextmanager
def _refusing_damage(path: Path) -> Iterator[None]:
    from scipy.io.matlab import MatReadError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd names: there is but one variable
            yield
    except (MatReadError, *BROKEN) as error:
        raise damaged(path, error) from error


def _elements(
    data: memoryview, order: str, *, cut: bool = False
) -> Iterator[tuple[int, memoryview]]:
    """Type and content of one element after the other; ``cut`` data may end within one."""
    position = 0
    while position < len(data):
        word, length = struct.unpack_from(f"{order}II", data, position)
        kind, short_length = word & 0xFFFF, word >> 16
        if short_length:  # up to four bytes are stored in the place of the length
            start, end, following = position + 4, position + 4 + short_length, position + 8
        else:
            start, end = position + 8, position + 8 + length
            following = end if kind == COMPRESSED else end + -length % 8
        if end > len(data) and not cut:
            raise ValueError("the end of an array is missing")
        yield kind, data[start:end]
        position = following


def _variable(kind: int, content: memoryview, order: str) -> Variable | None:
    """What the head of a variable says; None for an empty one, which has no name."""
    head = content[:HEAD_OF_VARIABLE]
    if kind == COMPRESSED:
        start = zlib.decompressobj().decompress(content, HEAD_OF_VARIABLE)
        (kind, _), head = struct.unpack_from(f"{order}II", start), memoryview(start)[8:]
    if kind != MATRIX:
        raise ValueError(f"an element of the unknown type {kind}")
    if not head:
        return None
    parts = list(islice(_elements(head, order, cut=True), 3))
    if len(parts) < 3:
        raise ValueError("an array without a name")
    (_, flags), _, (_, name) = parts
    (word,) = struct.unpack_from(f"{order}I", flags)
    compressed = head.obj is not content.obj
    return Variable(bytes(name).decode("latin-1"), word & 0xFF in CLASSES, content, compressed)


def _whole(path: Path, variable: Variable, order: str) -> bytearray | memoryview:
    """Element of a variable, decompressed to the length that it declares and no further."""
    if not variable.compressed:
        return variable.content
    # In pieces: all at once takes the memory of the array twice.
    content, stream = variable.content, zlib.decompressobj()
    _, length = struct.unpack(f"{order}II", stream.decompress(content[:PIECE], 8))
    check_room(path, length)
    if length > MOST_DENSE * len(content):
        raise ValueError(f"{len(content):,} compressed bytes for an array of {length:,}")
    element, filled = bytearray(length), 0
    pieces = (content[start : start + PIECE] for start in range(PIECE, len(content), PIECE))
    compressed: Iterator[bytes | memoryview] = chain((stream.unconsumed_tail,), pieces)
    for left in compressed:
        while len(left) and filled < length and not stream.eof:
            part = stream.decompress(left, length - filled)
            element[filled : filled + len(part)] = part
            filled, left = filled + len(part), stream.unconsumed_tail  # noqa: PLW2901
    if filled != length:
        raise ValueError("the end of an array is missing")
    return element


def _check_array(element: bytearray | memoryview, order: str) -> int:
    """Count of the values of an array of numbers, all of which it holds; ValueError otherwise."""
    (_, flags), (_, sides), _, *parts = _elements(memoryview(element), order)
    (word,) = struct.unpack_from(f"{order}I", flags)
    dimensions = struct.unpack(f"{order}{len(sides) // 4}i", sides)
    values = math.prod(dimensions) if min(dimensions, default=-1) >= 0 else -1
    if len(parts) != (2 if word & COMPLEX else 1):
        raise ValueError(f"{len(parts)} parts of an array")
    for kind, content in parts:
        if kind not in NUMERIC:
            raise ValueError(f"an element of the unknown type {kind}")
        if values * NUMERIC[kind] != len(content):
            raise ValueError(f"{len(content)} bytes for an array of the shape {dimensions}")
    return values
