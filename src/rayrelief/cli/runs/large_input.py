"""The map, mask and camera of a run in blocks: what was given, and what lies beside the map."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rayrelief.batch.plan import absolute
from rayrelief.cameras.base import Camera
from rayrelief.cameras.ray_map import RayMap
from rayrelief.cli.options.shared import Input
from rayrelief.cli.runs.inputs import scene_files
from rayrelief.cli.terminal.console import quiet_libraries
from rayrelief.conventions import from_opencv
from rayrelief.datasets.folder import CAMERA_NAMES, camera_file, find_camera
from rayrelief.datasets.masks import AUTO, MASK_NAME, NONE
from rayrelief.doctor.advice import settle_axes
from rayrelief.errors import CameraError, InputError
from rayrelief.large.arrays import MapFile
from rayrelief.large.opening import is_whole, mask_in
from rayrelief.large.samples import spread

SIDE, PLACES = 512, 3  # pixels along a side of what shows the axes, and places along each side


def large_files(path: Path, source: Input) -> list[Path]:
    """Files that a map in blocks may be read from."""
    files = [*scene_files(path, source.camera_text, source.mask), path.parent / MASK_NAME]
    own = camera_file(path.parent) if source.camera_text is None else None
    return files if own is None else [*files, own]


def read_large(path: Path, source: Input, memory: int) -> tuple[MapFile, Camera, list[str]]:
    """Map and camera, and notes on what was assumed; for workers of so many bytes."""
    is_auto = source.mask in (None, AUTO)
    mask = None if is_auto or source.mask == NONE else absolute(Path(str(source.mask)))
    with quiet_libraries():
        found = MapFile.at(path, source.convention, mask, masked=source.mask != NONE, memory=memory)
        notes = [f"{path.name}: {found.encoding.note}"]
        if is_auto:
            found, more = _own_mask(found, memory)
            notes += more
        notes += found.left_out()
        camera, more = _camera(path, source, *found.shape)
        notes += more
        camera.check_resolution(*found.shape)
        notes += _checked_axes(found, camera, check=not source.no_convention_check)
    return found, camera, notes


def whole_bytes(found: MapFile) -> int:
    """Bytes of the mask that each worker holds as a whole, if there is such a mask."""
    height, width = found.shape
    return height * width if found.mask is not None and is_whole(found.mask) else 0


def _checked_axes(found: MapFile, camera: Camera, *, check: bool) -> tuple[str, ...]:
    """Notes on the axes of a map; InputError where its fullest part speaks clearly against them."""
    parts = ((window, *found.read(window)) for window in spread(*found.shape, SIDE, PLACES))
    (rows, columns), normals, inside = max(parts, key=lambda part: np.count_nonzero(part[2]))
    _, notes = settle_axes(
        from_opencv(normals, found.convention),
        inside,
        camera.crop(columns.start, rows.start, *inside.shape[::-1]),
        found.convention,
        image=False,
        coded=found.encoding.coded,
        name=str(found.path),
        check=check,
    )
    return notes


def _own_mask(found: MapFile, memory: int) -> tuple[MapFile, list[str]]:
    """Map with the mask that it comes with: in its group, beside it, in a channel, in colours."""
    beside, notes = found.path.parent / MASK_NAME, []
    if beside.is_file():
        with mask_in(beside) as whole:
            fits = whole.shape == found.shape
        if found.mask is not None:
            notes.append(f"mask: {beside.name} beside the map is not used, as its group has one")
        elif fits:
            return found.with_mask(beside, memory), [f"mask: {beside.name} beside the map"]
        else:
            notes.append(f"mask: {beside.name} beside the map has another size and is not used")
    if found.mask is not None:
        notes.append("mask: that in the group")
    elif not found.colours:
        notes.append("mask: from the fourth channel")
    else:
        notes.append(
            "mask: no mask given, every pixel is inside that has a normal and not the colour of a "
            "background" + (", and whose fourth channel is above half" if found.alpha else "")
        )
    return found, notes


def _camera(path: Path, source: Input, height: int, width: int) -> tuple[Camera, list[str]]:
    folder, notes = path.parent, []
    if source.camera_text is None:
        own = camera_file(folder)
        if own is None:
            raise InputError(
                f"{path} has no camera",
                expected=f"a camera, or {', '.join(CAMERA_NAMES)} beside it",
                remedy="Give --camera fx,fy,cx,cy, --fov 60 or --camera orthographic",
            )
        notes.append(f"camera: {own.name} beside the map")
    camera, more = find_camera(
        folder, source.camera_text, height, width, source.which, source.k_order.value
    )
    if isinstance(camera, RayMap):  # 24 bytes per pixel of the map, which go along with every block
        raise CameraError(
            "a ray map as the camera of a map in blocks, of which each worker would hold all rays",
            expected="a camera that numbers describe",
            remedy="Give its parameters, such as camera.json, or give a folder with -o to "
            "integrate the map whole",
        )
    return camera, [*notes, *more]
