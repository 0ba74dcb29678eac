"""One large map on ever more threads: how far the cores of a machine help.

Beside it what the machine itself gains: of arithmetic in registers, which only its cores limit, and
of a triad over arrays that no cache holds, which its memory does.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import rayrelief
from benchmarks.report import Check, Row, Table, columns, progress
from rayrelief.backends import CPU
from rayrelief.backends.threads import kernel_threads
from rayrelief.compiled import njit, prange
from rayrelief.synthetic.crowd import crowd

FEW, MANY = 2, 16
FASTER = 5.0
METHOD = rayrelief.RayPlane(max_iterations=4, tolerance=None)
LARGE, BLOCKS, ROUNDS = 1 << 25, 1 << 10, 1 << 18  # numbers, shares of them, steps of each
REPEATS = 3


def tables(sizes: Sequence[int]) -> Iterator[Table]:
    """Powers of two up to the number of cores, on the largest of the sizes."""
    cores, side = os.cpu_count() or 1, max(sizes)
    counts = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= cores]
    progress(f"threads: rendering {side}x{side} pixels")
    scene = crowd(side, side)
    rows: list[Row] = []
    seconds, machine, depths = {}, {}, set()
    for count in counts:
        _run(crowd(96, 96), count)  # has the kernels compiled or loaded
        progress(f"threads: {count}")
        began = time.perf_counter()
        found = _run(scene, count)
        seconds[count] = time.perf_counter() - began
        iterations = sum(each.seconds for each in found.history)
        depths.add(hashlib.sha256(found.depth.tobytes()).hexdigest())
        machine[count] = _machine(count)
        gains = (before / now for before, now in zip(machine[1], machine[count], strict=True))
        rows.append((f"{count}", seconds[count], iterations, seconds[1] / seconds[count], *gains))
    checks = [Check("results that differ", len(depths) - 1, at_most=0)]
    if MANY in seconds:
        times = seconds[FEW] / seconds[MANY]
        what = f"{MANY} threads, times as fast as {FEW}"
        checks.append(Check(what, times, at_least=FASTER))
    yield Table(
        f"A crowd of {side}x{side} pixels, {METHOD.max_iterations} iterations of RayPlane()",
        columns(
            "threads | seconds:.1f | of them iterations:.1f | times as fast as one:.2f | "
            "arithmetic alone:.2f | memory alone:.2f"
        ),
        tuple(rows),
        (
            "With assembly and the final result. The last two columns are what this machine gains "
            "where nothing else limits it: numbers in registers, and arrays that no cache holds.",
        ),
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


def _machine(threads: int) -> tuple[float, float]:
    """Seconds of arithmetic in registers and of a triad over large arrays, the best of some."""
    arrays = np.ones((3, LARGE))  # zeros that nobody has written take no memory
    with kernel_threads(threads, LARGE):
        return _seconds(_count_up, arrays[0, :BLOCKS]), _seconds(_triad, *arrays)


def _seconds(kernel: Callable[..., None], *arrays: Any) -> float:
    """Of the fastest call; the first compiles."""
    kernel(*(array[:BLOCKS] for array in arrays))
    found = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        kernel(*arrays)
        found.append(time.perf_counter() - began)
    return min(found)


@njit(parallel=True)
def _count_up(values: Any) -> None:
    for k in prange(len(values)):
        value = values[k]
        for _ in range(ROUNDS):
            value = 0.5 * value + 1.0
        values[k] = value


@njit(parallel=True)
def _triad(left: Any, right: Any, out: Any) -> None:
    share = len(out) // BLOCKS
    for k in prange(BLOCKS):
        for i in range(k * share, (k + 1) * share):
            out[i] = left[i] + 0.5 * right[i]
