"""Large maps on a GPU: time, memory, and the bytes that have to be moved."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import rayrelief
from benchmarks.report import Check, Row, Table, columns, progress
from benchmarks.speed.gpu_timing import INCLUDED, WARM_UP, timed
from benchmarks.speed.spheres import relative_error, spheres
from rayrelief.gpu import Integrator
from rayrelief.synthetic.crowd import crowd

SIDES, CROWD_SIDES = (1024, 2048, 4096, 8192), (1024, 2048, 4096)
SMALL = 1024  # up to here what does not grow with the image takes some bytes per pixel more
MOST_SECONDS = {
    "RayPlane, spheres, 8192x8192": 2.3,
    "Smooth, spheres, 8192x8192": 0.4,
    "RayPlane, crowd, 4096x4096": 0.7,
}
# Bytes per pixel that have to be moved: equations, surface, conductances and hierarchy; and arrays
# of the cycle.
PER_ITERATION, PER_CYCLE = 127, 114


def large(card: str) -> Table:
    """Overlapping spheres, and crowds, from one megapixel on."""
    rows: list[Row] = []
    checks = []
    copied = _copy_bandwidth()
    for make, sides, methods in (
        (spheres, SIDES, (rayrelief.RayPlane(), rayrelief.Smooth())),
        (crowd, CROWD_SIDES, (rayrelief.RayPlane(), rayrelief.Ordered())),
    ):
        for side in sides:
            progress(f"gpu: rendering {make.__name__}, {side}x{side} pixels")
            scene = make(side, side)
            for method in methods:
                what = f"{type(method).__name__}, {make.__name__}, {side}x{side}"
                progress(f"gpu: {what}")
                row, found = _large_run(scene, method, side)
                rows.append((make.__name__, *row))
                if what in MOST_SECONDS:
                    limit = MOST_SECONDS[what]
                    checks.append(Check(f"{what}: seconds", found["seconds"], at_most=limit))
                cycles = 20 if not isinstance(method, rayrelief.Ordered) else 60
                checks.append(Check(f"{what}: most cycles", found["most"], at_most=cycles))
                if side > SMALL:
                    room = 190 if not isinstance(method, rayrelief.Ordered) else 330
                    checks.append(Check(f"{what}: bytes per pixel", found["room"], at_most=room))
            del scene
    return Table(
        f"Large maps on {card}, which copies {copied:,.0f} GB/s",
        columns(
            "scene | method | pixels | seconds:.3f | spread:.3f | iterations:.0f | cycles:.0f "
            "| bytes per pixel:.0f | GB/s:,.0f | RE, %:.3f"
        ),
        tuple(rows),
        (
            INCLUDED,
            "Bytes per pixel as allocated at the end of a run, without the normals.",
            f"GB/s are those that have to be moved: {PER_ITERATION} bytes per pixel in an "
            f"iteration, {PER_CYCLE} in a cycle, with four neighbours. A copy counts what it reads "
            "and what it writes.",
        ),
        tuple(checks),
    )


def _large_run(scene: Any, method: Any, side: int) -> tuple[Row, dict[str, float]]:
    import cupy

    used = cupy.get_default_memory_pool().used_bytes
    normals = cupy.asarray(scene.normals, dtype=np.float32)
    truth_there = cupy.asarray(scene.depth)
    before = used()
    run = Integrator(scene.camera, side, side, method)
    found, seconds, spread, _ = timed(partial(run, normals), repeats=2 * WARM_UP)
    room = (used() - before) / side**2
    counts = [each.inner_iterations for each in found.history]
    moved = side**2 * (len(counts) * PER_ITERATION + sum(counts) * PER_CYCLE)
    error = 100 * relative_error(found.depth, truth_there)
    row = type(method).__name__, f"{side}x{side}", seconds, spread, len(counts), sum(counts)
    numbers = {"seconds": seconds, "most": float(max(counts)), "room": room}
    return (*row, room, moved / seconds / 1e9, error), numbers


def _copy_bandwidth() -> float:
    """GB/s of a large copy inside the GPU, read and written."""
    import cupy

    source = cupy.ones(1 << 28, dtype=np.float32)
    target = cupy.empty_like(source)
    _, seconds, _, _ = timed(lambda: cupy.copyto(target, source))
    return 2 * source.nbytes / seconds / 1e9
