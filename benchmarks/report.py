"""Tables with the limits that their numbers are held to, as Markdown and as JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rayrelief import RayreliefError
from rayrelief.io.atomic import write_whole

Cell = str | float | None
Row = tuple[Cell, ...]


class UnavailableError(Exception):
    """What a benchmark needs is not here: data, a package, or a system that tells it."""


def progress(text: str) -> None:
    """Say on stderr what is being done."""
    print(f"... {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Check:
    """A number and its limits, which NaN and infinity never meet."""

    what: str
    found: float
    at_least: float = -math.inf
    at_most: float = math.inf
    below: float = math.inf

    @property
    def holds(self) -> bool:
        """Whether the number is within its limits."""
        within = self.at_least <= self.found <= self.at_most and self.found < self.below
        return within and math.isfinite(self.found)

    def __str__(self) -> str:
        bounds = {"at least": self.at_least, "at most": self.at_most, "below": self.below}
        limits = (f"{name} {_number(b)}" for name, b in bounds.items() if math.isfinite(b))
        return f"{self.what}: {_number(self.found)}, limit {', '.join(limits)}"


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
    columns, rows
        Rows hold one cell for each column: text, a number, or None where there is nothing to say.
    notes
        What a reader should know.
    checks
        Numbers of this table that have limits.
    records
        The same for programs, where the rows are texts that hold several numbers.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    records: tuple[Mapping[str, Any], ...] = ()

    def to_markdown(self) -> str:
        """The table, its limits and its notes under a heading."""
        cells = [
            [column.show(cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]
        limits = (f"{check}: {'holds' if check.holds else '**missed**'}" for check in self.checks)
        below = "\n".join(f"- {line}" for line in (*limits, *self.notes))
        heads = [column.name for column in self.columns]
        return "\n\n".join(filter(None, [f"## {self.title}", grid(heads, cells), below]))


@dataclass
class Report:
    """All tables of a run, and what its numbers depend on."""

    environment: Mapping[str, str]
    tables: list[Table] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def add(self, table: Table) -> None:
        """Print a table and keep it."""
        self.tables.append(table)
        print(table.to_markdown(), end="\n\n", flush=True)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Pass over a part that needs what is not here."""
        try:
            yield
        except UnavailableError as error:
            self.skipped.append(f"{name}: {error}")
            progress(f"skipped: {name}: {error}")

    @property
    def missed(self) -> list[str]:
        """Checks that do not hold."""
        return [str(check) for each in self.tables for check in each.checks if not check.holds]

    def to_markdown(self) -> str:
        """The environment, then the tables."""
        parts = ["# Benchmarks", grid(["", ""], self.environment.items())]
        for head, lines in (("Skipped:", self.skipped), ("Limits missed:", self.missed)):
            if lines:
                parts.append("\n- ".join([f"{head}\n", *lines]))
        return "\n\n".join([*parts, *(table.to_markdown() for table in self.tables)]) + "\n"

    def write(self, folder: Path, stem: str) -> None:
        """Write stem.md and stem.json into a folder, which is created if need be."""
        content = _plain({**asdict(self), "missed": self.missed})
        write_whole(folder / f"{stem}.md", self.to_markdown())
        write_whole(folder / f"{stem}.json", json.dumps(content, indent=1, allow_nan=False) + "\n")

    def finish(self, folder: Path, stem: str) -> int:
        """Write all; 1 if a limit is missed."""
        if not self.tables:
            raise UnavailableError(f"nothing can be measured; {'; '.join(self.skipped)}")
        self.write(folder, stem)
        progress(f"written to {folder / stem}.md and .json")
        if self.missed:
            print("limits missed:", *self.missed, sep="\n- ")
        return 1 if self.missed else 0


def exit_code(main: Callable[[list[str]], int], arguments: list[str]) -> int:
    """0; 1 if a limit is missed; 2 if a run cannot begin or go on; 130 if it is interrupted."""
    try:
        return main(arguments)
    except (UnavailableError, RayreliefError) as error:
        print(f"error: {error}", file=sys.stderr)
    except BrokenExecutor as error:
        print(f"error: a worker died ({error}); the same command goes on", file=sys.stderr)
    except KeyboardInterrupt:
        progress("interrupted: what is finished is kept, the same command goes on from there")
        return 130
    return 2


def columns(text: str) -> tuple[Column, ...]:
    """Columns between bars, each with the format of its numbers after a colon."""
    parts = (each.strip().partition(":") for each in text.split("|"))
    return tuple(Column(name, spec) for name, _, spec in parts)


def grid(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    escaped = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join("| " + " | ".join(line) + " |" for line in escaped)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _plain(value: Any) -> Any:
    """JSON has neither NaN nor infinity."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
