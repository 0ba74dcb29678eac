"""Tables with the limits that their numbers are held to, as Markdown and as JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from rayrelief.io.atomic import atomic_write

Cell = str | float | None
Row = tuple[Cell, ...]


class UnavailableError(Exception):
    """What a benchmark needs is not here: data, a package, or a system that tells it."""


def progress(text: str) -> None:
    """Say on stderr what is being measured."""
    print(f"... {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Check:
    """A number and its limits, which NaN and infinity never meet; an aim is not held to."""

    what: str
    found: float
    at_least: float = -math.inf
    at_most: float = math.inf
    below: float = math.inf
    aim: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the number is within its limits."""
        within = self.at_least <= self.found <= self.at_most and self.found < self.below
        return within and math.isfinite(self.found)

    @property
    def limit(self) -> str:
        """The limits in words."""
        bounds = {"at least": self.at_least, "at most": self.at_most, "below": self.below}
        return ", ".join(f"{name} {_number(b)}" for name, b in bounds.items() if math.isfinite(b))

    def __str__(self) -> str:
        return f"{self.what}: {_number(self.found)}, limit {self.limit}"

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "what": self.what,
            "found": _plain(self.found),
            "limit": self.limit,
            "aim": self.aim,
            "holds": self.holds,
        }


@dataclass(frozen=True)
class Column:
    """Head of a column, and the format of its numbers."""

    name: str
    spec: str = ""

    def show(self, cell: Cell) -> str:
        """A cell as text; a dash where there is no number."""
        if isinstance(cell, str):
            return cell
        return "-" if cell is None or math.isnan(cell) else format(cell, self.spec)


@dataclass(frozen=True)
class Table:
    """What was measured.

    Attributes
    ----------
    title
        One line.
    command
        What to type for this table alone.
    columns, rows
        Rows hold one cell for each column: text, a number, or None where there is nothing to say.
    notes
        What a reader should know.
    checks
        Numbers of this table that have limits.
    """

    title: str
    command: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    def noting(self, *notes: str) -> Table:
        """The table with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def to_markdown(self) -> str:
        """The table, its limits and its notes under a heading."""
        cells = [
            [column.show(cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]
        parts = [f"## {self.title}", grid([column.name for column in self.columns], cells)]
        if self.checks:
            parts.append(checks_grid(self.checks))
        parts.append("\n".join(f"- {note}" for note in (*self.notes, f"Again: `{self.command}`")))
        return "\n\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, numbers unrounded."""
        return {
            "title": self.title,
            "command": self.command,
            "columns": [column.name for column in self.columns],
            "rows": [[_plain(cell) for cell in row] for row in self.rows],
            "notes": list(self.notes),
            "checks": [check.to_json() for check in self.checks],
        }


@dataclass
class Report:
    """All tables of one run, with where they were measured."""

    environment: dict[str, str]
    tables: list[Table] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def missed(self) -> list[Check]:
        """Checks that do not hold."""
        return missed(self.tables)

    def to_markdown(self) -> str:
        """The environment, then the tables."""
        parts = ["# Benchmarks", grid(["", ""], [[*item] for item in self.environment.items()])]
        if self.skipped:
            parts.append("\n".join(f"- skipped: {reason}" for reason in self.skipped))
        if self.missed:
            parts.append("Limits that are missed:\n\n" + checks_grid(self.missed))
        return "\n\n".join([*parts, *(table.to_markdown() for table in self.tables)]) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "environment": self.environment,
            "skipped": self.skipped,
            "missed": [str(check) for check in self.missed],
            "tables": [table.to_json() for table in self.tables],
        }

    def write(self, folder: Path, stem: str) -> None:
        """Write stem.md and stem.json into a folder, which is created if need be."""
        write_text(folder / f"{stem}.md", self.to_markdown())
        text = json.dumps(self.to_json(), indent=1, allow_nan=False)
        write_text(folder / f"{stem}.json", text + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def missed(tables: Iterable[Table]) -> list[Check]:
    """Checks that do not hold."""
    return [check for table in tables for check in table.checks if not check.holds]


def exit_code(tables: Iterable[Table]) -> int:
    """Print the limits that are missed; 1 if there are any."""
    found = missed(tables)
    if found:
        print("limits that are missed:", *found, sep="\n- ")
    return 1 if found else 0


def run_command(main: Callable[[list[str]], int]) -> NoReturn:
    """Run main and end: 1 says that a limit is missed, 2 that it could not begin or go on."""
    try:
        sys.exit(main(sys.argv[1:]))
    except SystemExit as end:
        if not isinstance(end.code, str):
            raise
        print(end.code, file=sys.stderr)
        sys.exit(2)


def grid(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    escaped = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join("| " + " | ".join(line) + " |" for line in escaped)


def checks_grid(checks: Iterable[Check]) -> str:
    """Checks as a table of Markdown."""
    rows = [
        [
            check.what,
            _number(check.found),
            check.limit,
            "" if check.aim is None else _number(check.aim),
            "yes" if check.holds else "**no**",
        ]
        for check in checks
    ]
    return grid(["must hold", "found", "limit", "aim", "holds"], rows)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _plain(cell: Cell) -> Cell:
    """JSON has no NaN."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
