"""How steady Ordered is: under changes that should not matter, and under noise.

RAYRELIEF_DATA=/path/to/data python -m benchmarks.robustness [PART ...] [--objects bear,cow]
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

import rayrelief
from benchmarks import command
from benchmarks.accuracy.inputs import PERTURBATIONS, Noise
from benchmarks.diligent import object_names, read_maps, truth
from benchmarks.report import Check, Row, Table, columns, exit_code, progress
from rayrelief.conventions import FloatArray
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.methods import Method

METHODS: dict[str, Method] = {
    "Ordered": rayrelief.Ordered(),
    "RayPlane": rayrelief.RayPlane(),
}
LEVELS = (
    *(("rotations", degrees) for degrees in (1, 2, 5, 10)),
    *(("outliers", percent) for percent in (2, 5, 12)),
)
SEEDS = range(5)
MOST, WITHIN = 1.3, 0.02  # the largest error: times the median, or so many mm above it


def surface(
    scene: rayrelief.Scene, method: Method, prior: rayrelief.DepthPrior | None = None
) -> FloatArray:
    """Depth (H, W) of a scene, however the run ended."""
    how: dict[str, Any] = {"mask": scene.mask, "method": method, "on_failure": "return"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rayrelief.IntegrationWarning)  # noise turns normals away
        return rayrelief.integrate(scene.normals, scene.camera, prior=prior, **how).depth


def made(scene: rayrelief.Scene, method: Method) -> float:
    """MADE in mm after the median scale."""
    return depth_errors(surface(scene, method), truth(scene), "scale").made


def steady(maps: Sequence[rayrelief.Scene]) -> Table:
    """Median and largest error over changes that should not matter."""
    rows: list[Row] = []
    checks = []
    for scene in maps:
        progress(f"robustness: {scene.name}, perturbed")
        inputs = [change(scene) for change in PERTURBATIONS.values()]
        cells: list[float] = []
        for method in METHODS.values():
            errors = [made(each, method) for each in inputs]
            cells += [median(errors), max(errors)]
        rows.append((scene.name, *cells))
        limit = max(MOST * cells[0], cells[0] + WITHIN)
        checks.append(Check(f"{scene.name}, largest MADE of Ordered", cells[1], at_most=limit))
    return Table(
        "MADE in mm under changes that should not matter",
        columns(_both("median:.3f", "largest:.3f")),
        tuple(rows),
        (f"Changes: {'; '.join(PERTURBATIONS)}.",),
        tuple(checks),
    )


def noisy(maps: Sequence[rayrelief.Scene], seeds: Iterable[int] = SEEDS) -> Table:
    """Median error over seeds, level by level."""
    rows: list[Row] = []
    for scene in maps:
        for kind, level in LEVELS:
            progress(f"robustness: {scene.name}, {kind} {level}")
            inputs = [Noise(kind, level, seed).added_to(scene) for seed in seeds]
            errors = [median(made(each, one) for each in inputs) for one in METHODS.values()]
            rows.append((scene.name, f"{kind} {level}", *errors, errors[0] / errors[1]))
    better = sum(row[4] <= 1 for row in rows)  # type: ignore[operator]
    share = Check("share of rows in which Ordered is better", better / len(rows), at_least=2 / 3)
    return Table(
        "MADE in mm under noise, median over seeds",
        columns("object | noise | Ordered:.3f | RayPlane:.3f | ratio:.2f"),
        tuple(rows),
        ("Rotations in degrees, outliers in percent of the normals.",),
        (share,),
    )


PARTS: command.Parts = {
    "steady": lambda chosen: [steady(read_maps(chosen.objects))],
    "noise": lambda chosen: [noisy(read_maps(chosen.objects))],
}


def main(arguments: list[str]) -> int:
    """Run parts; 1 if a limit is missed."""
    known = command.parser("benchmarks.robustness", PARTS, __doc__)
    known.add_argument("--objects", type=object_names, default=(), help="default: all nine")
    return command.run(known, PARTS, arguments, "robustness")


def _both(*cells: str) -> str:
    """Columns of the object, and of these cells for each method."""
    return " | ".join(["object", *(f"{name}, {cell}" for name in METHODS for cell in cells)])


if __name__ == "__main__":
    sys.exit(exit_code(main, sys.argv[1:]))
