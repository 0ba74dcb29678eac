"""A GPU: nine maps, large scenes, a batch and a video, from normals to depth in its memory."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import rayrelief
from benchmarks.diligent import STEADY, read_maps, truth
from benchmarks.report import Check, Row, Table, UnavailableError, columns, progress
from benchmarks.speed.gpu_large import large
from benchmarks.speed.gpu_timing import INCLUDED, WARM_UP, timed
from rayrelief.backends.cuda.device import is_available
from rayrelief.gpu import BatchIntegrator, Integrator

RUNS = 500
BATCH, FRAMES = 64, 100
FRAME_ITERATIONS = 2
TURN = 0.5  # degrees by which a video turns normals


def tables(objects: Sequence[str]) -> Iterator[Table]:
    """All tables; they need a GPU."""
    if not is_available():
        raise UnavailableError("there is no GPU, or CuPy is not installed")
    import cupy

    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    maps = read_maps(objects)
    yield nine_maps(maps, name)
    yield batch(maps[0], name)
    yield video(maps[0], name)
    yield pool(maps[0], name)
    yield ordered(maps, name)
    yield large(name)


def nine_maps(maps: Sequence[rayrelief.Scene], card: str) -> Table:
    """Each map on the GPU and on all cores."""
    rows: list[Row] = []
    checks = []
    times = []
    for scene in maps:
        progress(f"gpu: {scene.name}")
        normals, mask = _on_gpu(scene)
        run = Integrator(scene.camera, *scene.mask.shape)
        found, seconds, spread, same = timed(partial(run, normals, mask=mask))
        error = _made(found.depth.get(), scene)
        slow, slow_error = _on_cpu(scene)
        times.append(1e3 * seconds)
        cycles = sum(each.inner_iterations for each in found.history)
        counts = len(found.history), cycles, "yes" if same else "no"
        rows.append((scene.name, times[-1], 1e3 * spread, error, *counts, 1e3 * slow, slow_error))
        if scene.name in STEADY and scene.name != "reading":
            what = f"{scene.name}: MADE beside that of the CPU, mm"
            checks.append(Check(what, abs(error - slow_error), at_most=0.02))
    checks.append(Check("median of the maps, ms", statistics.median(times), at_most=15))
    checks.append(Check("slowest map, ms", max(times), at_most=35))
    return Table(
        f"Maps of DiLiGenT on {card}, RayPlane()",
        columns(
            "map | GPU, ms:.2f | spread, ms:.2f | MADE, mm:.3f | iterations:.0f | cycles:.0f "
            "| equal bits | CPU, all cores, ms:.0f | its MADE, mm:.3f"
        ),
        tuple(rows),
        (INCLUDED, f"The CPU has {os.cpu_count()} cores; its time includes assembly."),
        tuple(checks),
    )


def ordered(maps: Sequence[rayrelief.Scene], card: str) -> Table:
    """Ordered from normals to depth on the GPU, and from arrays of numpy, with it and without."""
    rows: list[Row] = []
    checks = []
    times = []
    for scene in maps:
        progress(f"gpu: Ordered on {scene.name}")
        normals, mask = _on_gpu(scene)
        height, width = scene.mask.shape
        resident = Integrator(scene.camera, height, width, rayrelief.Ordered())
        there, seconds, spread, same = timed(partial(resident, normals, mask=mask))
        error = _made(there.depth.get(), scene)
        times.append(1e3 * seconds)
        cycles = sum(each.inner_iterations for each in there.history)
        counts = len(there.history), cycles, "yes" if same else "no"
        measured: list[float] = []
        for device in ("cuda", "cpu"):
            run = partial(
                rayrelief.integrate,
                scene.normals,
                scene.camera,
                mask=scene.mask,
                method=rayrelief.Ordered(),
                device=device,
                on_failure="return",
            )
            found, seconds, _, _ = timed(run, repeats=2 * WARM_UP)
            measured += [1e3 * seconds, _made(found.depth, scene)]
        rows.append((scene.name, times[-1], 1e3 * spread, error, *counts, *measured))
        if scene.name in STEADY and scene.name != "reading":
            what = f"{scene.name}, Ordered: MADE beside that of the CPU, mm"
            checks.append(Check(what, abs(error - measured[-1]), at_most=0.02))
    checks.append(Check("Ordered: median of the maps, ms", statistics.median(times), at_most=45))
    checks.append(Check("Ordered: slowest map, ms", max(times), at_most=105))
    return Table(
        f"Maps of DiLiGenT with {card} and without, Ordered()",
        columns(
            "map | GPU, ms:.2f | spread, ms:.2f | MADE, mm:.3f | iterations:.0f | cycles:.0f "
            "| equal bits | integrate with it, ms:.0f | its MADE, mm:.3f "
            "| CPU, all cores, ms:.0f | its MADE, mm:.3f"
        ),
        tuple(rows),
        (
            INCLUDED,
            "The columns after the bits are of integrate: from arrays of numpy to a result in "
            "them, assembly and jumps included.",
        ),
        tuple(checks),
    )


def pool(scene: rayrelief.Scene, card: str) -> Table:
    """Memory that many runs leave behind."""
    import cupy

    progress("gpu: many runs")
    normals, mask = _on_gpu(scene)
    sizes = []
    cupy.get_default_memory_pool().free_all_blocks()
    for number in range(RUNS):
        Integrator(scene.camera, *scene.mask.shape)(normals, mask=mask)
        if number in (9, RUNS - 1):
            free, _ = cupy.cuda.runtime.memGetInfo()
            sizes += [cupy.get_default_memory_pool().total_bytes() / 1e6, free / 1e6]
    return Table(
        f"{RUNS} integrators, one after the other, on {card}",
        columns(
            "map | pool after 10, MB:.0f | free after 10, MB:.0f "
            f"| pool after {RUNS}, MB:.0f | free after {RUNS}, MB:.0f"
        ),
        ((scene.name, *sizes),),
        (),
        (
            Check("growth of the pool, MB", sizes[2] - sizes[0], at_most=0),
            Check("memory of the GPU that is gone, MB", sizes[1] - sizes[3], at_most=64),
        ),
    )


def batch(scene: rayrelief.Scene, card: str) -> Table:
    """The same map many times, each turned a little otherwise, on one canvas."""
    import cupy

    progress("gpu: batch")
    normals, mask = _on_gpu(scene)
    maps = cupy.stack([_turned(normals, frame) for frame in range(BATCH)])
    masks = cupy.stack([mask] * BATCH)
    run = BatchIntegrator([scene.camera] * BATCH, *scene.mask.shape)
    found, seconds, spread, _ = timed(lambda: run.integrate(maps, mask=masks), repeats=5)
    alone = Integrator(scene.camera, *scene.mask.shape)
    errors = [_made(found[k].depth.get(), scene) for k in (0, BATCH // 2)]
    single = [_made(alone(maps[k], mask=mask).depth.get(), scene) for k in (0, BATCH // 2)]
    rate = BATCH / seconds
    row: Row = (scene.name, float(BATCH), 1e3 * seconds, 1e3 * spread, rate)
    return Table(
        f"{BATCH} maps at once on {card}",
        columns(
            "map | maps:.0f | ms:.1f | spread, ms:.1f | maps per second:.0f "
            "| MADE of two of them:.3f | each alone:.3f"
        ),
        ((*row, statistics.mean(errors), statistics.mean(single)),),
        (INCLUDED, f"{scene.mask.shape[1]}x{scene.mask.shape[0]} pixels each, masks included."),
        (Check("maps per second", rate, at_least=300),),
    )


def video(scene: rayrelief.Scene, card: str) -> Table:
    """Frames of a map that turns, each begun with the depth of the last."""
    progress("gpu: video")
    normals, mask = _on_gpu(scene)
    frames = [_turned(normals, frame) for frame in range(FRAMES)]
    height, width = scene.mask.shape
    cold = Integrator(scene.camera, height, width)
    fast = rayrelief.RayPlane(max_iterations=FRAME_ITERATIONS, tolerance=None)
    warm = Integrator(scene.camera, height, width, fast)
    depth = cold(frames[0], mask=mask).depth
    warm(frames[0], mask=mask, start=depth)
    began = time.perf_counter()
    for frame in frames:
        depth = warm(frame, mask=mask, start=depth).depth
    rate = FRAMES / (time.perf_counter() - began)
    last = cold(frames[-1], mask=mask).depth
    errors = [_made(each.get(), scene) for each in (depth, last)]
    return Table(
        f"A video of {FRAMES} frames on {card}",
        columns("map | iterations:.0f | frames per second:.0f | MADE:.3f | of a cold run:.3f"),
        ((scene.name, float(FRAME_ITERATIONS), rate, *errors),),
        (f"{width}x{height} pixels; a wave turns the normals by up to {TURN} degrees.",),
        (Check("frames per second", rate, at_least=400),),
    )


def _turned(normals: Any, frame: int) -> Any:
    """Normals (H, W, 3), a wave along the picture having turned them about the vertical axis."""
    import cupy

    width = normals.shape[1]
    phase = 2 * np.pi * (cupy.arange(width, dtype=np.float32) / width + frame / FRAMES)
    angle = np.float32(np.radians(TURN)) * cupy.sin(phase)
    cosine, sine = cupy.cos(angle), cupy.sin(angle)
    x, y, z = (normals[..., k] for k in range(3))
    return cupy.stack((cosine * x + sine * z, y, cosine * z - sine * x), axis=-1)


def _on_gpu(scene: rayrelief.Scene) -> tuple[Any, Any]:
    import cupy

    return cupy.asarray(scene.normals, dtype=np.float32), cupy.asarray(scene.mask)


def _on_cpu(scene: rayrelief.Scene) -> tuple[float, float]:
    """Seconds and MADE of the second run on all cores, by the method of the GPU beside it."""
    method = rayrelief.RayPlane()
    for _ in range(2):
        began = time.perf_counter()
        result = rayrelief.integrate(
            scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
        )
        seconds = time.perf_counter() - began
    return seconds, _made(result.depth, scene)


def _made(depth: Any, scene: rayrelief.Scene) -> float:
    return rayrelief.depth_errors(depth, truth(scene), "scale").made
