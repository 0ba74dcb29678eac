"""Arrays of blocks in files of a folder: whatever a run has finished, it finds again."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.io.sources import read_bytes
from rayrelief.large.layout import Layout, Window, common, shape_of, size_of, within

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Store:
    """A folder that all workers see. Files appear whole or not at all."""

    folder: Path

    def path(self, name: str, number: int) -> Path:
        """File of one array of one block."""
        return self.folder / f"{name}.{number}.npy"

    def has(self, name: str, number: int) -> bool:
        """Whether an array of a block is there."""
        return self.path(name, number).is_file()

    def write(self, name: str, number: int, array: Array) -> None:
        """Keep an array of a block."""
        path = self.path(name, number)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.partial")
        with temporary.open("wb") as file:
            np.save(file, array)
        os.replace(temporary, path)

    def read(self, name: str, number: int) -> Array:
        """Array of a block, of which only the part that is looked at comes into memory."""
        array: Array = np.load(self.path(name, number), mmap_mode="r")
        return array

    def discard(self, name: str, count: int) -> None:
        """Remove an array of all blocks."""
        for number in range(count):
            self.path(name, number).unlink(missing_ok=True)

    def window(self, layout: Layout, name: str, window: Window) -> Array:
        """Part (..., h, w) of a map whose cores are kept one by one."""
        whole: Array | None = None
        for block in layout.around(window, cores=True):
            part = self.read(name, block.number)
            both = common(block.core, window)
            if whole is None:
                whole = np.empty((*part.shape[:-2], *shape_of(window)), part.dtype)
            if size_of(both):
                whole[(..., *within(both, window))] = part[(..., *within(both, block.core))]
        if whole is None:
            raise ValueError(f"no core meets the window {window}")
        return whole

    def note(self, name: str, values: dict[str, Any]) -> None:
        """Keep plain values."""
        path = self.folder / f"{name}.json"
        temporary = path.with_suffix(".partial")
        temporary.write_text(json.dumps(values), encoding="utf-8")
        os.replace(temporary, path)

    def noted(self, name: str) -> dict[str, Any] | None:
        """Plain values that were kept, or None."""
        path = self.folder / f"{name}.json"
        if not path.is_file():
            return None
        values: dict[str, Any] = json.loads(read_bytes(path))
        return values
