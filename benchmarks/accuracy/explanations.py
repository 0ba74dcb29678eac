"""Cells that are off the print: what was varied, what it gave, and what is known of them."""

from __future__ import annotations

import math
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import rayrelief
from benchmarks import diligent
from benchmarks.accuracy.experiments import MADE, NOISE, Cell, made_cells, noise_cells
from benchmarks.accuracy.inputs import PAPER_SHIFT
from benchmarks.accuracy.perturbations import HALF_TURNED, ROUNDED, UNPERTURBED, Perturbation
from benchmarks.accuracy.predictions import Cache, Task, input_digest, key_of
from benchmarks.accuracy.settings import PUBLISHED_ITERATIONS, Settings
from benchmarks.accuracy.spread import (
    MM,
    extremes,
    perturbed_cells,
    perturbed_truths,
    print_within,
    printed_range,
    score_perturbed,
)
from benchmarks.accuracy.tables import WITHIN, Scored, Sheet, score
from benchmarks.accuracy.workers import predict_missing
from benchmarks.diligent import truth
from benchmarks.maps import STEADY
from benchmarks.report import Column, Table, progress

Place = tuple[str, str, str]  # table, row, and object or level of noise
PRECISE = Column("MADE in mm", ".6g")
OTHER_POINT = "other principal point"
EXACT = "exact inner solver"
TINY = (HALF_TURNED, ROUNDED)
VARIATIONS = (OTHER_POINT, *(each.name for each in TINY), EXACT)
# Accurate solves come to rest in far fewer iterations than the 1200 of the published schedule.
EXACT_ITERATIONS = 60
EXACT_SOLVER = rayrelief.Multigrid(rtol=1e-6)


@dataclass(frozen=True)
class Print:
    """A number of the paper, and where it stands."""

    table: str
    row: str
    number: str


@dataclass(frozen=True)
class Explanation:
    """A cell that is off: the variations by name, and all prints of the setting, its own first.

    A cell of noise has one number for each draw, and only some of the variations.
    """

    table: str
    ours: Scored
    varied: Mapping[str, float]
    prints: tuple[Print, ...]
    remark: str

    @property
    def verdict(self) -> str:
        """What the numbers say, in words."""
        return "; ".join([*self._fits(), *self._other_prints()])

    def _fits(self) -> Iterator[str]:
        fitting = [name for name, made in self.varied.items() if self._with(made).agrees]
        small = "the draws" if self._drawn else "tiny perturbations"
        turned = (self.varied[each.name] for each in TINY if each.name in self.varied)
        tiny = self._with(*self.ours.made, *turned)
        everything = self._with(*self.ours.made, *self.varied.values())
        for name in fitting:
            yield f"{name} fits ({MM.show(self.varied[name])})"
        if print_within(tiny):
            yield f"within the spread of {small} ({_range(tiny)})"
        elif not fitting and print_within(everything):
            yield f"within the range of all variations ({_range(everything)})"
        elif not fitting:
            drawn = f" ({small} gave {_range(tiny)})" if self._drawn else ""
            yield f"no variation reaches the print{drawn}{self._closest()}"

    @property
    def _drawn(self) -> bool:
        """Whether there are several draws of noise."""
        return len(self.ours.made) > 1

    def _closest(self) -> str:
        """The variation that is closest to the print, if it is at most half as far off as ours."""
        away = {name: self._distance(made) for name, made in self.varied.items()}
        name = min(away, key=lambda each: away[each])
        if away[name] > self._distance(self.ours.median) / 2 or math.isinf(away[name]):
            return ""
        return f", the closest is {name} ({MM.show(self.varied[name])})"

    def _distance(self, made: float) -> float:
        low, high = printed_range(self.ours.printed)
        return math.inf if math.isnan(made) else max(low - made, made - high)

    def _other_prints(self) -> Iterator[str]:
        for number in dict.fromkeys(each.number for each in self.prints):
            if number != self.ours.printed:
                tables = ", ".join(each.table for each in self.prints if each.number == number)
                fits = ", which ours fits" if replace(self.ours, printed=number).agrees else ""
                yield f"the same setting is printed as {number} in {tables}{fits}"

    def _with(self, *made: float) -> Scored:
        return replace(self.ours, made=made)


def explanation_sheet(
    title: str,
    command: str,
    scenes: Mapping[str, rayrelief.Scene],
    settings: Settings,
    library: str,
    cache: Cache,
    workers: int,
) -> Sheet:
    """Vary the cells of all tables that are off, and explain them; the tables are in the cache."""
    known = cells_of_all_tables(scenes, settings, library)
    depths = {name: truth(scene) for name, scene in scenes.items()}
    scored = {place: score(cell, cache, depths) for place, cell in known.items()}
    off = {place: known[place] for place, each in scored.items() if is_off(each)}
    varied = variations(off, scenes, settings, library)
    tasks = [task for cells in varied.values() for cell in cells.values() for task in cell.tasks]
    made = predict_missing(tasks, cache, workers)
    progress(f"predictions made to explain: {made}; all others were in the cache")
    changes = (UNPERTURBED, *perturbations_of(settings))
    truths = {
        **{task.source: depths[task.source.name] for task in tasks},
        **perturbed_truths(scenes, changes, settings),  # turned where the map is
    }
    prints, remarks = prints_of_settings(scenes, settings), known_remarks()
    explained = [
        Explanation(
            table=place[0],
            ours=scored[place],
            varied={
                name: score_perturbed(cell, cache, truths).median for name, cell in cells.items()
            },
            prints=prints.get(place, (Print(*place[:2], scored[place].printed),)),
            remark=remark_on(prints.get(place, ()), place[2], remarks),
        )
        for place, cells in varied.items()
    ]
    return sheet_of_explanations(title, command, explained, remarks)


