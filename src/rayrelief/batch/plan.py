"""Which maps there are below some paths, and where their results go."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rayrelief.datasets.folder import DEPTH_NAMES, MATRIX_NAMES, NORMAL_NAMES, NORMAL_SUFFIXES
from rayrelief.datasets.masks import MASK_NAME
from rayrelief.errors import InputError


@dataclass(frozen=True)
class PlannedMap:
    """A map and the folder of its results, by absolute paths.

    Attributes
    ----------
    name
        For the summary: the folder's path below that of all results.
    path
        Normal map, or folder that holds one.
    folder
        Where its results go.
    """

    name: str
    path: Path
    folder: Path


def is_one_map(paths: Sequence[Path]) -> bool:
    """Whether paths are a single one that is no folder of folders with maps."""
    return len(paths) == 1 and [*_maps_below(paths[0])] == [paths[0]]


def plan(paths: Sequence[Path], out: Path) -> list[PlannedMap]:
    """Maps of some paths, in their order; InputError where two would have the same results.

    The results repeat the folders of the maps below the folder that all of them have in common.
    """
    found: list[Path] = []
    tops = []
    for path in map(absolute, paths):
        maps = [*_maps_below(path)]
        tops.append(path.parent if maps == [path] else path)
        found += maps
    common = Path(os.path.commonpath(tops))
    planned: dict[str, PlannedMap] = {}
    for path in dict.fromkeys(found):
        relative = path.relative_to(common)
        name = (relative if path.is_dir() else relative.with_suffix("")).as_posix()
        if name in planned:
            raise InputError(
                f"{planned[name].path} and {path} would both be written to {out / name}",
                expected="maps whose names differ in more than their suffix",
                remedy="Rename one, or integrate them by two commands with different -o",
            )
        planned[name] = PlannedMap(name, path, absolute(out) / name)
    return [*planned.values()]


def frames(paths: Sequence[Path]) -> list[Path]:
    """Paths of a sequence: in place of a folder without folders of maps, the maps in it."""
    return [frame for path in paths for frame in _frames_in(path)]


def _frames_in(path: Path) -> list[Path]:
    if not path.is_dir() or _holds_map(path) or [*_maps_below(path)] != [path]:
        return [path]
    beside = (MASK_NAME, *MATRIX_NAMES, *DEPTH_NAMES)
    found = (file for file in path.iterdir() if file.suffix.lower() in NORMAL_SUFFIXES)
    named = sorted(file for file in found if not file.name.startswith(".") and file.is_file())
    return [file for file in named if file.name not in beside] or [path]


def _maps_below(path: Path) -> Iterator[Path]:
    """Folders with a normal map in a folder that has none itself; else the path, whatever it is."""
    if not path.is_dir() or _holds_map(path):
        yield path
        return
    below = [Path(folder) for folder, _, _ in os.walk(path)]
    maps = sorted(folder for folder in below if _holds_map(folder))
    yield from maps or [path]


def _holds_map(folder: Path) -> bool:
    return any((folder / name).is_file() for name in NORMAL_NAMES)


def absolute(path: Path) -> Path:
    """Path that means the same in every process; links are not followed."""
    return Path(os.path.abspath(path))
