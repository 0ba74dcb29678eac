"""The page of a run: its tables as Markdown, in place once all are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.report import Table, write_text


@dataclass
class Page:
    """A file that grows beside its place: what stood there goes when all of the new is there."""

    path: Path
    head: str
    skipped: Sequence[str]
    tables: list[Table] = field(default_factory=list)

    def add(self, table: Table) -> None:
        """Print a table, and write it below the others."""
        self.tables.append(table)
        print(table.to_markdown(), end="\n\n", flush=True)
        write_text(self._unfinished, self.text)

    def finish(self) -> None:
        """Take the place."""
        write_text(self.path, self.text)
        self._unfinished.unlink(missing_ok=True)

    @property
    def text(self) -> str:
        """Head, what is left out and why, and the tables so far."""
        left_out = "\n".join(f"- skipped: {reason}" for reason in self.skipped)
        tables = (table.to_markdown() for table in self.tables)
        return "\n\n".join(filter(None, [self.head, left_out, *tables])) + "\n"

    @property
    def _unfinished(self) -> Path:
        return self.path.with_stem(f"{self.path.stem}-unfinished")
