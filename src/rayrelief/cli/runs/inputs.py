"""A run must not replace what it reads."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import product
from pathlib import Path

from rayrelief.cameras.calibration import is_camera_text
from rayrelief.datasets.folder import CAMERA_NAMES, DEPTH_NAMES, NORMAL_NAMES
from rayrelief.datasets.masks import AUTO, MASK_NAME, NONE
from rayrelief.errors import FileError


def scene_files(path: Path, camera: str | None, mask: str | None) -> list[Path]:
    """Files that a scene is read from: those of the options, and those of its folder."""
    files = [path]
    if mask in (None, AUTO):
        files.append((path if path.is_dir() else path.parent) / MASK_NAME)
    elif mask != NONE:
        files.append(Path(mask))  # type: ignore[arg-type]
    if camera is not None and not is_camera_text(camera):
        files.append(Path(camera))
    names = [*NORMAL_NAMES, *DEPTH_NAMES]
    names += [] if camera is not None else CAMERA_NAMES
    return [*files, *(path / name for name in names)]


def check_not_replaced(inputs: Iterable[Path], results: Iterable[Path]) -> None:
    """Raise FileError where a result would take the place of an input, also through a link."""
    for read, written in product(inputs, results):
        if _is_same(read, written):
            through = "" if read == written else f" (as {written})"
            raise FileError(
                f"{read} is read by this run, whose results would replace it{through}",
                expected="a place for the results that holds none of the input under their names",
                remedy="Choose another place with -o, --write or --picture",
            )


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # one of them is not there, not for us to see, or no path
        return False
