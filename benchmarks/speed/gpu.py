"""A GPU: nine maps, large scenes, a batch and a video, from normals to depth in its memory."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import rayrelief
from benchmarks.diligent import STEADY, read_maps, truth
from benchmarks.report import Check, Row, Table, UnavailableError, columns, progress
from benchmarks.speed.spheres import relative_error, spheres
from rayrelief.backends.cuda.device import is_available
from rayrelief.gpu import BatchIntegrator, Integrator
from rayrelief.synthetic.crowd import crowd

REPEATS, WARM_UP = 7, 2
SIDES, CROWD_SIDES = (1024, 2048, 4096, 8192), (1024, 2048, 4096)
MOST_SECONDS = {
    "RayPlane, spheres, 8192x8192": 2.3,
    "Smooth, spheres, 8192x8192": 0.4,
    "RayPlane, crowd, 4096x4096": 0.7,
}
# Bytes per pixel that have to be moved: equations, surface, conductances and hierarchy; and arrays
# of the cycle.
PER_ITERATION, PER_CYCLE = 127, 114
RUNS = 500
BATCH, FRAMES = 64, 100
FRAME_ITERATIONS = 2
TURN = 0.5  # degrees by which a video turns normals
INCLUDED = (
    "From normals in the memory of the GPU (single precision) to depth in it (double precision); "
    "equations, components, constants and stopping rule included, transfers not. Medians of "
    f"repeated runs after {WARM_UP}."
)


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
    yield large(name)
    yield ordered(maps, name)


def nine_maps(maps: Sequence[rayrelief.Scene], card: str) -> Table:
    """Each map on the GPU and on all cores."""
    rows: list[Row] = []
    checks = []
    times = []
    for scene in maps:
        progress(f"gpu: {scene.name}")
        normals, mask = _on_gpu(scene)
        run = Integrator(scene.camera, *scene.mask.shape)
        found, seconds, spread, same = _timed(partial(run, normals, mask=mask))
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
    """Ordered, whose equations and parts are set up on the CPU, with the GPU and without."""
    rows: list[Row] = []
    for scene in maps:
        progress(f"gpu: Ordered on {scene.name}")
        measured = []
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
            found, seconds, spread, _ = _timed(run, repeats=2 * WARM_UP)
            own = sum(each.seconds for each in found.history)
            measured += [1e3 * seconds, 1e3 * spread, 1e3 * own, _made(found.depth, scene)]
        rows.append((scene.name, *measured))
    return Table(
        f"Maps of DiLiGenT with {card} and without, Ordered()",
        columns(
            "map | GPU, ms:.0f | spread:.0f | of it iterations:.0f | MADE, mm:.3f "
            "| CPU, ms:.0f | spread:.0f | of it iterations:.0f | MADE, mm:.3f"
        ),
        tuple(rows),
        ("From arrays of numpy to a result in them: assembly, moves of parts and jumps included.",),
    )


def large(card: str) -> Table:
    """Overlapping spheres, and crowds, from one megapixel on."""
    rows: list[Row] = []
    checks = []
    copied = _copy_bandwidth()
    for make, sides, methods in (
        (spheres, SIDES, (rayrelief.RayPlane(), rayrelief.Smooth())),
        (crowd, CROWD_SIDES, (rayrelief.RayPlane(),)),
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
                    checks.append(Check(f"{what}: most cycles", found["most"], at_most=20))
                checks.append(Check(f"{what}: bytes per pixel", found["room"], at_most=190))
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
            f"iteration, {PER_CYCLE} in a cycle. A copy counts what it reads and what it writes.",
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
    found, seconds, spread, _ = _timed(partial(run, normals), repeats=2 * WARM_UP)
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
    _, seconds, _, _ = _timed(lambda: cupy.copyto(target, source))
    return 2 * source.nbytes / seconds / 1e9


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
    found, seconds, spread, _ = _timed(lambda: run.integrate(maps, mask=masks), repeats=5)
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


def _timed(run: Callable[[], Any], repeats: int = REPEATS) -> tuple[Any, float, float, bool]:
    """Result, median and spread of the seconds after warm-up, and whether all bits are equal."""
    import cupy

    seconds, depths, found = [], [], None
    for _ in range(repeats):
        found = None  # whose memory the next one may take
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        found = run()
        cupy.cuda.Device().synchronize()
        seconds.append(time.perf_counter() - began)
        depth = getattr(found, "depth", None)
        if depth is not None and depth.size < 1 << 20:
            depths.append(cupy.asnumpy(depth).tobytes())
    timed = seconds[WARM_UP:]
    return found, statistics.median(timed), max(timed) - min(timed), len(set(depths)) == 1


def _on_cpu(scene: rayrelief.Scene) -> tuple[float, float]:
    """Seconds and MADE of the second run on all cores."""
    for _ in range(2):
        began = time.perf_counter()
        result = rayrelief.integrate(
            scene.normals, scene.camera, mask=scene.mask, on_failure="return"
        )
        seconds = time.perf_counter() - began
    return seconds, _made(result.depth, scene)


def _made(depth: Any, scene: rayrelief.Scene) -> float:
    return rayrelief.depth_errors(depth, truth(scene), "scale").made
