"""HDF5 files, as BlenderProc and Hypersim write them; with h5py, which is optional."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.io.sources import (
    BROKEN,
    READING_BYTES,
    check_room,
    check_signature,
    choose_name,
    damaged,
)
from rayrelief.optional import library


def read_hdf5(path: Path, keys: Sequence[str] = ()) -> npt.NDArray[Any]:
    """Array of an .h5 or .hdf5 file: the first of ``keys`` that it has, else its only one."""
    check_signature(path)
    h5py = library("h5py", f"{path}, an HDF5 file,", "hdf5", otherwise="save the array as .npy")
    try:
        with h5py.File(path, "r") as file:
            arrays: dict[str, Any] = {}

            def add(name: str, node: Any) -> None:
                if isinstance(node, h5py.Dataset):
                    arrays[name.replace("/", ".")] = node

            file.visititems(add)
            chosen = arrays[choose_name(path, arrays, keys)]
            if chosen.external or chosen.is_virtual:
                raise ValueError("its values lie in other files")
            check_room(path, chosen.size * (chosen.dtype.itemsize + READING_BYTES))
            array: npt.NDArray[Any] = np.asarray(chosen)
    except BROKEN as error:
        raise damaged(path, error) from error
    return array
