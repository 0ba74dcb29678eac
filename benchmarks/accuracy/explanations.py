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
# Accurate solves need far fewer iterations than the 1200 of the published schedule.
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
    failures: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """What the numbers say, in words."""
        return "; ".join([*self._fits(), *self._other_prints()])

    def _fits(self) -> Iterator[str]:
        fitting = [name for name, made in self.varied.items() if self._with(made).agrees]
        # Only what is solved alike tells how far perturbations move a setting.
        solved = [self.varied[n] for n in (EXACT, *(e.name for e in TINY)) if n in self.varied]
        small, spread = "accurate solves under tiny perturbations", self._with(*solved)
        if self._drawn:
            small, spread = "the draws", self.ours
        for name in fitting:
            yield f"{self._label(name)} fits ({MM.show(self.varied[name])})"
        if print_within(spread):
            yield f"within the spread of {small} ({_range(spread)})"
        elif not fitting:
            gave = f"{small} gave {_range(spread)}"
            yield f"no variation reaches the print ({gave}){self._closest()}"

    def _label(self, name: str) -> str:
        """Name of a variation; that of a point also says so where the solver changed with it."""
        alone = name == EXACT or (name == OTHER_POINT and self.ours.column in STEADY)
        return name if alone else f"{name}, solved exactly,"

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
        return f"; the closest is {self._label(name)} ({MM.show(self.varied[name])})"

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
    made = predict_missing(tasks, cache, workers, library)
    progress(f"predictions made to explain: {made}; all others were in the cache")
    changes = (UNPERTURBED, *perturbations_of(settings))
    truths = {
        **{task.source: depths[task.source.name] for task in tasks},
        **perturbed_truths(scenes, changes, settings),  # turned where the map is
    }
    prints, remarks = prints_of_settings(scenes, settings), known_remarks()
    explained = []
    for place, cells in varied.items():
        found = {name: score_perturbed(cell, cache, truths) for name, cell in cells.items()}
        own = Print(*place[:2], scored[place].printed)
        explained.append(
            Explanation(
                table=place[0],
                ours=scored[place],
                varied={name: each.median for name, each in found.items()},
                prints=prints.get(place, (own,)),
                remark=remark_on(prints.get(place, (own,)), place[2], remarks),
                failures=tuple(
                    f"{' '.join(place)}, {name}: {cause}"
                    for name, each in found.items()
                    for cause in each.failures
                ),
            )
        )
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

    How far a setting moves is asked with accurate solves: a published schedule says no more of it,
    and takes many times as long. Only the other principal point is of interest to the digit that
    is printed, where objects keep such a digit.
    """
    seen = {name: scenes[name] for table, _, name in off if table in MADE}
    tables = dict.fromkeys(table for table, _, _ in off if table in MADE)
    found: dict[Place, dict[str, Cell]] = {place: {} for place in off}
    for change in perturbations_of(settings):
        for table in tables:
            for cell in perturbed_cells(table, seen, change, settings, library):
                if (table, cell.row, cell.column) in off:
                    as_published = change.name == OTHER_POINT and cell.column in STEADY
                    varied = cell if as_published else solved_exactly(cell, library)
                    found[table, cell.row, cell.column][change.name] = varied
    for place, cell in off.items():
        first = replace(cell, tasks=cell.tasks[:1])  # of several draws
        found[place][EXACT] = solved_exactly(first, library)
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
    """What is known, by table, table/row, or table/row/column."""
    path = Path(diligent.__file__).with_name("remarks.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def remark_on(prints: Sequence[Print], name: str, known: Mapping[str, str]) -> str:
    """What is known of a setting on an object, wherever it is printed; empty for nothing."""
    rows = [f"{each.table}/{each.row}" for each in prints]
    keys = [*(f"{row}/{name}" for row in rows), *rows, *(each.table for each in prints)]
    return next((known[key] for key in keys if key in known), "")


def sheet_of_explanations(
    title: str, command: str, explained: Sequence[Explanation], known: Mapping[str, str]
) -> Sheet:
    """One line for each cell; what is known of other tables stands below."""
    head = ("table", "row", "column", "printed", "ours", *VARIATIONS, "verdict", "remark")
    notes = (
        f"All cells whose number is further than {WITHIN} mm from the print; MADE in mm.",
        "Under noise ours is the median over the draws, and the first draw is solved exactly.",
        f"{OTHER_POINT}: that of the paper is {PAPER_SHIFT} pixels below the one of K.txt.",
        f"{EXACT}: to {EXACT_SOLVER.rtol:g} by multigrid, at most {EXACT_ITERATIONS} iterations; "
        "so are the maps that are turned or noisy, and all variations of harvest and goblet.",
        *(f"{key}: {text}" for key, text in known.items() if key.startswith("formulation")),
        *(failure for each in explained for failure in each.failures),
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
