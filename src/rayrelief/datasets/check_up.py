"""A folder, or one normal map, to what can be found out about it without being told anything."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration import KOrder
from rayrelief.conventions import CONVENTIONS, BoolArray, convention_name
from rayrelief.datasets.folder import camera_file, find_camera, find_normals
from rayrelief.datasets.masks import find_mask
from rayrelief.doctor.axes import Axes, find_axes
from rayrelief.doctor.focal import FocalLength, find_focal_length
from rayrelief.doctor.frame import find_tilt
from rayrelief.doctor.likeness import unlike_normals
from rayrelief.errors import RayreliefError
from rayrelief.io.normals import read_normals
from rayrelief.io.sources import missing


@dataclass(frozen=True, eq=False)
class CheckUp:
    """What was found out about a normal map.

    Attributes
    ----------
    source, size
        The file that holds it, and its (width, height).
    encoding, mask_notes, camera_notes
        How it was decoded, what is inside, and which camera was found.
    doubt
        What speaks against its being a normal map; empty if nothing does.
    axes
        Those of its normals.
    tilt
        Degrees by which they are turned against the frame of the camera, as in world space.
    focal
        The focal length that suits it; None where the axes are not known or a camera is.
    command
        What to run next, with the camera and the mask that were given; where the map does not tell
        its axes, with one of the conventions that fit. Empty for normals that have to be turned
        first.
    """

    source: Path
    size: tuple[int, int]
    encoding: tuple[str, ...]
    mask_notes: tuple[str, ...]
    camera_notes: tuple[str, ...]
    doubt: str
    axes: Axes
    tilt: float
    focal: FocalLength | None
    command: str


def check_up(
    path: str | os.PathLike[str],
    *,
    camera: Camera | str | os.PathLike[str] | None = None,
    mask: BoolArray | str | os.PathLike[str] | None = None,
    which: str | None = None,
    k_order: KOrder = "auto",
) -> CheckUp:
    """Find out what kind of normal map this is; arguments as for ``read_scene``."""
    path = Path(path)
    if not path.exists():
        raise missing(path, "a folder or a normal map")
    folder = path if path.is_dir() else None
    source = path if folder is None else find_normals(folder)
    file = read_normals(source)
    height, width = file.normals.shape[:2]
    chosen: Camera | None = None
    where = "beside the map" if folder is None else "in the folder"
    notes: tuple[str, ...] = (f"none given and none {where}",)
    try:
        if camera is not None or camera_file(path) is not None:
            chosen, notes = find_camera(path, camera, height, width, which, k_order)
    except RayreliefError as error:
        if camera is not None or folder is not None:
            raise
        notes = (f"not used: {error.found}",)  # it may be that of another map
    inside, mask_notes = find_mask(path, source, mask, file)
    axes = find_axes(file.normals, inside, chosen)
    doubt = unlike_normals(file.normals, inside) if file.coded else ""
    focal, tilt = None, 0.0
    if axes.readings:
        tilt = find_tilt(file.normals, inside, axes.readings[0], chosen)
    if axes.readings and chosen is None:
        focal = find_focal_length(file.normals, inside, axes.readings[0].axes)
    given = {"--camera": camera, "--mask": mask, "--which": which}
    given["--k-order"] = None if k_order == "auto" else k_order
    return CheckUp(
        source=source,
        size=(width, height),
        mask_notes=mask_notes,
        camera_notes=notes,
        encoding=file.notes,
        doubt=doubt,
        axes=axes,
        tilt=tilt,
        focal=focal,
        command="" if tilt or not axes.readings else _command(path, axes, focal, given),
    )


def _command(path: Path, axes: Axes, focal: FocalLength | None, given: dict[str, Any]) -> str:
    """Command that integrates the map."""
    usual = (code for code in axes.candidates if code in CONVENTIONS.values())
    name = convention_name(next(usual, axes.readings[0].axes))
    words = ["rayrelief", "integrate", str(path), "-o", "out", "--convention", name]
    for option, value in given.items():
        if isinstance(value, str | os.PathLike):
            words += [option, str(value)]
    if focal is not None:
        if focal.parallel:
            words += ["--camera", "orthographic"]
        else:
            words += ["--fov", f"{focal.degrees(focal.best):.0f}"]
    return shlex.join(words)
