"""HDF5 files, as BlenderProc and Hypersim write them; with h5py, which is optional."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

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
from rayrelief.optional import library

GZIP, SHUFFLE, CHECKSUM = 1, 2, 3  # filters, by the numbers of HDF5
CHECKSUM_BYTES = 4  # that a chunk has beside its values
DEEPEST = 100  # groups in each other: HDF5 takes the square of their number
MOST_CHUNKS = 1_000_000  # of one array, also those that a file leaves out


def read_hdf5(path: Path, keys: Sequence[str] = ()) -> npt.NDArray[Any]:
    """Array of an .h5 or .hdf5 file: the first of ``keys`` that it has, else its only one."""
    check_signature(path)
    h5py = library("h5py", f"{path}, an HDF5 file,", "hdf5", otherwise="save the array as .npy")
    try:
        with open_file(path) as opened, h5py.File(opened, "r") as file:
            arrays: dict[str, Any] = {}
            numbers = count(1)

            def add(name: str, node: Any) -> None:
                check_entries(next(numbers), "arrays and groups")
                check_entries(name.count("/"), "groups in each other", DEEPEST)
                if isinstance(node, h5py.Dataset):
                    arrays[name.replace("/", ".")] = node

            file.visititems(add)
            chosen = arrays[choose_name(path, arrays, keys)]
            if chosen.external or chosen.is_virtual:
                raise ValueError("its values lie in other files")
            check_room(path, chosen.size * (chosen.dtype.itemsize + READING_BYTES))
            if chosen.chunks is not None:
                _check_chunks(path, chosen)
            array: npt.NDArray[Any] = np.asarray(chosen)
    except BROKEN as error:
        raise damaged(path, error) from error
    return array


def _check_chunks(path: Path, array: Any) -> None:
    """Raise unless all chunks hold their values alone: HDF5 leaves what is missing unwritten."""
    number = math.prod(
        -(-side // step) for side, step in zip(array.shape, array.chunks, strict=True)
    )
    check_entries(number, "chunks", MOST_CHUNKS)
    plan = array.id.get_create_plist()
    filters = [plan.get_filter(number)[0] for number in range(plan.get_nfilters())]
    if unknown := set(filters) - {GZIP, SHUFFLE, CHECKSUM}:
        raise FileError(
            f"{path} is compressed by the filters {sorted(unknown)} of HDF5",
            expected="gzip, shuffle and fletcher32 alone",
            remedy="Save it again with compression='gzip', or as .npy",
        )
    if len(set(filters)) < len(filters):
        raise ValueError("a filter of HDF5 twice")
    if GZIP not in filters:
        return
    size = math.prod(array.chunks) * array.dtype.itemsize
    check_room(path, size)
    chunks: list[Any] = []
    array.id.chunk_iter(chunks.append)
    for chunk in chunks:
        skipped, data = array.id.read_direct_chunk(chunk.chunk_offset)
        packed = not skipped >> filters.index(GZIP) & 1  # what gzip would lengthen is left alone
        most = size + CHECKSUM_BYTES  # HDF5 itself would decompress all that a chunk holds
        held = len(zlib.decompressobj().decompress(data, most + 1) if packed else data)
        if not size <= held <= most:
            raise ValueError(f"{held:,} of {size:,} bytes of a chunk")
