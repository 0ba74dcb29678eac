"""One large map on ever more threads: how far the cores of a machine help."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Sequence

import numpy as np

import rayrelief
from benchmarks.report import Check, Row, Table, columns, progress
from rayrelief.backends import CPU
from rayrelief.synthetic.crowd import crowd

FEW, MANY = 2, 16
FASTER = 5.0
METHOD = rayrelief.RayPlane(max_iterations=4, tolerance=None)


def tables(sizes: Sequence[int]) -> Iterator[Table]:
    """Powers of two up to the number of cores, on the largest of the sizes."""
    cores, side = os.cpu_count() or 1, max(sizes)
    counts = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= cores]
    progress(f"threads: rendering {side}x{side} pixels")
    scene = crowd(side, side)
    rows: list[Row] = []
    seconds, depths = {}, set()
    for count in counts:
        _run(crowd(96, 96), count)  # has the kernels compiled or loaded
        progress(f"threads: {count}")
        began = time.perf_counter()
        found = _run(scene, count)
        seconds[count] = time.perf_counter() - began
        iterations = sum(each.seconds for each in found.history)
        depths.add(hashlib.sha256(found.depth.tobytes()).hexdigest())
        rows.append((f"{count}", seconds[count], iterations, seconds[1] / seconds[count]))
    checks = [Check("results that differ", len(depths) - 1, at_most=0)]
    if MANY in seconds:
        times = seconds[FEW] / seconds[MANY]
        what = f"{MANY} threads, times as fast as {FEW}"
        checks.append(Check(what, times, at_least=FASTER))
    yield Table(
        f"A crowd of {side}x{side} pixels, {METHOD.max_iterations} iterations of RayPlane()",
        columns("threads | seconds:.1f | of them iterations:.1f | times as fast as one:.2f"),
        tuple(rows),
        ("With assembly and the final result.",),
        tuple(checks),
    )


def _run(scene: rayrelief.Scene, threads: int) -> rayrelief.Integration:
    return rayrelief.integrate(
        scene.normals.astype(np.float32),
        scene.camera,
        mask=scene.mask,
        method=METHOD,
        backend=CPU(threads),
        on_failure="return",
        memory_check=False,
    )
