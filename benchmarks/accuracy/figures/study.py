"""What a figure is, and what it is drawn from: settings and cached predictions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.accuracy.experiments import Cell, made_cells, scaled
from benchmarks.accuracy.inputs import MapSource, Settings
from benchmarks.accuracy.predictions import Cache, Task
from benchmarks.accuracy.tables import Score, score
from benchmarks.report import UnavailableError
from rayrelief.conventions import FloatArray
from rayrelief.errors import Outcome
from rayrelief.methods import Reweighted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Plan:
    """A figure: its title, what it needs predicted, and how it is drawn from the cache."""

    title: str
    cells: Sequence[Cell]
    draw: Callable[[str], Figure]


@dataclass(frozen=True, eq=False)
class Study:
    """All that figures are drawn from."""

    settings: Settings
    cache: Cache

    def need(self, *names: str) -> None:
        """Raise UnavailableError if one of these objects is left out."""
        missing = [name for name in names if name not in self.settings.objects]
        if missing:
            raise UnavailableError(f"it needs {', '.join(missing)}")

    def cells(self, table: str, rows: Collection[str] = ()) -> list[Cell]:
        """Cells of a table of MADE, object by object; some of its rows, or all."""
        return [cell for cell in made_cells(table, self.settings) if not rows or cell.row in rows]

    def task(self, source: MapSource, method: Reweighted) -> Task:
        """Prediction of a method, its schedule as long as the settings want it."""
        return Task(source, scaled(method, self.settings))

    def depth(self, task: Task) -> FloatArray:
        """Depth (H, W) from the cache."""
        prediction = self.cache.need(task.key)
        if prediction.outcome is Outcome.NOT_FINITE:
            raise UnavailableError(f"on {task.source.name} {prediction.outcome.cause}")
        return prediction.depth

    def score(self, cell: Cell) -> Score:
        """Score, as in the tables."""
        return score("", cell, self.cache)
