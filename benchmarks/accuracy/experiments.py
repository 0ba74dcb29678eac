"""What each row of the paper's tables is: the method, its input, and the printed number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import rayrelief
from benchmarks.accuracy.inputs import (
    PUBLISHED_ITERATIONS,
    MapSource,
    Noise,
    Settings,
    scene_of,
)
from benchmarks.accuracy.known_jumps import knowing_jumps
from benchmarks.accuracy.predictions import Task
from benchmarks.diligent import OBJECTS, truth
from benchmarks.published import PUBLISHED
from benchmarks.report import UnavailableError
from rayrelief.conventions import FloatArray
from rayrelief.formulation.ray_plane import MidpointMeasure
from rayrelief.methods import AuxiliaryEdges, Reweighted

FromDepth = Callable[[FloatArray], Reweighted]  # a method that is told the true depth (H, W)
SEEDS = range(5)
NOISY_OBJECT = "harvest"
NOISE = ("outliers", "rotations")
MEASURES: tuple[MidpointMeasure, ...] = ("incidence", "normal_z", "both")


@dataclass(frozen=True, eq=False)
class Cell:
    """One printed number, and the tasks that ours comes from: none, one, or one for each input."""

    row: str
    column: str
    printed: str
    tasks: tuple[Task, ...]


def _ours(**changes: Any) -> Reweighted:
    return rayrelief.RayPlane.published(**changes)


def _without_jumps(**changes: Any) -> Reweighted:
    return _ours(jumps=False, **changes)


def _averaged(outlier_ratio: float | None = None) -> rayrelief.Preprocessing:
    return rayrelief.Preprocessing(facing_away="average", outlier_ratio=outlier_ratio)


# By table and row; the last two rows of the first are not the paper's.
MADE: dict[str, Mapping[str, Reweighted | FromDepth]] = {
    "made": {
        "bini": rayrelief.BiNI.published(),
        "kim": AuxiliaryEdges(),
        "no_jumps_150": _without_jumps(iterations=150),
        "no_jumps_1200": _without_jumps(),
        "jumps_150": _ours(iterations=150),
        "jumps_1200": _ours(),
        "known_jumps": knowing_jumps,
        "ray_plane": rayrelief.RayPlane(),
        "ordered": rayrelief.Ordered(),
    },
    "gamma": {
        "full_full": _without_jumps(),
        "cosine_full": _without_jumps(cost_factor="cosine"),
        **{
            f"cosine_{constant:.0f}": _without_jumps(cost_factor="cosine", weight_constant=constant)
            for constant in (3000.0, 2000.0, 1000.0)
        },
        "focal_full": _without_jumps(cost_factor="focal"),
    },
    "midpoint": {
        "half": _without_jumps(),
        **{
            f"{measure}_{k:.0f}": _without_jumps(
                midpoint=rayrelief.methods.AdaptiveMidpoint(measure, k)
            )
            for measure in MEASURES
            for k in (1.0, 2.0, 3.0)
        },
    },
    "activation": {
        f"rho={rho:.2f} q={q:g}": _ours(activation_threshold=rho, activation_slope=q)
        for rho in (0.25, 0.5)
        for q in (2.5, 5.0, 10.0, 15.0, 25.0, 40.0, 50.0, 100.0, 1000.0)
    },
    "connectivity": {
        f"{name}_{connectivity}": _ours(jumps=jumps, connectivity=connectivity)
        for name, jumps in (("no_jumps", False), ("jumps", True))
        for connectivity in (4, "diagonal", 8)
    },
}
NO_REPRODUCTION = ("kim",)  # built from an outline: its print is there for comparison
PREPROCESSED: dict[str, Reweighted] = {
    "raw": _ours(preprocessing=rayrelief.Preprocessing(facing_away="keep")),
    "averaged": _ours(preprocessing=_averaged()),
    "averaged_odd": _ours(preprocessing=_averaged(0.75)),
    "averaged_midpoint": _ours(preprocessing=_averaged(), outlier_threshold=0.01),
}


def made_cells(table: str, settings: Settings) -> Iterator[Cell]:
    """Cells of a table of MADE, object by object: rows of the paper, then those without print."""
    printed = PUBLISHED["table2"]["rows"] if table == "made" else PUBLISHED[table]
    for name in settings.objects:
        for row in dict.fromkeys(chain(printed, MADE[table])):
            tasks: tuple[Task, ...] = ()
            if row in MADE[table]:
                recipe, sources = MADE[table][row], settings.sources(name)
                tasks = tuple(Task(s, scaled(_method(recipe, s), settings)) for s in sources)
            number = printed[row][OBJECTS.index(name)] if row in printed else "-"
            yield Cell(row, name, number, tasks)


def _method(recipe: Reweighted | FromDepth, source: MapSource) -> Reweighted:
    return recipe(truth(scene_of(source))) if callable(recipe) else recipe


def noise_cells(kind: str, settings: Settings) -> Iterator[Cell]:
    """Cells of a table of noise, level by level."""
    if NOISY_OBJECT not in settings.objects:
        raise UnavailableError(f"noise is added to {NOISY_OBJECT}, which is left out")
    table, source = PUBLISHED[kind], settings.source(NOISY_OBJECT)
    levels, unit = ("percent", "%") if kind == "outliers" else ("degrees", "deg")
    for index, level in enumerate(table[levels]):
        drawn = [replace(source, noise=Noise(kind, level, seed)) for seed in SEEDS]
        for row, method in PREPROCESSED.items():
            tasks = tuple(Task(each, scaled(method, settings)) for each in drawn)
            yield Cell(row, f"{level} {unit}", table["rows"][row][index], tasks)


def scaled(method: Reweighted, settings: Settings) -> Reweighted:
    """Shrink a published schedule; what stops by itself stays as it is."""
    if method.tolerance is not None or method.max_iterations is None:
        return method
    count = round(method.max_iterations * settings.iterations / PUBLISHED_ITERATIONS)
    return replace(method, max_iterations=max(1, count))
