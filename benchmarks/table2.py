"""Table 2 of the paper: MADE on DiLiGenT, our number beside the printed one.

RAYRELIEF_DATA=/path/to/data python -m benchmarks.table2 [ROW ...]
"""

from __future__ import annotations

import math
import os
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import rayrelief
from rayrelief.evaluation.metrics import depth_errors

ROWS: dict[str, Callable[[rayrelief.Scene], rayrelief.RayPlane | rayrelief.BiNI]] = {
    "bini": lambda scene: rayrelief.BiNI.published(),
    "no_jumps_150": lambda scene: rayrelief.RayPlane.published(150, jumps=False),
    "no_jumps_1200": lambda scene: rayrelief.RayPlane.published(jumps=False),
    "jumps_150": lambda scene: rayrelief.RayPlane.published(150),
    "jumps_1200": lambda scene: rayrelief.RayPlane.published(),
    "known_jumps": lambda scene: rayrelief.RayPlane.published(150, known_depth=scene.depth),
    "default": lambda scene: rayrelief.RayPlane(),
}


def made(scene: rayrelief.Scene, row: str) -> float:
    """Mean absolute depth error of one row on one object, in mm."""
    method = ROWS[row](scene)
    result = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask, method=method)
    if scene.depth is None:
        raise SystemExit(f"{scene.name} has no depth_gt")
    return depth_errors(result.depth, scene.depth, "scale").made


def main(rows: list[str]) -> None:
    """Print the rows; ends with exit code 1 if an error is outside of its limits."""
    if "RAYRELIEF_DATA" not in os.environ:
        print("table 2: skipped, RAYRELIEF_DATA does not name the folder that holds diligent/")
        return
    unknown = set(rows) - set(ROWS)
    if unknown:
        raise SystemExit(f"unknown rows {sorted(unknown)}; there are {', '.join(ROWS)}")
    root = Path(os.environ["RAYRELIEF_DATA"]) / "diligent"
    published = tomllib.loads(Path(__file__).with_name("published.toml").read_text())["table2"]
    objects = published["objects"]
    scenes = [rayrelief.read_scene(root / name) for name in objects]
    print("MADE in mm (median scale), ours / printed in Table 2\n")
    print("| row | " + " | ".join(objects) + " | seconds |")
    print("|---" * (len(objects) + 2) + "|")
    outside = []
    for row in rows or ROWS:
        printed = published["rows"].get(row, ["-"] * len(objects))
        limits = published["limits"].get(row, {})
        began = time.perf_counter()
        cells = []
        for scene, print_ in zip(scenes, printed, strict=True):
            error = made(scene, row)
            low, high = limits.get(scene.name, (0.0, math.inf))
            cells.append(f"{error:.3f} / {print_}")
            if not low <= error <= high:
                outside.append(f"{row} {scene.name}: {error:.3f}, expected {low} to {high}")
        seconds = time.perf_counter() - began
        print(f"| {row} | " + " | ".join(cells) + f" | {seconds:.1f} |", flush=True)
    if outside:
        raise SystemExit("\noutside of their limits:\n" + "\n".join(outside))
    print("\nall within their limits (benchmarks/published.toml)")


if __name__ == "__main__":
    main(sys.argv[1:])
