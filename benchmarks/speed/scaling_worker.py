"""One measurement of ``scaling`` in a process of its own, so that its memory is its own.

python -m benchmarks.speed.scaling_worker render FOLDER SIDE
python -m benchmarks.speed.scaling_worker {RayPlane,Smooth,Ordered,cycles} FOLDER

A measurement is printed as one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import rayrelief
from benchmarks.diligent import truth
from benchmarks.speed.watched import integrated, problems_of
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.methods import Reweighted
from rayrelief.synthetic.crowd import crowd

METHODS: dict[str, Reweighted] = {
    "RayPlane": rayrelief.RayPlane(),
    "Smooth": rayrelief.Smooth(),
    "Ordered": rayrelief.Ordered(),
}
STATUS = Path("/proc/self/status")
WARM_UP_SIDE = 96
ON_A_JUMP = 0.05  # weights below this
OUTER = 5  # outer iteration whose system is solved from zero
RTOL = 1e-6


def render(folder: Path, side: int) -> None:
    """Write a crowd; rendering takes more memory than integrating may show."""
    scene = crowd(side, side)
    np.save(folder / "normals.npy", scene.normals.astype(np.float32))
    np.save(folder / "mask.npy", scene.mask)
    np.save(folder / "depth.npy", truth(scene))
    rayrelief.cameras.write_camera(folder / "camera.json", scene.camera)


def read(folder: Path) -> rayrelief.Scene:
    """What was rendered, without the truth."""
    normals, mask = np.load(folder / "normals.npy"), np.load(folder / "mask.npy")
    return rayrelief.Scene(normals, mask, rayrelief.read_camera(folder / "camera.json"))


def measure(folder: Path, method: Reweighted) -> dict[str, Any]:
    """Time and memory of one integration, and what came of it."""
    small = crowd(WARM_UP_SIDE, WARM_UP_SIDE)  # has the kernels compiled or loaded
    integrated(rayrelief.Scene(small.normals.astype(np.float32), small.mask, small.camera), method)
    scene = read(folder)
    before = memory("VmRSS")
    began = time.perf_counter()
    result = integrated(scene, method)
    seconds = time.perf_counter() - began
    peak = memory("VmHWM")
    # What follows takes memory of its own.
    pixels = int(scene.mask.sum())
    cycles = [iteration.inner_iterations for iteration in result.history]
    weights = result.weights.values
    return {
        "pixels": pixels,
        "seconds": seconds,
        "bytes_per_pixel": (peak - before) / pixels,
        "iterations": len(cycles),
        "cycles": float(np.mean(cycles)),
        "jump_share": float((weights < ON_A_JUMP).sum() / np.isfinite(weights).sum()),
        "relative_error": depth_errors(result.depth, np.load(folder / "depth.npy"), "scale").re,
        "outcome": result.status.outcome.name,
    }


def cycles_from_zero(folder: Path) -> dict[str, float]:
    """Cycles to RTOL from zero: on the system of Smooth, and on one that has weights and jumps."""
    scene = read(folder)
    smooth = integrated(scene, rayrelief.Smooth(solver=rayrelief.solvers.Multigrid(RTOL)))
    solution = problems_of(scene, {OUTER})[OUTER].solve(rayrelief.solvers.Multigrid(RTOL))
    if not (smooth.status.ok and solution.converged):
        raise SystemExit(f"{folder}: no convergence to {RTOL}")
    return {"smooth": smooth.history[0].inner_iterations, "jumps": solution.steps}


def memory(name: str) -> int:
    """Bytes of this process: VmRSS now, VmHWM at most so far.

    Not ``resource.getrusage``, whose peak begins with that of the process that started this one.
    """
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def main(task: str, folder: Path, *side: str) -> None:
    """Do one task."""
    if task == "render":
        render(folder, int(side[0]))
    elif task == "cycles":
        print(json.dumps(cycles_from_zero(folder)))
    else:
        print(json.dumps(measure(folder, METHODS[task])))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
