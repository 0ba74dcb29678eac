"""The table of evaluate: scenes and methods, with units and the mean of each method."""

from __future__ import annotations

import io
import math
from typing import Any

from rich.console import Console
from rich.table import Table

from rayrelief.errors import printable

# Key of a row, heading, unit, format.
NUMBERS = (
    ("pixels", "pixels", "", ",.0f"),
    ("made", "MADE", "truth's unit", ".4f"),
    ("re_percent", "RE", "%", ".4f"),
    ("era_percent", "ERA", "%", ".4f"),
    ("angle_degrees", "angle", "degrees", ".2f"),
    ("iterations", "iterations", "", ".4g"),
    ("seconds", "time", "s", ".2f"),
)
WIDE = 10_000  # characters: a narrow terminal, or none, must not shorten a number


def error_table(rows: list[dict[str, Any]]) -> str:
    """Rows by method, each with its mean where there are several; plain text, also for a pipe."""
    table = Table(box=None, pad_edge=False, header_style=None)
    table.add_column("scene\n")
    table.add_column("method\n")
    for _, title, unit, _ in NUMBERS:
        table.add_column(f"{title}\n{unit}", justify="right")
    table.add_column("aligned by\n")
    for method in dict.fromkeys(row["method"] for row in rows):
        of_method = [row for row in rows if row["method"] == method]
        for row in of_method + ([_mean(of_method)] if len(of_method) > 1 else []):
            numbers = (number(row[key], form) for key, _, _, form in NUMBERS)
            table.add_row(printable(row["scene"]), method, *numbers, f"median {row['alignment']}")
    return as_text(table)


def as_text(table: Table) -> str:
    """Plain text of a table, with whole cells however narrow the terminal is."""
    console = Console(file=io.StringIO(), width=WIDE, markup=False, highlight=False)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _mean(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean over scenes; of numbers that all of them have, as means of some do not compare."""
    mean: dict[str, Any] = {"scene": f"mean of {len(rows)}"}
    for key, *_ in NUMBERS:
        mean[key] = math.fsum(row[key] for row in rows) / len(rows)
    alignments = {row["alignment"] for row in rows}
    return mean | {"alignment": " or ".join(sorted(alignments))}


def number(value: float | None, form: str) -> str:
    """Return a number in words of a format; a dash where there is none."""
    return "-" if value is None or math.isnan(value) else format(value, form)
