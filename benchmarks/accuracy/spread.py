"""``make paper-spread``: the tables of MADE over perturbed inputs, median and spread of each cell.

Some objects change with the slightest perturbation of the input: there one run says little.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from benchmarks.accuracy.perturbations import PERTURBATIONS, UNPERTURBED
from benchmarks.accuracy.tables import MM, WITHIN, Scored, Sheet, by_row, notes_on_failures
from benchmarks.report import Column, Table

AS_IT_IS = PERTURBATIONS.index(UNPERTURBED)  # where its error stands


def sheet_of_spreads(name: str, command: str, scored: Sequence[Scored]) -> Sheet:
    """Rows and columns in the order of what was scored."""
    columns, rows = by_row(scored, spread_text)
    names = [each.name for each in PERTURBATIONS]
    table = Table(
        f"{name} over {len(names)} inputs: MADE in mm, median (least to greatest) / printed",
        command,
        columns,
        rows,
        notes=(
            f"The inputs: {', '.join(names)}.",
            "A printed number in bold lies within the spread, rounded to its last digit.",
            *notes_on_failures(scored, names),
        ),
    )
    head = ("row", "column", "printed", "median", "least", "greatest", "print_within", *names)
    return Sheet(name, table, (head, *map(_record, scored)), tuple(scored))


def spread_summary(sheets: Sequence[Sheet], command: str) -> Sheet:
    """How many cells are close to the print, and how many have it within their spread."""
    groups = {sheet.name: [each for each in sheet.scored if each.has_both] for sheet in sheets}
    groups["all"] = list(chain.from_iterable(groups.values()))
    table = Table(
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
            for off in [[each for each in group if not each.only(AS_IT_IS).agrees]]
        ),
    )
    return Sheet.of_table("summary", table)


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
