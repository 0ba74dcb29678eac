"""``--principal-point both``: the tables of MADE with the point of K.txt and with the paper's.

Some rows of the paper fit one of them and some the other: beside each other they show which.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.accuracy.inputs import PAPER_SHIFT, TO_PAPER
from benchmarks.accuracy.perturbations import UNPERTURBED
from benchmarks.accuracy.tables import (
    MM,
    WHAT_COUNTS,
    WITHIN,
    Scored,
    Sheet,
    by_row,
    distance,
    notes_on_failures,
    stable_groups,
)
from benchmarks.report import Column, Row, Table

POINTS = (UNPERTURBED, TO_PAPER)
NAMES = ("K.txt", "paper")
FROM_FILE, FROM_PAPER = range(len(POINTS))  # where the errors of a cell stand


def sheet_of_points(name: str, command: str, scored: Sequence[Scored]) -> Sheet:
    """Rows and columns in the order of what was scored."""
    columns, rows = by_row(scored, points_text)
    table = Table(
        f"{name}: MADE in mm with the principal point of K.txt / of the paper / printed",
        command,
        columns,
        rows,
        notes=(
            f"The principal point of the paper is {PAPER_SHIFT} pixels below that of K.txt.",
            "An error in bold comes out as printed, before it is rounded here.",
            *notes_on_failures(scored, NAMES),
        ),
    )
    records = (
        (each.row, each.column, each.printed, *(f"{made:.6g}" for made in each.made))
        for each in scored
    )
    head = ("row", "column", "printed", *NAMES)
    return Sheet(name, table, (head, *records), tuple(scored))


def points_text(each: Scored) -> str:
    """Error with the point of K.txt / with the paper's / printed."""
    shown = (
        f"**{MM.show(one.median)}**" if one.print_within else MM.show(one.median)
        for one in (each.only(FROM_FILE), each.only(FROM_PAPER))
    )
    return " / ".join([*shown, each.printed])


def points_summary(sheets: Sequence[Sheet], command: str) -> Sheet | None:
    """How many cells of stable objects each of the points brings close; None without any."""
    groups = stable_groups(sheets)
    if not groups:
        return None
    of_point = (("as printed", "d"), ("within", "d"), ("share", ".1%"), ("closer", "d"))
    columns = (
        Column("table"),
        Column("cells", "d"),
        *(Column(f"{name}: {what}", how) for name in NAMES for what, how in of_point),
    )
    table = Table(
        f"Cells of stable objects within {WITHIN} mm of the print, with either principal point",
        command,
        columns,
        tuple(
            (name, len(cells), *_counts(cells, FROM_FILE), *_counts(cells, FROM_PAPER))
            for name, cells in groups.items()
        ),
        notes=("closer: than with the other point.", *WHAT_COUNTS),
    )
    return Sheet.of_table("summary", table)


def _counts(cells: Sequence[Scored], point: int) -> Row:
    found = [each.only(point) for each in cells]
    close = sum(each.agrees for each in found)
    closer = sum(
        distance(each.made[point], each.printed) < distance(each.made[1 - point], each.printed)
        for each in cells
    )
    return sum(each.print_within for each in found), close, close / len(cells), closer
