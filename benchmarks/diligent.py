"""The nine maps of DiLiGenT, and how a surface is scored on them."""

from __future__ import annotations

import os
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rayrelief
from benchmarks.report import UnavailableError
from rayrelief.conventions import FloatArray
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.methods.base import Method


def published() -> dict[str, Any]:
    """Table 2 of the paper: objects, printed rows and limits."""
    path = Path(__file__).with_name("published.toml")
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["table2"]
    return table


def scenes(names: tuple[str, ...] = ()) -> list[rayrelief.Scene]:
    """Maps by name, all nine by default."""
    if "RAYRELIEF_DATA" not in os.environ:
        raise UnavailableError("RAYRELIEF_DATA does not name the folder that holds diligent/")
    root = Path(os.environ["RAYRELIEF_DATA"]) / "diligent"
    objects = published()["objects"]
    unknown = set(names) - set(objects)
    if unknown:
        raise SystemExit(f"unknown objects {sorted(unknown)}; there are {', '.join(objects)}")
    return [rayrelief.read_scene(root / name) for name in names or objects]


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


def truth(scene: rayrelief.Scene) -> FloatArray:
    """True depth of a map (H, W)."""
    if scene.depth is None:
        raise SystemExit(f"{scene.name} has no true depth")
    return scene.depth
