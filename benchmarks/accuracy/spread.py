"""``make paper-spread``: the tables of MADE over perturbed inputs, median and spread of each cell.

Some objects change with the slightest perturbation of the input: there one run says little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

import rayrelief
from benchmarks.accuracy.experiments import Cell, made_cells
from benchmarks.accuracy.inputs import MapSource, Source
from benchmarks.accuracy.perturbations import PERTURBATIONS, Perturbation
from benchmarks.accuracy.predictions import Cache
from benchmarks.accuracy.settings import Settings
from benchmarks.accuracy.tables import MM, WITHIN, Scored, Sheet, score
from benchmarks.diligent import truth
from benchmarks.report import Column, Table
from rayrelief.conventions import FloatArray

Truths = Mapping[MapSource, FloatArray]


def spread_cells(
    table: str, scenes: Mapping[str, rayrelief.Scene], settings: Settings, library: str
) -> list[Cell]:
    """Cells of a table that have a number of ours, with one task for each perturbation."""
    alike = zip(
        *(perturbed_cells(table, scenes, each, settings, library) for each in PERTURBATIONS),
        strict=True,
    )
    return [joined(cells) for cells in alike if cells[0].tasks]


def perturbed_cells(
    table: str,
    scenes: Mapping[str, rayrelief.Scene],
    perturbation: Perturbation,
    settings: Settings,
    library: str,
) -> Iterator[Cell]:
    """Cells of a table on perturbed scenes."""
    changed = {name: perturbation.applied_to(scene) for name, scene in scenes.items()}
    for cell in made_cells(table, changed, settings, library):
        source = Source(cell.column, settings.principal_point, perturbation=perturbation)
        yield replace(cell, tasks=tuple(replace(task, source=source) for task in cell.tasks))


def joined(cells: Sequence[Cell]) -> Cell:
    """One cell with the tasks of all."""
    return replace(cells[0], tasks=tuple(chain.from_iterable(cell.tasks for cell in cells)))


def perturbed_truths(
    scenes: Mapping[str, rayrelief.Scene],
    perturbations: Iterable[Perturbation],
    settings: Settings,
) -> Truths:
    """True depths of perturbed scenes, turned as these are."""
    return {
        Source(name, settings.principal_point, perturbation=each): np.rot90(
            truth(scene), each.quarter_turns
        )
        for each in perturbations
        for name, scene in scenes.items()
    }


def spread_sheet(
    table: str,
    command: str,
    cells: Iterable[Cell],
    cache: Cache,
    scenes: Mapping[str, rayrelief.Scene],
    settings: Settings,
) -> Sheet:
    """Median and spread of all cells."""
    truths = perturbed_truths(scenes, PERTURBATIONS, settings)
    scored = [score(cell, cache, truths.__getitem__) for cell in cells]
    return sheet_of_spreads(table, command, scored)


def sheet_of_spreads(name: str, command: str, scored: Sequence[Scored]) -> Sheet:
    """Rows and columns in the order of what was scored."""
    at = {(each.row, each.column): spread_text(each) for each in scored}
    rows = dict.fromkeys(each.row for each in scored)
    columns = dict.fromkeys(each.column for each in scored)
    names = [each.name for each in PERTURBATIONS]
    table = Table(
        f"{name} over {len(names)} inputs: MADE in mm, median (least to greatest) / printed",
        command,
        (Column("row"), *map(Column, columns)),
        tuple((row, *(at[row, column] for column in columns)) for row in rows),
        notes=(
            f"The inputs: {', '.join(names)}.",
            "A printed number in bold lies within the spread, rounded to its last digit.",
            *(f"{each.row}, {each.column}: {why}" for each in scored for why in each.failures),
        ),
    )
    head = ("row", "column", "printed", "median", "least", "greatest", "print_within", *names)
    return Sheet(name, table, (head, *map(_record, scored)), tuple(scored))


def spread_summary(sheets: Sequence[Sheet], command: str) -> Table:
    """How many cells are close to the print, and how many have it within their spread."""
    groups = {sheet.name: [each for each in sheet.scored if each.has_both] for sheet in sheets}
    groups["all"] = list(chain.from_iterable(groups.values()))
    return Table(
        "Cells of all objects whose median or spread meets the print",
        command,
        (
            Column("table"),
            Column("cells", "d"),
            Column(f"median within {WITHIN} mm", "d"),
            Column("print within the spread", "d"),
            Column("either", "d"),
            Column("off as it is", "d"),
            Column("of these within the spread", "d"),
        ),
        tuple(
            (
                name,
                len(group),
                sum(each.agrees for each in group),
                sum(each.print_within for each in group),
                sum(each.agrees or each.print_within for each in group),
                len(off),
                sum(each.print_within for each in off),
            )
            for name, group in groups.items()
            for off in [[each for each in group if not as_it_is(each).agrees]]
        ),
    )


def as_it_is(each: Scored) -> Scored:
    """The cell without its perturbed inputs."""
    return replace(each, made=each.made[:1])


def spread_text(each: Scored) -> str:
    """Median, least and greatest / printed."""
    middle, low, high = (MM.show(value) for value in (each.median, *each.extremes))
    printed = f"**{each.printed}**" if each.print_within else each.printed
    return f"{middle} ({low} to {high}) / {printed}"


def _record(each: Scored) -> tuple[str, ...]:
    numbers = (each.median, *each.extremes)
    within = "" if each.printed == "-" else "yes" if each.print_within else "no"
    shown = (f"{value:.6g}" for value in numbers)
    return each.row, each.column, each.printed, *shown, within, *(f"{v:.6g}" for v in each.made)
