"""What it saves to start each frame of a video from the surface of the last one.

python -m benchmarks.sequence [--frames 6] [--height 96]
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

import rayrelief
from rayrelief.batch.sequence import LastFrame
from rayrelief.cameras import Pinhole
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.methods import Ordered, RayPlane
from rayrelief.synthetic.render import render
from rayrelief.synthetic.shapes import Plane, Shape, Sphere, Torus
from rayrelief.synthetic.table import Table, gourd, pear

TABLE = Table(pitch=40.0, distance=6.0, drop=0.0)
DEGREES, STEP = 3.0, 0.02  # from one frame to the next


def frame(height: int, turn: float, aside: float) -> rayrelief.Scene:
    """Things on a table that has turned by some degrees, before a camera that moved aside."""
    width = height * 4 // 3
    shapes: list[Shape] = [Plane(TABLE.at(0.0, 0.0), TABLE.up)]
    for number in range(5):
        angle = math.radians(72.0 * number + turn)
        right, away = 1.1 * math.cos(angle) - aside, 1.1 * math.sin(angle)
        match number:
            case 0 | 3:
                shapes.append(gourd(TABLE.at(right, away, -0.1), TABLE.up, 1.2))
            case 1:
                shapes.append(pear(TABLE.at(right, away, -0.08), TABLE.up, 0.9))
            case 2:
                level = TABLE.level(turn)
                shapes.append(Torus(TABLE.at(right, away, 0.12), level, 0.34, 0.09))
            case _:
                shapes.append(Sphere(TABLE.at(right, away, 0.15), 0.35))
    return render(shapes, Pinhole.from_fov(45.0, height, width), height, width)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=6)
    parser.add_argument("--height", type=int, default=96)
    options = parser.parse_args()
    print("| frames | method | iterations | processor time | RE, median over frames |")
    print("|---|---|---|---|---|")
    for name, turn, step in (("turntable", DEGREES, 0.0), ("moving camera", 0.0, STEP)):
        frames = [frame(options.height, turn * k, step * k) for k in range(options.frames)]
        for method in (RayPlane(), Ordered()):
            told: dict[bool, tuple[float, float, float]] = {}
            for follows in (False, True):
                last: LastFrame | None = None
                iterations, errors, seconds = [], [], 0.0
                for number, scene in enumerate(frames):
                    began = time.process_time()
                    start = last.start_for(scene) if follows and last is not None else None
                    result = rayrelief.integrate(
                        scene.normals, scene.camera, mask=scene.mask, start=start, method=method
                    )
                    last = LastFrame.of(scene, result)
                    if number:  # the first one has nothing to start from, and compiles
                        seconds += time.process_time() - began
                        iterations.append(len(result.history))
                        truth = np.asarray(scene.depth)
                        errors.append(depth_errors(result.depth, truth, "scale").re)
                told[follows] = float(np.mean(iterations)), seconds, float(np.median(errors))
            (a, s, e), (b, t, f) = told[False], told[True]
            row = f"{a:.1f} to {b:.1f} | {s:.1f} s to {t:.1f} s | {e:.3f} % to {f:.3f} %"
            print(f"| {name} | {type(method).__name__} | {row} |", flush=True)


if __name__ == "__main__":
    main()
