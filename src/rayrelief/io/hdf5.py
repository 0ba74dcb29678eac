"""HDF5 files, as BlenderProc and Hypersim write them; with h5py, which is optional."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import FileError
from rayrelief.io.sources import (
    READING_BYTES,
    check_room,
    check_signature,
    choose_name,
    damaged,
)


def read_hdf5(path: Path, keys: Sequence[str] = ()) -> npt.NDArray[Any]:
    """Array of an .h5 or .hdf5 file: the first of ``keys`` that it has, else its only one."""
    check_signature(path)
    try:
        import h5py
    except ImportError as error:
        raise FileError(
            f"{path} is an HDF5 file, and h5py is not installed",
            expected="the library that reads it",
            remedy="Run: pip install 'rayrelief[hdf5]', or save the array as .npy",
        ) from error
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
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, MemoryError) as error:
        raise damaged(path, error) from error
    return array
