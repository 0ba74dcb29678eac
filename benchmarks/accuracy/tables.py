"""Cached predictions to tables: our number beside the printed one, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import rayrelief
from benchmarks.accuracy.experiments import Cell
from benchmarks.accuracy.predictions import Cache, Task
from benchmarks.diligent import truth
from benchmarks.maps import STEADY
from benchmarks.report import Column, Table
from rayrelief.conventions import FloatArray
from rayrelief.errors import Outcome
from rayrelief.evaluation.metrics import DepthErrors, depth_errors
from rayrelief.io.atomic import atomic_write

WITHIN = 0.08  # mm


@dataclass(frozen=True)
class Scored:
    """Our errors for a cell, in mm, one for each seed, and the runs that ended badly."""

    row: str
    column: str
    printed: str
    made: tuple[float, ...]
    failures: tuple[str, ...]

    @property
    def quartiles(self) -> FloatArray:
        """Lower quartile, median and upper quartile."""
        quartiles: FloatArray = np.percentile(self.made, [25, 50, 75])
        return quartiles

    @property
    def median(self) -> float:
        """Median of our errors."""
        return float(self.quartiles[1])

    @property
    def text(self) -> str:
        """Ours / printed."""
        if not self.made:
            return f"- / {self.printed}"
        low, median, high = (_fixed(value) for value in self.quartiles)
        spread = f" ({low} to {high})" if len(self.made) > 1 else ""
        return f"{median}{spread} / {self.printed}"

    @property
    def compares(self) -> bool:
        """Whether a close number is asked for: ours and a printed one, on an object that keeps."""
        return bool(self.made) and self.printed != "-" and self.column in STEADY

    @property
    def agrees(self) -> bool:
        """Whether ours is within the limit; NaN is not."""
        printed = 0.0 if self.printed == "<10^-2" else float(self.printed)
        return abs(self.median - printed) <= WITHIN + 1e-12


@dataclass(frozen=True)
class Sheet:
    """A table for people, and its content for programs: the first of the records is the head."""

    name: str
    table: Table
    records: tuple[tuple[str, ...], ...]
    scored: tuple[Scored, ...] = ()

    def write_csv(self, folder: Path, stem: str) -> None:
        """Write stem.csv, one record for each cell."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.records)
        write_text(folder / f"{stem}.csv", text.getvalue())


def score(cell: Cell, cache: Cache, truths: Mapping[str, FloatArray]) -> Scored:
    """Score what the cache holds; NaN where a run left the range of numbers."""
    found = [errors_of(task, cache, truths[task.source.name]) for task in cell.tasks]
    made = tuple(errors.made for errors, _ in found)
    failures = tuple(outcome.cause for _, outcome in found if not outcome.ok)
    return Scored(cell.row, cell.column, cell.printed, made, failures)


def errors_of(task: Task, cache: Cache, true_depth: FloatArray) -> tuple[DepthErrors, Outcome]:
    """Errors after the median scale, and how the run ended; NaN where it left all numbers."""
    prediction = cache.load(task.key)
    if prediction is None:
        raise SystemExit(f"the prediction {task.key} is gone; the same command makes it again")
    if prediction.outcome is Outcome.NOT_FINITE:
        return DepthErrors("scale", math.nan, math.nan, math.nan), prediction.outcome
    return depth_errors(prediction.depth, true_depth, "scale"), prediction.outcome


def made_sheet(
    name: str,
    title: str,
    command: str,
    cells: Iterable[Cell],
    cache: Cache,
    scenes: Mapping[str, rayrelief.Scene],
) -> Sheet:
    """MADE of all cells."""
    truths = {key: truth(scene) for key, scene in scenes.items()}
    return sheet_of(name, title, command, [score(cell, cache, truths) for cell in cells])


def sheet_of(name: str, title: str, command: str, scored: Sequence[Scored]) -> Sheet:
    """Rows and columns in the order of what was scored."""
    at = {(each.row, each.column): each.text for each in scored}
    rows = dict.fromkeys(each.row for each in scored)
    columns = dict.fromkeys(each.column for each in scored)
    table = Table(
        title,
        command,
        (Column("row"), *(Column(column) for column in columns)),
        tuple((row, *(at[row, column] for column in columns)) for row in rows),
        notes=tuple(
            f"{each.row}, {each.column}: {failure}" for each in scored for failure in each.failures
        ),
    )
    head = ("row", "column", "printed", "ours", "lower_quartile", "upper_quartile")
    return Sheet(name, table, (head, *map(_record, scored)), tuple(scored))


def summary(sheets: Sequence[Sheet], command: str) -> Table | None:
    """Share of the cells close to the print, table by table and over all; None without any."""
    groups = {sheet.name: [each for each in sheet.scored if each.compares] for sheet in sheets}
    groups = {name: group for name, group in groups.items() if group}
    if not groups:
        return None
    groups["all tables of MADE"] = [each for group in groups.values() for each in group]
    return Table(
        f"Cells of the {len(STEADY)} stable objects within {WITHIN} mm of the print",
        command,
        (Column("table"), Column("cells", "d"), Column("within", "d"), Column("share", ".1%")),
        tuple(
            (name, len(group), count, count / len(group))
            for name, group in groups.items()
            for count in [sum(each.agrees for each in group)]
        ),
        notes=("harvest and goblet change with the slightest perturbation and do not count.",),
    )


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _record(each: Scored) -> tuple[str, ...]:
    low, median, high = (f"{v:.6g}" for v in each.quartiles) if each.made else ("", "", "")
    spread = (low, high) if len(each.made) > 1 else ("", "")
    return each.row, each.column, each.printed, median, *spread


def _fixed(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"
