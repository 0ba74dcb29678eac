"""Cells that are off the print: what was varied, what it gave, and what is known of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import rayrelief
from benchmarks.accuracy.experiments import (
    MADE,
    NOISE,
    NOISY_OBJECT,
    Cell,
    made_cells,
    noise_cells,
)
from benchmarks.accuracy.inputs import PAPER_SHIFT, TO_PAPER, MapSource
from benchmarks.accuracy.perturbations import UNPERTURBED, Perturbation
from benchmarks.accuracy.perturbed import perturbed_cells, perturbed_truths
from benchmarks.accuracy.predictions import Cache
from benchmarks.accuracy.settings import BOTH, PUBLISHED_ITERATIONS, Settings
from benchmarks.accuracy.tables import (
    MM,
    ONCE,
    Scored,
    Sheet,
    by_name,
    each_setting_once,
    score,
)
from benchmarks.accuracy.verdicts import (
    CLOSE,
    EXACT,
    FIRST_DRAW,
    KNOWN,
    OTHER_POINT,
    PERTURBED,
    VARIATIONS,
    Explanation,
    Met,
    Print,
)
from benchmarks.diligent import STEADY, truth
from benchmarks.published import known_remarks
from benchmarks.report import Column, Row, Table
from rayrelief.conventions import FloatArray
from rayrelief.methods.base import Method

Place = tuple[str, str, str]  # table, row, and object or level of noise
PRECISE = Column("MADE in mm", ".6g")
VERDICTS = tuple(met.value for met in Met)
# Accurate solves need far fewer iterations than the 1200 of the published schedule.
EXACT_ITERATIONS = 60
EXACT_SOLVER = rayrelief.Multigrid(rtol=1e-6)


def off_cells(
    known: Mapping[Place, Cell], scenes: Mapping[str, rayrelief.Scene], cache: Cache
) -> dict[Place, Cell]:
    """Cells that are off, on any object; the cache holds what they are scored from."""
    truths = by_name({name: truth(scene) for name, scene in scenes.items()})
    return {place: cell for place, cell in known.items() if is_off(score(cell, cache, truths))}


def explanations(
    off: Mapping[Place, Cell],
    varied: Mapping[Place, Mapping[str, Cell]],
    scenes: Mapping[str, rayrelief.Scene],
    settings: Settings,
    cache: Cache,
) -> list[Explanation]:
    """What the variations gave, from the cache."""
    depths = {name: truth(scene) for name, scene in scenes.items()}
    turned = perturbed_truths(scenes, (UNPERTURBED, *perturbations_of(settings)), settings)

    def true_depth(source: MapSource) -> FloatArray:
        return turned.get(source, depths[source.name])  # as it is under noise

    prints, remarks = prints_of_settings(scenes, settings), known_remarks()
    explained = []
    for place, cell in off.items():
        ours = score(cell, cache, true_depth)
        found = {name: score(each, cache, true_depth) for name, each in varied[place].items()}
        own = prints.get(place, (Print(*place[:2], cell.printed),))
        explained.append(
            Explanation(
                table=place[0],
                ours=ours,
                varied={name: each.median for name, each in found.items()},
                prints=own,
                remark=remark_on(own, place[2], remarks),
                failures=tuple(
                    f"{' '.join(place)}, {name}: {cause}"
                    for name, each in found.items()
                    for cause in each.failures.values()
                ),
            )
        )
    return explained


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
    return each.has_both and not each.agrees


def variations(
    off: Mapping[Place, Cell],
    scenes: Mapping[str, rayrelief.Scene],
    settings: Settings,
    library: str,
) -> dict[Place, dict[str, Cell]]:
    """For each cell what is predicted, by the names of VARIATIONS; under noise the last three.

    The other principal point is tried as published. How far tiny perturbations move a setting is
    asked of accurate solves here, which take a tenth of the time; of the published schedule it is
    asked by the tables over perturbed inputs.
    """
    seen = {name: scenes[name] for table, _, name in off if table in MADE}
    tables = dict.fromkeys(table for table, _, _ in off if table in MADE)
    found: dict[Place, dict[str, Cell]] = {place: {} for place in off}
    for change in perturbations_of(settings):
        for table in tables:
            for cell in perturbed_cells(table, seen, change, settings, library):
                if (table, cell.row, cell.column) in off:
                    as_published = change.name == OTHER_POINT
                    varied = cell if as_published else solved_exactly(cell)
                    found[table, cell.row, cell.column][change.name] = varied
    for place, cell in off.items():
        first = replace(cell, tasks=cell.tasks[:1])  # of several draws
        if place[0] in NOISE:
            found[place][FIRST_DRAW] = first
            found[place][KNOWN] = with_known_jumps(first, truth(scenes[NOISY_OBJECT]))
        found[place][EXACT] = solved_exactly(first)
    return found


def perturbations_of(settings: Settings) -> tuple[Perturbation, ...]:
    """The first of VARIATIONS, which change the input."""
    return other_point(settings), *PERTURBED


def other_point(settings: Settings) -> Perturbation:
    """From the principal point of the settings to the one that they do not take."""
    u, v = TO_PAPER.shift
    there = settings.principal_point == "paper"
    return Perturbation(OTHER_POINT, shift=(-u, -v) if there else (u, v))


def solved_exactly(cell: Cell) -> Cell:
    """Cell whose methods solve their linear systems accurately."""

    def change(method: Method) -> Method:
        count = min(method.max_iterations, EXACT_ITERATIONS)
        return replace(method, solver=EXACT_SOLVER, max_iterations=count)

    return with_methods(cell, change)


def with_known_jumps(cell: Cell, depth: FloatArray) -> Cell:
    """Cell of RayPlane that is told the discontinuities by the true depth (H, W)."""

    def change(method: Method) -> Method:
        if not isinstance(method, rayrelief.RayPlane):
            raise TypeError(f"{type(method).__name__} knows no discontinuities")
        return replace(method, known_depth=depth)

    return with_methods(cell, change)


def with_methods(cell: Cell, change: Callable[[Method], Method]) -> Cell:
    """Cell whose methods are changed."""
    tasks = tuple(replace(task, method=change(task.method)) for task in cell.tasks)
    return replace(cell, tasks=tasks)


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


def remark_on(prints: Sequence[Print], name: str, known: Mapping[str, str]) -> str:
    """What is known of a setting on an object, wherever it is printed; empty for nothing."""
    rows = [f"{each.table}/{each.row}" for each in prints]
    keys = [*(f"{row}/{name}" for row in rows), *rows, *(each.table for each in prints)]
    return next((known[key] for key in keys if key in known), "")


def sheet_of_explanations(
    title: str, settings: Settings, explained: Sequence[Explanation]
) -> Sheet:
    """One line for each cell."""
    spread = settings.command("--spread")
    both = replace(settings, principal_point="file").command(f"--principal-point {BOTH}")
    head = ("table", "row", "column", "printed", "ours", *VARIATIONS, "verdict", "remark")
    notes = (
        f"All cells whose number is not {CLOSE} of the print; MADE in mm.",
        f"{OTHER_POINT}: as published; that of the paper is {PAPER_SHIFT} pixels below K.txt's. "
        f"Of all cells: `{both}`.",
        f"{EXACT}: to {EXACT_SOLVER.rtol:g} by multigrid, at most {EXACT_ITERATIONS} iterations; "
        "maps that are turned, or rounded anew, are solved so too.",
        f"How far such maps move the published schedule: `{spread}`.",
        "Under noise ours is the median over the draws; the first one, as published, is varied.",
        f"{KNOWN}: the jumps of the true depth are given, as in the last row of Table 2.",
        *(failure for each in explained for failure in each.failures),
    )
    rows = tuple(_line(each, MM) for each in explained)
    table = Table(title, settings.command("explain"), tuple(map(Column, head)), rows, notes)
    return Sheet("explain", table, (head, *(_line(each, PRECISE) for each in explained)))


def sheet_of_verdicts(command: str, explained: Sequence[Explanation]) -> Sheet:
    """How many prints are met by what."""
    rows: list[Row] = []
    for name, group in (("all", list(explained)), *groups_of(explained).items()):
        for counted, cells in ((name, group), (f"{name}, {ONCE}", each_setting_once(group, _ours))):
            rows.append((counted, len(cells), *(sum(x.met is met for x in cells) for met in Met)))
    columns = (Column("what is off"), *(Column(name, "d") for name in ("cells", *VERDICTS)))
    notes = ("Each cell counts once, by the first that meets its print.",)
    table = Table(
        "Cells that are off the print, and what meets it", command, columns, tuple(rows), notes
    )
    return Sheet.of_table("explain-verdicts", table)


def groups_of(explained: Iterable[Explanation]) -> dict[str, list[Explanation]]:
    """Explanations of the stable objects, of each of the others, and of noise."""
    found: dict[str, list[Explanation]] = defaultdict(list)
    for each in explained:
        column = each.ours.column
        noise, steady = each.table in NOISE, column in STEADY
        found["noise" if noise else "stable objects" if steady else column].append(each)
    return found


def _ours(each: Explanation) -> Scored:
    return each.ours


def _line(each: Explanation, numbers: Column) -> tuple[str, ...]:
    ours, varied = each.ours, (each.varied.get(name, math.nan) for name in VARIATIONS)
    shown = (numbers.show(value) for value in (ours.median, *varied))
    return each.table, ours.row, ours.column, ours.printed, *shown, each.verdict, each.remark
