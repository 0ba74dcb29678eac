"""A run must replace neither what it reads nor what it writes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import product
from pathlib import Path

from rayrelief.cameras.calibration import is_camera_text
from rayrelief.datasets.folder import DEPTH_NAMES, NORMAL_NAMES, camera_file
from rayrelief.datasets.masks import AUTO, MASK_NAME, NONE
from rayrelief.errors import FileError
from rayrelief.io.atomic import target_of


def scene_files(path: Path, camera: str | None, mask: str | None) -> list[Path]:
    """Files that a scene is read from: those of the options, and those of its folder."""
    files = [path]
    if mask in (None, AUTO):
        files.append((path if path.is_dir() else path.parent) / MASK_NAME)
    elif mask != NONE:
        files.append(Path(mask))  # type: ignore[arg-type]
    if camera is not None and not is_camera_text(camera):
        files.append(Path(camera))
    if camera is None and (own := camera_file(path)) is not None:
        files.append(own)
    return [*files, *(path / name for name in (*NORMAL_NAMES, *DEPTH_NAMES))]


def check_not_replaced(inputs: Iterable[Path], results: Iterable[Path]) -> None:
    """Raise FileError where a result would take the place of an input, also through a link."""
    for read, written in product(inputs, results):
        if _is_same(read, written):
            through = "" if read == written else f" (as {written})"
            raise FileError(
                f"{read} is read by this run, whose results would replace it{through}",
                expected="a place for the results that holds none of the input under their names",
                remedy="Choose another place with -o, --height, --write or --picture",
            )


def check_apart(results: Iterable[Path]) -> None:
    """Raise FileError where two results of a run would be one file, also through a link."""
    seen: dict[Path, Path] = {}
    for path in results:
        other = seen.setdefault(target_of(path), path)
        if other is not path:
            raise FileError(
                f"two results would be written to {other}",
                expected="a place of its own for each",
                remedy="Give one of them another name",
            )


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # one of them is not there, not for us to see, or no path
        return False
