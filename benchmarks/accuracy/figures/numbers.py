"""The numbers that plots show: scores of the same cells as in the tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.experiments import Cell
from benchmarks.accuracy.figures.study import Study
from benchmarks.accuracy.inputs import Source
from benchmarks.accuracy.predictions import Task
from benchmarks.accuracy.settings import PUBLISHED_ITERATIONS
from benchmarks.accuracy.tables import Scored, printed_number
from benchmarks.published import published_tables
from rayrelief.conventions import FloatArray
from rayrelief.methods.recipes import BiNI, RayPlane

COUNTS = (1, 2, 5, 10, 20, 50, 100, 150, 300, 600, 1200)


@dataclass(frozen=True)
class Schedule:
    """A method for any number of outer iterations, and the rows of Table 2 that print it."""

    method: Callable[[int], BiNI | RayPlane]
    printed: dict[int, str]


SCHEDULES = {
    "BiNI": Schedule(BiNI.published, {1200: "bini"}),
    "without α": Schedule(
        lambda count: RayPlane.published(count, jumps=False),
        {150: "no_jumps_150", 1200: "no_jumps_1200"},
    ),
    "with α": Schedule(RayPlane.published, {150: "jumps_150", 1200: "jumps_1200"}),
}


@dataclass(frozen=True, eq=False)
class Curve:
    """Our errors in mm with their quartiles, and the printed ones, all (N,), at some values.

    Printed numbers are NaN where there are none.
    """

    at: FloatArray
    low: FloatArray
    ours: FloatArray
    high: FloatArray
    printed: FloatArray

    @classmethod
    def of(cls, points: Sequence[tuple[float, Scored]]) -> Curve:
        """One point for each value and scored cell."""
        low, ours, high = np.array([scored.quartiles for _, scored in points]).T
        printed = [printed_number(scored.printed) for _, scored in points]
        return cls(np.array([at for at, _ in points]), low, ours, high, np.array(printed))

    @classmethod
    def mean(cls, curves: Iterable[Curve]) -> Curve:
        """Means of curves over the same values."""
        parts = [(c.at, c.low, c.ours, c.high, c.printed) for c in curves]
        return cls(*np.mean(parts, axis=0))


def activation_settings(task: Task) -> tuple[float, float]:
    """Give rho and q."""
    if not isinstance(task.method, RayPlane):
        raise TypeError(f"{type(task.method).__name__} has no activation")
    return task.method.activation_threshold, task.method.activation_slope


def activation_curves(study: Study, cells: Sequence[Cell]) -> dict[tuple[float, str], Curve]:
    """Errors over q, for each rho and object."""
    points = defaultdict(list)
    for cell, scored in zip(cells, study.scored(cells), strict=True):
        rho, q = activation_settings(cell.tasks[0])
        points[rho, cell.column].append((q, scored))
    return {key: Curve.of(each) for key, each in points.items()}


def noise_curves(study: Study, cells: Sequence[Cell]) -> dict[str, Curve]:
    """Errors over the level of noise, for each way of preprocessing."""
    points = defaultdict(list)
    for cell, scored in zip(cells, study.scored(cells), strict=True):
        points[cell.row].append((noise_level(cell.tasks[0]), scored))
    return {row: Curve.of(each) for row, each in points.items()}


def noise_level(task: Task) -> float:
    """Outliers in percent, or rotations in degrees."""
    if not (isinstance(task.source, Source) and task.source.noise):
        raise TypeError(f"the map of {task.source.name} has no noise")
    return task.source.noise.level


def iteration_cells(study: Study) -> Iterator[Cell]:
    """What each method gives after so many iterations, as predictions of their own.

    A run that ends somewhere may differ from one that passes there, since none ends on an
    excursion; and where a table has the same number of iterations, it is the same prediction.
    """
    known = published_tables()["table2"]
    as_printed = study.settings.iterations == PUBLISHED_ITERATIONS
    for name, scene in study.scenes.items():
        source = Source(name, study.settings.principal_point)
        column = known["objects"].index(name)
        for row, schedule in SCHEDULES.items():
            cells = {}
            for count in COUNTS:
                task = study.task(source, scene, schedule.method(count))
                printed = "-"
                if as_printed and count in schedule.printed:
                    printed = known["rows"][schedule.printed[count]][column]
                # Few iterations make some of the counts equal.
                cells[task.method.max_iterations] = Cell(row, name, printed, (task,))
            yield from cells.values()


def iteration_curves(study: Study, cells: Sequence[Cell]) -> dict[tuple[str, str], Curve]:
    """Errors over outer iterations, for each method and object."""
    points = defaultdict(list)
    for cell, scored in zip(cells, study.scored(cells), strict=True):
        points[cell.row, cell.column].append((cell.tasks[0].method.max_iterations, scored))
    return {key: Curve.of(each) for key, each in points.items()}
