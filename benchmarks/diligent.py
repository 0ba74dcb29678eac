"""The nine maps of DiLiGenT, read from the folder that RAYRELIEF_DATA names."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import rayrelief
from benchmarks.published import PUBLISHED
from benchmarks.report import UnavailableError
from rayrelief.conventions import FloatArray
from rayrelief.datasets.folder import CAMERA_NAMES, DEPTH_NAMES
from rayrelief.datasets.masks import MASK_NAME
from rayrelief.errors import FileError

OBJECTS: tuple[str, ...] = tuple(PUBLISHED["table2"]["objects"])
# The error on the other two changes with the slightest perturbation: one run says little.
STEADY = ("bear", "buddha", "cat", "cow", "pot1", "pot2", "reading")
NEEDED = {"mask": (MASK_NAME,), "camera": CAMERA_NAMES, "true depth": DEPTH_NAMES}


def object_names(text: str) -> tuple[str, ...]:
    """Objects between commas, each once, for the command line."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    unknown = sorted(set(names) - set(OBJECTS))
    if unknown:
        raise ArgumentTypeError(f"unknown objects {unknown}; there are {', '.join(OBJECTS)}")
    return names


def read_map(name: str) -> rayrelief.Scene:
    """A map with all that belongs to it: what is missing here changes every number."""
    folder = data_folder() / "diligent" / name
    if not folder.is_dir():
        raise FileError(
            f"there is no folder {folder}",
            expected="RAYRELIEF_DATA to name the folder that holds diligent/ with all nine maps",
            remedy="Correct it, or name the maps that are there with --objects",
        )
    for what, names in NEEDED.items():
        if not any((folder / each).exists() for each in names):
            raise FileError(
                f"{folder} has no {what}",
                expected=" or ".join(names),
                remedy="Take it from where the map came from",
            )
    return rayrelief.read_scene(folder)


def read_maps(names: Sequence[str] = ()) -> list[rayrelief.Scene]:
    """Maps by name, all nine by default."""
    return [read_map(name) for name in names or OBJECTS]


def data_folder() -> Path:
    """Folder of all real data."""
    named = os.environ.get("RAYRELIEF_DATA")
    if not named:
        raise UnavailableError("RAYRELIEF_DATA does not name the folder that holds diligent/")
    return Path(named)


def shifted(scene: rayrelief.Scene, du: float, dv: float) -> rayrelief.Scene:
    """Scene whose principal point is moved, in pixels."""
    camera = pinhole_of(scene)
    return replace(scene, camera=replace(camera, cx=camera.cx + du, cy=camera.cy + dv))


def pinhole_of(scene: rayrelief.Scene) -> rayrelief.cameras.Pinhole:
    """Camera of a map, which may be changed."""
    camera = scene.camera
    if not isinstance(camera, rayrelief.cameras.Pinhole) or camera.skew:
        raise UnavailableError(f"{scene.name} has no Pinhole camera without skew to be changed")
    return camera


def truth(scene: rayrelief.Scene) -> FloatArray:
    """True depth of a map (H, W)."""
    if scene.depth is None:
        raise UnavailableError(f"{scene.name} has no true depth")
    return scene.depth
