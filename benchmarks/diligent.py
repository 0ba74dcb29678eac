"""The nine maps of DiLiGenT, and how a surface is scored on them."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

import rayrelief
from benchmarks.published import published_tables
from benchmarks.report import UnavailableError
from rayrelief.conventions import FloatArray
from rayrelief.datasets.folder import CAMERA_NAMES, DEPTH_NAMES, MASK_NAME
from rayrelief.errors import FileError
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.methods.base import Method

# The error on the other two changes with the slightest perturbation: one run says little.
STEADY = ("bear", "buddha", "cat", "cow", "pot1", "pot2", "reading")
NEEDED = {"mask": (MASK_NAME,), "camera": CAMERA_NAMES, "true depth": DEPTH_NAMES}


def scenes(names: tuple[str, ...] = ()) -> list[rayrelief.Scene]:
    """Maps by name, all nine by default."""
    if not os.environ.get("RAYRELIEF_DATA"):
        raise UnavailableError("RAYRELIEF_DATA does not name the folder that holds diligent/")
    root = Path(os.environ["RAYRELIEF_DATA"]) / "diligent"
    if not root.is_dir():
        raise FileError(
            f"there is no folder {root}",
            expected="RAYRELIEF_DATA to name the folder that holds diligent/",
            remedy="Correct it, or unset it for what needs no data",
        )
    objects = published_tables()["table2"]["objects"]
    unknown = set(names) - set(objects)
    if unknown:
        raise SystemExit(f"unknown objects {sorted(unknown)}; there are {', '.join(objects)}")
    return [_read(root / name) for name in names or objects]


def _read(folder: Path) -> rayrelief.Scene:
    """Read a map with all that belongs to it: what is missing here changes every number."""
    if not folder.is_dir():
        raise FileError(
            f"there is no folder {folder}",
            expected="all nine maps of DiLiGenT",
            remedy="Name those that are there with --objects",
        )
    for what, names in NEEDED.items():
        if not any((folder / name).exists() for name in names):
            raise FileError(
                f"{folder} has no {what}",
                expected=" or ".join(names),
                remedy="Take it from where the map came from",
            )
    return rayrelief.read_scene(folder)


@dataclass(frozen=True, eq=False)
class Run:
    """An integration that was timed."""

    result: rayrelief.Integration
    seconds: float
    made: float


def run(scene: rayrelief.Scene, method: Method) -> Run:
    """Integrate a map; MADE is in mm after the median scale."""
    began = time.perf_counter()
    result = rayrelief.integrate(
        scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
    )
    seconds = time.perf_counter() - began
    return Run(result, seconds, depth_errors(result.depth, truth(scene), "scale").made)


def shifted(scene: rayrelief.Scene, du: float, dv: float) -> rayrelief.Scene:
    """Scene whose principal point is moved, in pixels."""
    camera = pinhole_of(scene)
    return replace(scene, camera=replace(camera, cx=camera.cx + du, cy=camera.cy + dv))


def pinhole_of(scene: rayrelief.Scene) -> rayrelief.cameras.Pinhole:
    """Camera of a map, which may be changed."""
    camera = scene.camera
    if not isinstance(camera, rayrelief.cameras.Pinhole) or camera.skew:
        raise SystemExit(f"{scene.name} has no Pinhole camera without skew that could be changed")
    return camera


def truth(scene: rayrelief.Scene) -> FloatArray:
    """True depth of a map (H, W)."""
    if scene.depth is None:
        raise SystemExit(f"{scene.name} has no true depth")
    return scene.depth
