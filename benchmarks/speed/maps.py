"""Real maps: RayPlane() against the published schedule and Ordered(), in error and in time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median

import numpy as np

import rayrelief
from benchmarks.diligent import STEADY, read_maps, shifted, truth
from benchmarks.report import Check, Row, Table, columns, progress
from benchmarks.speed.watched import Watched, integrated
from rayrelief.evaluation.metrics import aligned, depth_errors
from rayrelief.methods import Reweighted
from rayrelief.synthetic.perturb import with_rotation_noise

EXACT = ("bear", "cat", "cow", "pot2")  # held to what exact inner solves give
SEEDS = range(5)
SHIFT = 0.25  # pixels
NOISE_DEGREES = 5.0
FULL = 1200  # iterations of the published schedule


@dataclass(frozen=True, eq=False)
class Run:
    """An integration that was timed."""

    result: rayrelief.Integration
    seconds: float
    made: float


def run(scene: rayrelief.Scene, method: Reweighted) -> Run:
    """Integrate a map; MADE is in mm after the median scale."""
    began = time.perf_counter()
    result = integrated(scene, method)
    seconds = time.perf_counter() - began
    return Run(result, seconds, depth_errors(result.depth, truth(scene), "scale").made)


def tables(objects: Sequence[str], iterations: int) -> Iterator[Table]:
    """Error and time; noisy normals; perturbed runs; Ordered; exact inner solves."""
    maps = read_maps(objects)
    yield against_published(maps, iterations)
    yield noisy(maps, iterations)
    yield perturbed(maps)
    yield ordered(maps)
    yield against_exact(maps)


def against_published(maps: Sequence[rayrelief.Scene], iterations: int) -> Table:
    """RayPlane() and the published schedule, map by map, with limits."""
    table = compared(maps, iterations, "", rayrelief.Preprocessing())
    rows = {str(row[0]): row for row in table.rows}
    total, checks = rows["total"], []
    if set(STEADY) <= set(rows):
        errors = [mean(_float(rows[name][i]) for name in STEADY) for i in (3, 4)]
        rows["mean"] = (f"mean of {len(STEADY)}", None, None, *errors, None, None, None, None)
        checks.append(Check(f"mean MADE of {', '.join(STEADY)}, mm", errors[0], at_most=0.16))
    if iterations == FULL:  # fewer say nothing of the ratio
        checks.append(Check("published total time over RayPlane's", _float(total[7]), at_least=20))
    checks.append(Check("conjugate gradients, ns per pixel and step", _float(total[8]), at_most=8))
    return replace(table, rows=tuple(rows.values()), checks=tuple(checks))


def noisy(maps: Sequence[rayrelief.Scene], iterations: int) -> Table:
    """The same on noisy normals, those that face away averaged."""

    def rough(scene: rayrelief.Scene) -> rayrelief.Scene:
        rng = np.random.default_rng(0)
        return replace(scene, normals=with_rotation_noise(scene.normals, NOISE_DEGREES, rng))

    what = f" with {NOISE_DEGREES:g} degrees of rotation noise"
    repair = rayrelief.Preprocessing(facing_away="average")
    return compared([rough(scene) for scene in maps], iterations, what, repair)


def ordered(maps: Sequence[rayrelief.Scene]) -> Table:
    """Ordered() against RayPlane(), with limits."""
    methods = rayrelief.Ordered(), rayrelief.RayPlane()
    run(maps[0], methods[0])  # has the kernels compiled
    runs: dict[str, tuple[Run, ...]] = {}
    for scene in maps:
        progress(f"maps: {scene.name}, Ordered and RayPlane")
        runs[scene.name] = tuple(run(scene, method) for method in methods)
    rows: list[Row] = [
        (name, ours.made, paper.made, ours.seconds, ours.seconds / paper.seconds)
        for name, (ours, paper) in runs.items()
    ]
    seconds, times = (sum(pair[i].seconds for pair in runs.values()) for i in (0, 1))
    rows.append(("total", None, None, seconds, seconds / times))
    checks = [Check("total time over RayPlane's", seconds / times, at_most=3)]
    if set(STEADY) <= set(runs):
        error = mean(runs[name][0].made for name in STEADY)
        checks.append(Check(f"mean MADE of {', '.join(STEADY)}, mm", error, at_most=0.12))
    return Table(
        "`Ordered()` against `RayPlane()`",
        columns("object | MADE:.3f | MADE, RayPlane:.3f | seconds:.2f | time over RayPlane's:.2f"),
        tuple(rows),
        checks=tuple(checks),
    )


def compared(
    maps: Sequence[rayrelief.Scene],
    iterations: int,
    what: str,
    preprocessing: rayrelief.Preprocessing,
) -> Table:
    """Both methods on all maps, and the total."""
    method = rayrelief.RayPlane(preprocessing=preprocessing)
    schedule = rayrelief.RayPlane.published(iterations, preprocessing=preprocessing)
    for scene in maps:  # has the kernels compiled, of which some maps need more than others
        run(scene, replace(method, max_iterations=3))
        run(scene, replace(schedule, max_iterations=3))
    rows: list[Row] = []
    watches = []
    for scene in maps:
        progress(f"maps: {scene.name}{what}, RayPlane and {iterations} published iterations")
        watch = Watched(schedule.solver)
        ours, theirs = run(scene, method), run(scene, replace(schedule, solver=watch))
        size, count = int(ours.result.mask.sum()), len(ours.result.history)
        seconds = ours.seconds, theirs.seconds, theirs.seconds / ours.seconds
        step = 1e9 * watch.seconds / watch.work
        rows.append((scene.name, size, count, ours.made, theirs.made, *seconds, step))
        watches.append(watch)
    total = [sum(_float(row[i]) for row in rows) for i in (5, 6)]
    step = 1e9 * sum(watch.seconds for watch in watches) / sum(watch.work for watch in watches)
    rows.append(("total", None, None, None, None, *total, total[1] / total[0], step))
    published = f"published({iterations})"
    return Table(
        f"DiLiGenT{what}: `RayPlane()` against `RayPlane.{published}`",
        columns(
            f"object | pixels:,d | iterations:d | MADE, RayPlane:.3f | MADE, {published}:.3f "
            f"| seconds, RayPlane:.2f | seconds, {published}:.1f | times faster:.1f "
            "| CG ns per pixel and step:.2f"
        ),
        tuple(rows),
        (
            "MADE in mm after the median scale; seconds of integrate with compiled kernels.",
            "CG: time of the published run's inner solves over their steps times the pixels.",
        ),
    )


def perturbed(maps: Sequence[rayrelief.Scene]) -> Table:
    """RayPlane() on maps whose principal point is a little off."""
    rows: list[tuple[str, float, float, float]] = []
    for scene in maps:
        progress(f"maps: {scene.name}, perturbed")
        errors = [run(jittered(scene, seed), rayrelief.RayPlane()).made for seed in SEEDS]
        rows.append((scene.name, median(errors), min(errors), max(errors)))
    return Table(
        f"`RayPlane()` with the principal point moved by up to {SHIFT} pixels",
        columns("object | MADE, median:.3f | least:.3f | largest:.3f"),
        tuple(rows),
        (f"{len(SEEDS)} runs on each map, seeds {', '.join(map(str, SEEDS))}; MADE in mm.",),
        tuple(
            Check("harvest, median of the perturbed runs, mm", error, below=1.0)
            for name, error, _, _ in rows
            if name == "harvest"
        ),
    )


def against_exact(maps: Sequence[rayrelief.Scene]) -> Table:
    """RayPlane() and a run whose inner solves are exact."""
    exact = rayrelief.RayPlane(solver=rayrelief.solvers.Multigrid(rtol=1e-10))
    rows: list[tuple[str, float, float]] = []
    for scene in maps:
        if scene.name in EXACT:
            progress(f"maps: {scene.name}, exact inner solves")
            pair = run(scene, rayrelief.RayPlane()), run(scene, exact)
            one, other = (aligned(each.result.depth, truth(scene), "scale") for each in pair)
            difference = float(np.nanmean(np.abs(one - other)))
            rows.append((scene.name, difference, pair[1].seconds / pair[0].seconds))
    what = "mean difference in depth, mm"
    return Table(
        "`RayPlane()` against inner solves to 1e-10, both after the median scale",
        columns(f"object | {what}:.5f | time over RayPlane's:.1f"),
        tuple(rows),
        checks=tuple(Check(f"{name}, {what}", found, below=0.01) for name, found, _ in rows),
    )


def jittered(scene: rayrelief.Scene, seed: int) -> rayrelief.Scene:
    """A scene whose principal point is moved by up to SHIFT along u and along v."""
    return shifted(scene, *np.random.default_rng(seed).uniform(-SHIFT, SHIFT, 2))


def _float(cell: str | float | None) -> float:
    return float(cell) if cell is not None else float("nan")
