"""Cached predictions to tables: our number beside the printed one, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

import rayrelief
from benchmarks.accuracy.experiments import MADE, Cell, Limits
from benchmarks.accuracy.inputs import MapSource
from benchmarks.accuracy.predictions import Cache, Task
from benchmarks.diligent import STEADY, truth
from benchmarks.report import Check, Column, Row, Table, write_text
from rayrelief.conventions import FloatArray
from rayrelief.errors import Outcome
from rayrelief.evaluation.metrics import DepthErrors, depth_errors

WITHIN = 0.08  # mm
LEAST_SHARE = 0.85  # of the cells of stable objects within
ALL, ONCE = "all", "each setting once"
WHAT_COUNTS = (
    "harvest and goblet change with the slightest perturbation and do not count.",
    f"{ONCE}: where a setting stands in several tables, its first cell counts.",
)
OTHERS_ARE_VARIED = (
    "What is within, but not as printed: `--principal-point both` shows it with the other point, "
    "too. What is not within is varied by `explain`."
)

TINY = "<10^-2"  # as printed
MM = Column("MADE in mm", ".3f")
TrueDepth = Callable[[MapSource], FloatArray]
T = TypeVar("T")


@dataclass(frozen=True)
class Scored:
    """Our errors for a cell, in mm, one for each input, and why some runs ended badly."""

    row: str
    column: str
    printed: str
    made: tuple[float, ...]
    failures: Mapping[int, str]  # by the place of the error
    setting: str = ""  # alike for cells whose predictions are the same

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
        low, median, high = (MM.show(value) for value in self.quartiles)
        spread = f" ({low} to {high})" if len(self.made) > 1 else ""
        return f"{median}{spread} / {self.printed}"

    def only(self, index: int) -> Scored:
        """The same cell with one of its errors alone."""
        failures = {0: self.failures[index]} if index in self.failures else {}
        return replace(self, made=(self.made[index],), failures=failures)

    @property
    def compares(self) -> bool:
        """Whether a close number is asked for: ours and a printed one, on an object that keeps."""
        return self.has_both and self.column in STEADY

    @property
    def has_both(self) -> bool:
        """Whether there is a number of ours and a printed one."""
        return bool(self.made) and self.printed != "-"

    @property
    def agrees(self) -> bool:
        """Whether ours is within the limit; NaN is not."""
        return abs(self.median - printed_number(self.printed)) <= WITHIN + 1e-12

    @property
    def extremes(self) -> tuple[float, float]:
        """Least and greatest; both NaN if any is, so that nothing lies between them."""
        if any(map(math.isnan, self.made)):
            return math.nan, math.nan
        return min(self.made), max(self.made)

    @property
    def print_within(self) -> bool:
        """Whether some number that is printed like this lies between the least and the greatest."""
        if self.printed == "-":
            return False
        low, high = printed_range(self.printed)
        least, greatest = self.extremes
        return least <= high and low <= greatest


@dataclass(frozen=True)
class Sheet:
    """A table for people, and its content for programs: the first of the records is the head."""

    name: str
    table: Table
    records: tuple[tuple[str, ...], ...]
    scored: tuple[Scored, ...] = ()

    @classmethod
    def of_table(cls, name: str, table: Table) -> Sheet:
        """Sheet of a table whose rows are the records."""
        head = tuple(column.name for column in table.columns)
        return cls(name, table, (head, *(tuple(map(str, row)) for row in table.rows)))

    def write_csv(self, folder: Path, stem: str) -> None:
        """Write stem.csv, one record for each cell."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.records)
        write_text(folder / f"{stem}.csv", text.getvalue())


def printed_number(text: str) -> float:
    """What this text says: NaN for a dash, and 0 for less than can be printed."""
    return math.nan if text == "-" else 0.0 if text == TINY else float(text)


def printed_range(text: str) -> tuple[float, float]:
    """Numbers that are printed as this text."""
    if text == TINY:
        return 0.0, 0.01
    half_digit = 0.5 * 10.0 ** -len(text.partition(".")[2])
    return float(text) - half_digit, float(text) + half_digit


def distance(made: float, printed: str) -> float:
    """From the numbers that are printed as this text, negative within; infinite for NaN."""
    low, high = printed_range(printed)
    return math.inf if math.isnan(made) else max(low - made, made - high)


def score(cell: Cell, cache: Cache, true_depth: TrueDepth) -> Scored:
    """Score what the cache holds; NaN where a run left the range of numbers."""
    found = [errors_of(task, cache, true_depth(task.source)) for task in cell.tasks]
    made = tuple(errors.made for errors, _ in found)
    failures = {i: outcome.cause for i, (_, outcome) in enumerate(found) if not outcome.ok}
    setting = " ".join(task.key for task in cell.tasks)
    return Scored(cell.row, cell.column, cell.printed, made, failures, setting)


