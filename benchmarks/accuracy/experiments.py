"""What each row of the paper's tables is: the method, its input, and the printed number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import rayrelief
from benchmarks.accuracy.inputs import Noise, NoiseKind, Source
from benchmarks.accuracy.predictions import Task, input_digest
from benchmarks.accuracy.settings import PUBLISHED_ITERATIONS, Settings
from benchmarks.published import published_tables
from rayrelief.formulation.ray_plane import MidpointMeasure
from rayrelief.methods.base import Method

Recipe = Callable[[rayrelief.Scene], Method]
Limits = Mapping[str, Mapping[str, tuple[float, float]]]  # least and greatest by row and object
SEEDS = range(5)
NOISY_OBJECT = "harvest"
NOISE: tuple[NoiseKind, ...] = ("outliers", "rotations")
MEASURES: tuple[MidpointMeasure, ...] = ("incidence", "normal_z", "both")


@dataclass(frozen=True, eq=False)
class Cell:
    """One printed number, and the tasks that ours comes from: none, one, or one for each input."""

    row: str
    column: str
    printed: str
    tasks: tuple[Task, ...]


def limits_of(table: str, settings: Settings) -> Limits:
    """Limits of errors in mm, for runs that are held to them."""
    if table != "made" or not settings.held_to_limits:
        return {}
    known: Limits = published_tables()["table2"]["limits"]
    return known


def _ours(**changes: Any) -> Recipe:
    return lambda scene: rayrelief.RayPlane.published(**changes)


def _without_jumps(**changes: Any) -> Recipe:
    return _ours(jumps=False, **changes)


def _averaged(outlier_ratio: float | None = None) -> rayrelief.Preprocessing:
    return rayrelief.Preprocessing(facing_away="average", outlier_ratio=outlier_ratio)


TABLE2: dict[str, Recipe] = {
    "bini": lambda scene: rayrelief.BiNI.published(),
    "no_jumps_150": _without_jumps(iterations=150),
    "no_jumps_1200": _without_jumps(),
    "jumps_150": _ours(iterations=150),
    "jumps_1200": _ours(),
    "known_jumps": lambda scene: rayrelief.RayPlane.published(150, known_depth=scene.depth),
    "default": lambda scene: rayrelief.RayPlane(),
}
GAMMA: dict[str, Recipe] = {
    "full_full": _without_jumps(),
    "cosine_full": _without_jumps(cost_factor="cosine"),
    **{
        f"cosine_{constant:.0f}": _without_jumps(cost_factor="cosine", weight_constant=constant)
        for constant in (3000.0, 2000.0, 1000.0)
    },
    "focal_full": _without_jumps(cost_factor="focal"),
}
MIDPOINT: dict[str, Recipe] = {
    "half": _without_jumps(),
    **{
        f"{measure}_{slope:.0f}": _without_jumps(
            midpoint=rayrelief.AdaptiveMidpoint(measure, slope)
        )
        for measure in MEASURES
        for slope in (1.0, 2.0, 3.0)
    },
}
ACTIVATION: dict[str, Recipe] = {
    f"rho={rho:.2f} q={q:g}": _ours(activation_threshold=rho, activation_slope=q)
    for rho in (0.25, 0.5)
    for q in (2.5, 5.0, 10.0, 15.0, 25.0, 40.0, 50.0, 100.0, 1000.0)
}
CONNECTIVITY: dict[str, Recipe] = {
    f"{name}_{connectivity}": _ours(jumps=jumps, connectivity=connectivity)
    for name, jumps in (("no_jumps", False), ("jumps", True))
    for connectivity in (4, "diagonal", 8)
}
MADE: dict[str, Mapping[str, Recipe]] = {
    "made": TABLE2,
    "gamma": GAMMA,
    "midpoint": MIDPOINT,
    "activation": ACTIVATION,
    "connectivity": CONNECTIVITY,
}
PREPROCESSED: dict[str, Recipe] = {
    "raw": _ours(preprocessing=rayrelief.Preprocessing(facing_away="keep")),
    "averaged": _ours(preprocessing=_averaged()),
    "averaged_odd": _ours(preprocessing=_averaged(0.75)),
    "averaged_midpoint": _ours(preprocessing=_averaged(), outlier_threshold=0.01),
}


def made_cells(
    table: str, scenes: Mapping[str, rayrelief.Scene], settings: Settings, library: str
) -> Iterator[Cell]:
    """Cells of a table of MADE, object by object: rows of the paper, then those without print."""
    known = published_tables()
    objects = known["table2"]["objects"]
    printed = known["table2"]["rows"] if table == "made" else known[table]
    ours = MADE[table]
    for name, scene in scenes.items():
        source, digest = Source(name, settings.principal_point), input_digest(scene)
        for row in dict.fromkeys(chain(printed, ours)):
            tasks: tuple[Task, ...] = ()
            if row in ours:
                method = scaled(ours[row](scene), settings.iterations)
                tasks = (Task(source, digest, method, library),)
            number = printed[row][objects.index(name)] if row in printed else "-"
            yield Cell(row, name, number, tasks)


def noise_cells(
    kind: NoiseKind, scenes: Mapping[str, rayrelief.Scene], settings: Settings, library: str
) -> Iterator[Cell]:
    """Cells of a table of noise, level by level; none if its object is left out."""
    if NOISY_OBJECT not in scenes:
        return
    table = published_tables()[kind]
    scene = scenes[NOISY_OBJECT]
    levels, unit = ("percent", "%") if kind == "outliers" else ("degrees", "deg")
    for index, level in enumerate(table[levels]):
        drawn = [Noise(kind, level, seed) for seed in SEEDS]
        digests = {noise: input_digest(noise.added_to(scene)) for noise in drawn}
        for row, recipe in PREPROCESSED.items():
            method = scaled(recipe(scene), settings.iterations)
            tasks = tuple(
                Task(Source(NOISY_OBJECT, settings.principal_point, noise), digest, method, library)
                for noise, digest in digests.items()
            )
            yield Cell(row, f"{level} {unit}", table["rows"][row][index], tasks)


def scaled(method: Method, iterations: int) -> Method:
    """Shrink a published schedule; what stops by itself stays as it is."""
    if method.tolerance is not None:
        return method
    count = round(method.max_iterations * iterations / PUBLISHED_ITERATIONS)
    return replace(method, max_iterations=max(1, count))
