"""Cached predictions to tables of MADE: our number beside the printed one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from benchmarks.accuracy.experiments import MADE, NO_REPRODUCTION, Cell
from benchmarks.accuracy.inputs import Settings, scene_of
from benchmarks.accuracy.predictions import Cache, Task
from benchmarks.diligent import STEADY, truth
from benchmarks.published import PUBLISHED
from benchmarks.report import Check, Column, Table, columns
from rayrelief.errors import Outcome
from rayrelief.evaluation.metrics import DepthErrors, depth_errors

WITHIN = 0.08  # mm
LEAST_SHARE = 0.85  # of the cells of stable objects within
TINY = "<10^-2"  # as printed
MM = Column("MADE in mm", ".3f")


@dataclass(frozen=True)
class Score:
    """Our errors for a cell, in mm, one for each input, and why some runs ended badly."""

    table: str
    row: str
    column: str
    printed: str
    made: tuple[float, ...]
    failures: tuple[str, ...] = ()
    setting: str = ""  # alike for cells whose predictions are the same

    @property
    def median(self) -> float:
        """Median of our errors; NaN if any is, or if there is none."""
        return math.nan if not self.made or any(map(math.isnan, self.made)) else median(self.made)

    @property
    def extremes(self) -> tuple[float, float]:
        """Least and greatest; both NaN if any is, so that nothing lies between them."""
        if math.isnan(self.median):
            return math.nan, math.nan
        return min(self.made), max(self.made)

    @property
    def text(self) -> str:
        """Ours, with least and greatest of several / printed."""
        low, high = map(MM.show, self.extremes)
        spread = f" ({low} to {high})" if len(self.made) > 1 else ""
        return f"{MM.show(self.median)}{spread} / {self.printed}"

    @property
    def has_both(self) -> bool:
        """Whether there is a number of ours and a printed one."""
        return bool(self.made) and self.printed != "-"

    @property
    def within(self) -> bool:
        """Whether ours is within the limit; NaN is not."""
        return abs(self.median - printed_number(self.printed)) <= WITHIN + 1e-12

    @property
    def as_printed(self) -> bool:
        """Whether some number that is printed like this lies between the least and the greatest."""
        half_digit = 0.5 * 10.0 ** -len(self.printed.partition(".")[2])
        number = printed_number(self.printed)
        low, high = (
            (0.0, 0.01) if self.printed == TINY else (number - half_digit, number + half_digit)
        )
        least, greatest = self.extremes
        return least <= high and low <= greatest


def printed_number(text: str) -> float:
    """What this text says: NaN for a dash, and 0 for less than can be printed."""
    return math.nan if text == "-" else 0.0 if text == TINY else float(text)


def score(table: str, cell: Cell, cache: Cache) -> Score:
    """Score what the cache holds."""
    found = [errors_of(task, cache) for task in cell.tasks]
    return Score(
        table,
        cell.row,
        cell.column,
        cell.printed,
        made=tuple(errors.made for errors, _ in found),
        failures=tuple(outcome.cause for _, outcome in found if not outcome.ok),
        setting=" ".join(task.key for task in cell.tasks),
    )


def errors_of(task: Task, cache: Cache) -> tuple[DepthErrors, Outcome]:
    """Errors after the median scale, and how the run ended; NaN where it left all numbers."""
    prediction = cache.need(task.key)
    if prediction.outcome is Outcome.NOT_FINITE:
        return DepthErrors("scale", math.nan, math.nan, math.nan), prediction.outcome
    true = truth(scene_of(task.source))
    return depth_errors(prediction.depth, true, "scale"), prediction.outcome


def made_table(title: str, scores: Sequence[Score], settings: Settings) -> Table:
    """Rows and columns in the order of what was scored, and what is held to limits."""
    at = {(each.row, each.column): each for each in scores}
    rows = dict.fromkeys(each.row for each in scores)
    names = dict.fromkeys(each.column for each in scores)
    return Table(
        title,
        (Column("row"), *map(Column, names)),
        tuple((row, *(at[row, name].text for name in names)) for row in rows),
        tuple(f"{each.row}, {each.column}: {why}" for each in scores for why in each.failures),
        tuple(held_to_limits(scores) if settings.held_to_limits else ()),
        tuple(map(asdict, scores)),
    )


def held_to_limits(scores: Iterable[Score]) -> Iterable[Check]:
    """Errors of Table 2 that have limits."""
    limits: Mapping[str, Mapping[str, Sequence[float]]] = PUBLISHED["table2"]["limits"]
    for each in scores:
        if each.table == "made" and each.column in limits.get(each.row, {}):
            least, most = limits[each.row][each.column]
            what = f"{each.row} on {each.column}, MADE in mm"
            yield Check(what, each.median, at_least=least, at_most=most)


def summary(scores: Iterable[Score], settings: Settings) -> Table | None:
    """How many cells of stable objects come out, by table and over all; None without any.

    Over perturbed inputs all objects count: the others are what that is for.
    """
    objects = settings.objects if settings.spread else STEADY
    ours = [x for x in scores if x.table in MADE and x.row not in NO_REPRODUCTION]
    cells = [x for x in ours if x.column in objects and x.has_both]
    if not cells:
        return None
    groups = {
        **{table: [x for x in cells if x.table == table] for table in MADE},
        "all": cells,
        "each setting once": list({(x.column, x.setting): x for x in reversed(cells)}.values()),
    }
    counts = {
        name: (len(group), sum(x.as_printed for x in group), sum(x.within for x in group))
        for name, group in groups.items()
        if group
    }
    rows = tuple((name, n, same, close, close / n) for name, (n, same, close) in counts.items())
    checks = []
    whole = all({x.column for x in groups[table]} >= set(STEADY) for table in MADE)
    if whole and settings.held_to_limits:
        share = counts["all"][2] / counts["all"][0]
        checks.append(Check("share of the cells within", share, at_least=LEAST_SHARE))
    printed = "print within the spread" if settings.spread else "as printed"
    return Table(
        f"Cells of {len({x.column for x in cells})} objects within {WITHIN} mm of the print",
        columns(f"table | cells:d | {printed}:d | within:d | share:.1%"),
        rows,
        ("harvest and goblet change with the slightest perturbation: one run does not count.",)
        * (not settings.spread),
        tuple(checks),
    )
