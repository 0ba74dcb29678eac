"""Arrays of blocks in files of a folder: whatever a run has finished, it finds again."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import FileError
from rayrelief.io.atomic import TEMPORARY, atomic_write, write_whole
from rayrelief.io.sources import BROKEN, open_file, parse_json, read_bytes
from rayrelief.large.layout import Layout, Window, common, shape_of, size_of, within

Array = npt.NDArray[Any]
RUN, STATE, JOINED, RESULT = "run", "state", "joined", "result"
OWN = re.compile(r"[0-9a-f]{16}")  # folder of what one run keeps
SHORT = "short"  # of a block whose solver ended short of its tolerance
OURS = re.compile(
    rf"({RUN}|{JOINED}|decided\.\d+\.\d+|{SHORT}(\.\d+){{3}})\.json|{STATE}\.\d+\.npz|{RESULT}\.\w+"
    rf"|(depth|equations|inside|{JOINED}|parts|surface\.\d+\.\d+)\.\d+\.npy|{TEMPORARY.pattern}"
)
LARGEST = 50_000_000  # bytes of plain values


@dataclass(frozen=True)
class Store:
    """A folder that all workers see. Files appear whole or not at all.

    A worker that nobody waits for any more may go on with its task. So each run has a folder of its
    own in the working folder: what is written there later, no other run finds.
    """

    folder: Path

    def path(self, name: str, number: int) -> Path:
        """File of one array of one block."""
        return self.folder / f"{name}.{number}.npy"

    def has(self, name: str, number: int) -> bool:
        """Whether an array of a block is there."""
        return self.path(name, number).is_file()

    def write(self, name: str, number: int, array: Array) -> None:
        """Keep an array of a block."""
        with atomic_write(self.path(name, number)) as temporary, temporary.open("wb") as file:
            np.save(file, array)

    def read(self, name: str, number: int) -> Array:
        """Array of a block, of which only the part that is looked at comes into memory."""
        path = self.path(name, number)
        with refusing_damage(path):
            open_file(path).close()  # which refuses what is no regular file
            array: Array = np.lib.format.open_memmap(path, mode="r")
        return array

    def discard(self, name: str, count: int) -> None:
        """Remove an array of all blocks."""
        for number in range(count):
            self.path(name, number).unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove what runs have kept here, each in its own folder."""
        for path in self.folder.iterdir():
            if OWN.fullmatch(path.name):
                shutil.rmtree(path, ignore_errors=True)

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
        write_whole(self.folder / f"{name}.json", json.dumps(values))

    def has_note(self, name: str) -> bool:
        """Whether plain values were kept."""
        return (self.folder / f"{name}.json").is_file()

    def noted(self, name: str) -> dict[str, Any] | None:
        """Plain values that were kept, or None."""
        path = self.folder / f"{name}.json"
        if not self.has_note(name):
            return None
        with refusing_damage(path):
            values: dict[str, Any] = parse_json(read_bytes(path, largest=LARGEST))
            if not isinstance(values, dict):
                raise TypeError(f"{type(values).__name__} instead of named values")
        return values


@contextmanager
def refusing_damage(path: Path) -> Iterator[None]:
    """Turn what a broken file of a working folder raises into an error that says what to do."""
    try:
        yield
    except (FileError, *BROKEN) as error:
        raise FileError(
            f"{path} cannot be gone on with: {type(error).__name__}: {error}",
            expected="a file as an earlier run left it",
            remedy=f"Remove the folder {path.parent} to begin again",
        ) from error


def check_ours(folder: Path) -> None:
    """Raise FileError if a working folder, which is removed in the end, holds anything else."""
    if not folder.exists() and not folder.is_symlink():
        return
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    runs = [name for name in names if OWN.fullmatch(name) and (folder / name).is_dir()]
    kept = [f"{run}/{path.name}" for run in runs for path in (folder / run).iterdir()]
    others = [name for name in names if name not in runs] + kept
    foreign = next((name for name in others if not OURS.fullmatch(name.rpartition("/")[2])), None)
    begun = f"{RUN}.json" in names or all(map(TEMPORARY.fullmatch, names))  # killed before it
    if foreign is None and begun and folder.is_dir() and not folder.is_symlink():
        return
    what = f"holds {foreign}" if foreign else f"is no folder with the {RUN}.json of a run"
    raise FileError(
        f"{folder} {what}, and would be removed at the end of this run",
        expected="nothing there, or what an earlier run left",
        remedy="Choose another -o, or move it away",
    )
