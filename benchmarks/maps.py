"""Real maps: the default against the published schedule, in error and in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import mean, median

import numpy as np

import rayrelief
from benchmarks.diligent import STEADY, Run, run, scenes, shifted, truth
from benchmarks.report import Check, Column, Row, Table, progress
from benchmarks.settings import Settings
from benchmarks.watched import Watched
from rayrelief.evaluation.metrics import aligned
from rayrelief.synthetic.perturb import with_rotation_noise

EXACT = ("bear", "cat", "cow", "pot2")  # held to what exact inner solves give
SEEDS = range(5)
SHIFT = 0.25  # pixels
NOISE_DEGREES = 5.0
NOISE_SEED = 0
FULL = Settings().iterations


def tables(settings: Settings) -> Iterator[Table]:
    """Error and time; perturbed runs; noisy normals; exact inner solves."""
    maps = scenes(settings.objects)
    command = settings.command("maps")
    yield against_published(maps, settings.iterations, command)
    yield perturbed(maps, command)
    yield noisy(maps, settings.noise_iterations, command)
    yield against_exact(maps, command)


def against_published(maps: Sequence[rayrelief.Scene], iterations: int, command: str) -> Table:
    """The default and the published schedule, map by map."""
    default, schedule = rayrelief.RayPlane(), rayrelief.RayPlane.published(iterations)
    for scene in maps:  # some kernels are needed by some maps only
        warm_up(scene)
    rows: list[Row] = []
    pairs, seconds, work = [], 0.0, 0
    for scene in maps:
        progress(f"maps: {scene.name}, default and {iterations} published iterations")
        watch = Watched(schedule.solver)
        pair = run(scene, default), run(scene, replace(schedule, solver=watch))
        pairs.append(pair)
        seconds, work = seconds + watch.seconds, work + watch.work
        rows.append((*_row(scene.name, *pair), 1e9 * watch.seconds / watch.work))
    total = _total(pairs)
    per_step = 1e9 * seconds / work
    rows.append((*_total_row(total), per_step))
    names = [scene.name for scene in maps]
    steady = [pair for name, pair in zip(names, pairs, strict=True) if name in STEADY]
    checks = []
    if set(STEADY) <= set(names):
        rows.append(_mean_row(steady))
        error = mean(pair[0].made for pair in steady)
        checks.append(Check(f"mean MADE of {', '.join(STEADY)}, mm", error, at_most=0.16))
    if iterations == FULL:
        checks.append(
            Check("published over default, total time", total[1] / total[0], at_least=20, aim=40)
        )
    checks.append(Check("conjugate gradients, ns per pixel and step", per_step, at_most=8))
    return Table(
        f"{len(maps)} maps of DiLiGenT: `RayPlane()` against `RayPlane.published({iterations})`",
        command,
        (*_columns(f"published({iterations})"), Column("CG ns per pixel and step", ".2f")),
        tuple(rows),
        (
            "MADE in mm after the median scale; seconds of integrate with compiled kernels.",
            "The last column is the time of the published run's inner solves over their steps "
            "times the pixels.",
        ),
        tuple(checks),
    )


def perturbed(maps: Sequence[rayrelief.Scene], command: str) -> Table:
    """The default on maps whose principal point is a little off."""
    rows: list[tuple[str, float, float, float]] = []
    for scene in maps:
        progress(f"maps: {scene.name}, perturbed")
        errors = [run(jittered(scene, seed), rayrelief.RayPlane()).made for seed in SEEDS]
        rows.append((scene.name, median(errors), min(errors), max(errors)))
    return Table(
        f"`RayPlane()` with the principal point moved by up to {SHIFT} pixels",
        command,
        (
            Column("object"),
            Column("MADE, median", ".3f"),
            Column("least", ".3f"),
            Column("largest", ".3f"),
        ),
        tuple(rows),
        (f"{len(SEEDS)} runs on each map, seeds {', '.join(map(str, SEEDS))}; MADE in mm.",),
        tuple(
            Check("harvest, median of the perturbed runs, mm", error, below=1.0)
            for name, error, _, _ in rows
            if name == "harvest"
        ),
    )


def noisy(maps: Sequence[rayrelief.Scene], iterations: int, command: str) -> Table:
    """The default and the published schedule on noisy normals."""
    repair = rayrelief.Preprocessing(facing_away="average")
    default = rayrelief.RayPlane(preprocessing=repair)
    schedule = rayrelief.RayPlane.published(iterations, preprocessing=repair)
    rows: list[Row] = []
    pairs = []
    for scene in maps:
        progress(f"maps: {scene.name}, noisy, default and {iterations} published iterations")
        rng = np.random.default_rng(NOISE_SEED)
        rough = replace(scene, normals=with_rotation_noise(scene.normals, NOISE_DEGREES, rng))
        pairs.append((run(rough, default), run(rough, schedule)))
        rows.append(_row(scene.name, *pairs[-1]))
    rows.append(_total_row(_total(pairs)))
    return Table(
        f"The same with {NOISE_DEGREES:g} degrees of rotation noise",
        command,
        _columns(f"published({iterations})"),
        tuple(rows),
        (
            f"Gaussian angles about random axes, seed {NOISE_SEED}; normals that face away are "
            'averaged (`Preprocessing(facing_away="average")`).',
            f"The published schedule runs {iterations} iterations here, and its time is that of "
            f"{iterations}.",
        ),
    )


def against_exact(maps: Sequence[rayrelief.Scene], command: str) -> Table:
    """The default and a run whose inner solves are exact."""
    exact = rayrelief.RayPlane(solver=rayrelief.Multigrid(rtol=1e-10))
    rows: list[tuple[str, float, float]] = []
    for scene in maps:
        if scene.name in EXACT:
            progress(f"maps: {scene.name}, exact inner solves")
            pair = run(scene, rayrelief.RayPlane()), run(scene, exact)
            one, other = (aligned(each.result.depth, truth(scene), "scale") for each in pair)
            difference = float(np.nanmean(np.abs(one - other)))
            rows.append((scene.name, difference, pair[1].seconds / pair[0].seconds))
    return Table(
        "`RayPlane()` against inner solves to 1e-10",
        command,
        (
            Column("object"),
            Column("mean difference in depth, mm", ".5f"),
            Column("time over default", ".1f"),
        ),
        tuple(rows),
        ("Both after the median scale to the truth.",),
        tuple(
            Check(f"{name}, mean difference in depth, mm", found, below=0.01)
            for name, found, _ in rows
        ),
    )


def jittered(scene: rayrelief.Scene, seed: int) -> rayrelief.Scene:
    """A scene whose principal point is moved by up to SHIFT along u and along v."""
    return shifted(scene, *np.random.default_rng(seed).uniform(-SHIFT, SHIFT, 2))


def warm_up(scene: rayrelief.Scene) -> None:
    """Have all kernels compiled, or loaded from the cache."""
    for method in (rayrelief.RayPlane(max_iterations=3), rayrelief.RayPlane.published(3)):
        run(scene, method)


def _columns(schedule: str) -> tuple[Column, ...]:
    return (
        Column("object"),
        Column("pixels", ",d"),
        Column("iterations", "d"),
        Column("MADE, default", ".3f"),
        Column(f"MADE, {schedule}", ".3f"),
        Column("seconds, default", ".2f"),
        Column(f"seconds, {schedule}", ".1f"),
        Column("times faster", ".1f"),
    )


def _row(name: str, ours: Run, theirs: Run) -> Row:
    return (
        name,
        int(ours.result.mask.sum()),
        len(ours.result.history),
        ours.made,
        theirs.made,
        ours.seconds,
        theirs.seconds,
        theirs.seconds / ours.seconds,
    )


def _total(pairs: list[tuple[Run, Run]]) -> tuple[float, float]:
    return sum(ours.seconds for ours, _ in pairs), sum(theirs.seconds for _, theirs in pairs)


def _total_row(total: tuple[float, float]) -> Row:
    return ("total", None, None, None, None, *total, total[1] / total[0])


def _mean_row(pairs: list[tuple[Run, Run]]) -> Row:
    errors = (mean(pair[i].made for pair in pairs) for i in (0, 1))
    return (f"mean of {len(pairs)}", None, None, *errors, None, None, None, None)
