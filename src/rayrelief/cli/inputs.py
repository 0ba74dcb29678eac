"""A run must not replace what it reads."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import product
from pathlib import Path

from rayrelief.cameras.calibration import is_camera_text
from rayrelief.datasets.folder import CAMERA_NAMES, DEPTH_NAMES, MASK_NAME, NORMAL_NAMES
from rayrelief.errors import FileError


def scene_files(path: Path, camera: str | None, mask: Path | None) -> list[Path]:
    """Files that a scene is read from: those of the options, and those of its folder."""
    files = [path]
    if mask is not None:
        files.append(mask)
    if camera is not None and not is_camera_text(camera):
        files.append(Path(camera))
    names = [*NORMAL_NAMES, *DEPTH_NAMES]
    names += [] if mask is not None else [MASK_NAME]
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
    except OSError:  # one of them is not there, or not for us to see
        return False