def by_name(truths: Mapping[str, FloatArray]) -> TrueDepth:
    """True depths of maps, whatever was done to their normals."""
    return lambda source: truths[source.name]


def errors_of(task: Task, cache: Cache, true_depth: FloatArray) -> tuple[DepthErrors, Outcome]:
    """Errors after the median scale, and how the run ended; NaN where it left all numbers."""
    prediction = cache.need(task.key, true_depth.shape)
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
    limits: Limits,
) -> Sheet:
    """MADE of all cells."""
    truths = {key: truth(scene) for key, scene in scenes.items()}
    scored = [score(cell, cache, by_name(truths)) for cell in cells]
    return sheet_of(name, title, command, scored, limits)


def sheet_of(
    name: str, title: str, command: str, scored: Sequence[Scored], limits: Limits
) -> Sheet:
    """Rows and columns in the order of what was scored, and what is held to limits."""
    columns, rows = by_row(scored, lambda each: each.text)
    table = Table(
        title,
        command,
        columns,
        rows,
        notes=tuple(notes_on_failures(scored)),
        checks=tuple(held_to(limits, scored)),
    )
    head = ("row", "column", "printed", "ours", "lower_quartile", "upper_quartile")
    return Sheet(name, table, (head, *map(_record, scored)), tuple(scored))


def by_row(
    scored: Sequence[Scored], text: Callable[[Scored], str]
) -> tuple[tuple[Column, ...], tuple[Row, ...]]:
    """Columns and rows of a table in the order of what was scored."""
    at = {(each.row, each.column): text(each) for each in scored}
    rows = dict.fromkeys(each.row for each in scored)
    columns = dict.fromkeys(each.column for each in scored)
    lines = tuple((row, *(at[row, column] for column in columns)) for row in rows)
    return (Column("row"), *map(Column, columns)), lines


def notes_on_failures(scored: Iterable[Scored], inputs: Sequence[str] = ()) -> Iterator[str]:
    """Runs that ended badly, and on which of the inputs if these have names."""
    for each in scored:
        for index, cause in each.failures.items():
            place = (each.row, each.column, *inputs[index : index + 1])
            yield f"{', '.join(place)}: {cause}"


def held_to(limits: Limits, scored: Iterable[Scored]) -> Iterator[Check]:
    """Errors that have limits."""
    for each in scored:
        if each.column in limits.get(each.row, {}):
            least, most = limits[each.row][each.column]
            what = f"{each.row} on {each.column}, MADE in mm"
            yield Check(what, each.median, at_least=least, at_most=most)


def summary(sheets: Sequence[Sheet], command: str, held_to_limits: bool) -> Sheet | None:
    """Share of the cells close to the print, table by table and over all; None without any."""
    groups = stable_groups(sheets)
    if not groups:
        return None
    whole = {sheet.name: {each.column for each in sheet.scored} >= set(STEADY) for sheet in sheets}
    objects = {each.column for each in groups[ALL]}
    rows = {
        name: (name, len(group), printed, close, close / len(group))
        for name, group in groups.items()
        for printed in [sum(each.print_within for each in group)]
        for close in [sum(each.agrees for each in group)]
    }
    checks = []
    if held_to_limits and all(whole.get(table) for table in MADE):
        checks.append(Check("share of the cells within", rows[ALL][-1], at_least=LEAST_SHARE))
    table = Table(
        f"Cells of {len(objects)} stable objects within {WITHIN} mm of the print",
        command,
        (
            Column("table"),
            Column("cells", "d"),
            Column("as printed", "d"),
            Column("within", "d"),
            Column("share", ".1%"),
        ),
        tuple(rows.values()),
        notes=(*WHAT_COUNTS, OTHERS_ARE_VARIED),
        checks=tuple(checks),
    )
    return Sheet.of_table("summary", table)


def stable_groups(sheets: Sequence[Sheet]) -> dict[str, list[Scored]]:
    """Cells of stable objects that have both numbers, by table and over all; none without any."""
    found = {sheet.name: [each for each in sheet.scored if each.compares] for sheet in sheets}
    groups = {name: group for name, group in found.items() if group}
    every = [each for group in groups.values() for each in group]
    if every:
        groups |= {ALL: every, ONCE: each_setting_once(every, lambda each: each)}
    return groups


def each_setting_once(cells: Sequence[T], scored: Callable[[T], Scored]) -> list[T]:
    """The first of those cells whose predictions are the same."""
    found = {(scored(each).column, scored(each).setting): each for each in reversed(cells)}
    return list(found.values())


def _record(each: Scored) -> tuple[str, ...]:
    low, median, high = (f"{v:.6g}" for v in each.quartiles) if each.made else ("", "", "")
    spread = (low, high) if len(each.made) > 1 else ("", "")
    return each.row, each.column, each.printed, median, *spread
