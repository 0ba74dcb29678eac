"""``--principal-point both``: the tables of MADE with the point of K.txt and with the paper's.

Some rows of the paper fit one of them and some the other: beside each other they show which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import rayrelief
from benchmarks.accuracy.experiments import Cell
from benchmarks.accuracy.inputs import PAPER_SHIFT
from benchmarks.accuracy.perturbations import UNPERTURBED, Perturbation
from benchmarks.accuracy.perturbed import perturbed_truths
from benchmarks.accuracy.predictions import Cache
from benchmarks.accuracy.settings import Settings
from benchmarks.accuracy.tables import (
    MM,
    WITHIN,
    Scored,
    Sheet,
    grid,
    printed_number,
    score,
    stable_groups,
)
from benchmarks.report import Column, Row, Table

BOTH = "both"
POINTS = (UNPERTURBED, Perturbation("the paper's", shift=(0.0, PAPER_SHIFT)))
FILE, PAPER = range(len(POINTS))  # where the errors of a cell stand


def points_sheet(
    table: str,
    command: str,
    cells: Iterable[Cell],
    cache: Cache,
    scenes: Mapping[str, rayrelief.Scene],
    settings: Settings,
) -> Sheet:
    """Both errors of all cells."""
    truths = perturbed_truths(scenes, POINTS, settings)
    return sheet_of_points(
        table, command, [score(cell, cache, truths.__getitem__) for cell in cells]
    )


def sheet_of_points(name: str, command: str, scored: Sequence[Scored]) -> Sheet:
    """Rows and columns in the order of what was scored."""
    columns, rows = grid(scored, points_text)
    table = Table(
        f"{name} with the principal points of K.txt / of the paper / printed: MADE in mm",
        command,
        columns,
        rows,
        notes=(
            "An error in bold comes out as printed.",
            *(f"{each.row}, {each.column}: {why}" for each in scored for why in each.failures),
        ),
    )
    records = (
        (each.row, each.column, each.printed, *(f"{made:.6g}" for made in each.made))
        for each in scored
    )
    head = ("row", "column", "printed", "file", "paper")
    return Sheet(name, table, (head, *records), tuple(scored))


def points_text(each: Scored) -> str:
    """Error with the point of K.txt / with the paper's / printed."""
    shown = (
        f"**{MM.show(one.median)}**" if one.print_within else MM.show(one.median)
        for one in (each.only(FILE), each.only(PAPER))
    )
    return " / ".join([*shown, each.printed])


def points_summary(sheets: Sequence[Sheet], command: str) -> Table | None:
    """How many cells of stable objects each of the points brings close; None without any."""
    groups = stable_groups(sheets)
    if not groups:
        return None
    of_point = (("as printed", "d"), ("within", "d"), ("share", ".1%"))
    columns = (
        Column("table"),
        Column("cells", "d"),
        *(
            Column(f"{point}: {what}", how)
            for point in ("K.txt", "paper")
            for what, how in of_point
        ),
        Column("K.txt: within, not as printed", "d"),
        Column("of these the paper's is closer", "d"),
        Column("as printed", "d"),
        Column("not within", "d"),
    )
    return Table(
        f"Cells of stable objects within {WITHIN} mm of the print, with either principal point",
        command,
        columns,
        tuple(_counts(name, cells) for name, cells in groups.items()),
    )


def _counts(name: str, cells: Sequence[Scored]) -> Row:
    row: list[str | float] = [name, len(cells)]
    for point in (FILE, PAPER):
        found = [each.only(point) for each in cells]
        close = sum(each.agrees for each in found)
        row += [sum(each.print_within for each in found), close, close / len(cells)]
    near = [each for each in cells if each.only(FILE).agrees and not each.only(FILE).print_within]
    paper = [each.only(PAPER) for each in near]
    row += [
        len(near),
        sum(_distance(each, PAPER) < _distance(each, FILE) for each in near),
        sum(each.print_within for each in paper),
        sum(not each.agrees for each in paper),
    ]
    return tuple(row)


def _distance(each: Scored, point: int) -> float:
    return abs(each.made[point] - printed_number(each.printed))
