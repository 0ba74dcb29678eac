"""The summary of many maps: a row for each, as a table and as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from rich.table import Table

from rayrelief.batch.plan import PlannedMap
from rayrelief.cli.runs.error_table import as_text, number
from rayrelief.cli.runs.report import FAILED
from rayrelief.errors import Outcome, printable
from rayrelief.io.reports import notes_of

Row = dict[str, Any]

# No times: the summary of the same maps is the same, wherever and how often they are done.
COLUMNS = (
    "name",
    "map",
    "outcome",
    "width",
    "height",
    "pixels",
    "components",
    "iterations",
    "angle_degrees",
    "made",
    "re_percent",
    "era_percent",
    "message",
    "notes",
)
CUT = "cut"  # a column of sequences alone
# Column, heading, format.
NUMBERS = (
    ("pixels", "pixels", ",.0f"),
    ("components", "components", ",.0f"),
    ("iterations", "iterations", ",.0f"),
    ("angle_degrees", "angle", ".2f"),
    ("made", "MADE", ".4f"),
)
LONGEST_TABLE = 50  # rows: of more maps only those are shown that something is wrong with


def row_of(planned: PlannedMap, report: dict[str, Any]) -> Row:
    """Row of a map that has a report."""
    status, errors = report["status"], report["errors"] or {}
    width, height = report["input"]["size"]
    row = {
        "outcome": status["outcome"],
        "width": width,
        "height": height,
        "pixels": report["pixels"],
        "components": report["component_count"],
        "iterations": len(report["history"]),
        "angle_degrees": report["mean_angle_degrees"],
        "made": errors.get("made"),
        "re_percent": errors.get("re"),
        "era_percent": errors.get("era"),
        "message": "" if status["ok"] else f"{status['cause']}; {status['remedy']}",
        "notes": "; ".join(notes_of(report)),
    }
    return _named(planned) | row


def failed_row(planned: PlannedMap, message: str) -> Row:
    """Row of a map without a result."""
    return _named(planned) | {"outcome": FAILED, "message": message}


def has_surface(row: Row, without: tuple[Outcome, ...]) -> bool:
    """Whether a map ended with a surface, and not with one of these outcomes."""
    return row["outcome"] not in (FAILED, *(outcome.name.lower() for outcome in without))


def as_csv(rows: list[Row]) -> str:
    """Rows as CSV, numbers with all of their digits."""
    text = io.StringIO()
    columns = (*COLUMNS, CUT) if _has_cuts(rows) else COLUMNS
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_table(rows: list[Row]) -> str:
    """Rows as plain text, with notes; of very many those that failed, or with a cut before."""
    shown = (
        rows
        if len(rows) <= LONGEST_TABLE
        else [row for row in rows if row["message"] or row.get(CUT)]
    )
    if not shown:
        return ""
    table = Table(box=None, pad_edge=False, header_style=None)
    table.add_column("map")
    table.add_column("outcome")
    for _, title, _ in NUMBERS:
        table.add_column(title, justify="right")
    if _has_cuts(rows):
        table.add_column("cut before it")
    for row in shown:
        cells = [number(row.get(key), form) for key, _, form in NUMBERS]
        cells += [row.get(CUT, "")] if _has_cuts(rows) else []
        table.add_row(printable(row["name"]), row["outcome"].replace("_", " "), *cells)
    notes = [f"{printable(row['name'])}: {row['notes']}" for row in shown if row.get("notes")]
    return "\n".join((as_text(table), *notes))


def _has_cuts(rows: list[Row]) -> bool:
    return any(CUT in row for row in rows)


def _named(planned: PlannedMap) -> Row:
    return {"name": planned.name, "map": str(planned.path)}