def cells_of_all_tables(
    scenes: Mapping[str, rayrelief.Scene], settings: Settings, library: str
) -> dict[Place, Cell]:
    """All cells of MADE and of noise."""
    common = (scenes, settings, library)
    made = [(table, cell) for table in MADE for cell in made_cells(table, *common)]
    noise = [(kind, cell) for kind in NOISE for cell in noise_cells(kind, *common)]
    return {(table, cell.row, cell.column): cell for table, cell in [*made, *noise]}


def is_off(each: Scored) -> bool:
    """Whether both numbers are there and differ by more than the limit, on any object."""
    return bool(each.made) and each.printed != "-" and not each.agrees


def variations(
    off: Mapping[Place, Cell],
    scenes: Mapping[str, rayrelief.Scene],
    settings: Settings,
    library: str,
) -> dict[Place, dict[str, Cell]]:
    """For each cell what is predicted, by the names of VARIATIONS; under noise only the last.

    Objects that change with everything are varied with accurate solves: one run of a published
    schedule says no more of them, and takes up to a hundred times as long.
    """
    seen = {name: scenes[name] for table, _, name in off if table in MADE}
    tables = dict.fromkeys(table for table, _, _ in off if table in MADE)
    found: dict[Place, dict[str, Cell]] = {place: {} for place in off}
    for change in perturbations_of(settings):
        for table in tables:
            for cell in perturbed_cells(table, seen, change, settings, library):
                if (table, cell.row, cell.column) in off:
                    varied = cell if cell.column in STEADY else solved_exactly(cell, library)
                    found[table, cell.row, cell.column][change.name] = varied
    for place, cell in off.items():
        found[place][EXACT] = solved_exactly(cell, library)
    return found


def perturbations_of(settings: Settings) -> tuple[Perturbation, ...]:
    """The first of VARIATIONS, which change the input."""
    return other_point(settings), *TINY


def other_point(settings: Settings) -> Perturbation:
    """From the principal point of the settings to the one that they do not take."""
    way = 1.0 if settings.principal_point == "file" else -1.0
    return Perturbation(OTHER_POINT, shift=(0.0, way * PAPER_SHIFT))


def solved_exactly(cell: Cell, library: str) -> Cell:
    """Cell whose methods solve their linear systems accurately."""
    tasks: list[Task] = []
    for task in cell.tasks:
        count = min(task.method.max_iterations, EXACT_ITERATIONS)
        method = replace(task.method, solver=EXACT_SOLVER, max_iterations=count)
        digest = input_digest(task.source.scene())
        tasks.append(replace(task, method=method, key=key_of(digest, method, library)))
    return replace(cell, tasks=tuple(tasks))


def prints_of_settings(
    scenes: Mapping[str, rayrelief.Scene], settings: Settings
) -> dict[Place, tuple[Print, ...]]:
    """For every cell the printed numbers of its setting in all tables, its own first."""
    full = replace(settings, iterations=PUBLISHED_ITERATIONS)  # few iterations make rows alike
    places: dict[tuple[str, str], dict[Place, Print]] = defaultdict(dict)
    for table in MADE:
        for cell in made_cells(table, scenes, full, ""):
            for task in cell.tasks:  # one, or none where there is only a print
                place = (table, cell.row, cell.column)
                places[cell.column, task.key][place] = Print(table, cell.row, cell.printed)
    return {
        place: (own, *(other for other in group.values() if other is not own))
        for group in places.values()
        for place, own in group.items()
    }


def known_remarks() -> dict[str, str]:
    """What is known: by table, table/row, or table/row/object."""
    path = Path(diligent.__file__).with_name("remarks.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def remark_on(prints: Sequence[Print], name: str, known: Mapping[str, str]) -> str:
    """What is known of a setting on an object, wherever it is printed; empty for nothing."""
    rows = [f"{each.table}/{each.row}" for each in prints]
    keys = [*(f"{row}/{name}" for row in rows), *rows]
    return next((known[key] for key in keys if key in known), "")


def sheet_of_explanations(
    title: str, command: str, explained: Sequence[Explanation], known: Mapping[str, str]
) -> Sheet:
    """One line for each cell; what is known of other tables stands below."""
    head = ("table", "row", "column", "printed", "ours", *VARIATIONS, "verdict", "remark")
    notes = (
        f"All cells whose number is further than {WITHIN} mm from the print; MADE in mm.",
        "Under noise all numbers are medians over the draws.",
        f"{OTHER_POINT}: that of the paper is {PAPER_SHIFT} pixels below the one of K.txt.",
        f"{EXACT}: to {EXACT_SOLVER.rtol:g} by multigrid, at most {EXACT_ITERATIONS} iterations; "
        "so are all variations of harvest and goblet, which change with everything.",
        *(f"{key}: {text}" for key, text in known.items() if key.split("/")[0] not in MADE),
    )
    rows = tuple(_line(each, MM) for each in explained)
    table = Table(title, command, tuple(map(Column, head)), rows, notes)
    return Sheet("explain", table, (head, *(_line(each, PRECISE) for each in explained)))


def _line(each: Explanation, numbers: Column) -> tuple[str, ...]:
    ours, varied = each.ours, (each.varied.get(name, math.nan) for name in VARIATIONS)
    shown = (numbers.show(value) for value in (ours.median, *varied))
    return each.table, ours.row, ours.column, ours.printed, *shown, each.verdict, each.remark


def _range(each: Scored) -> str:
    return " to ".join(MM.show(value) for value in extremes(each.made))
