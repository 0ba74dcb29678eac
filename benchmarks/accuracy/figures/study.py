"""What figures are drawn from: maps, settings and the cache; and what a figure asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import rayrelief
from benchmarks.accuracy.experiments import Cell, made_cells, scaled
from benchmarks.accuracy.inputs import MapSource
from benchmarks.accuracy.predictions import Cache, Task, input_digest
from benchmarks.accuracy.settings import Settings
from benchmarks.accuracy.tables import Scored, by_name, score
from benchmarks.diligent import truth
from benchmarks.report import UnavailableError
from rayrelief.conventions import FloatArray
from rayrelief.errors import Outcome
from rayrelief.methods.base import Method

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

    scenes: Mapping[str, rayrelief.Scene]
    settings: Settings
    library: str
    cache: Cache

    def need(self, *names: str) -> None:
        """Raise UnavailableError if one of these objects is left out."""
        missing = [name for name in names if name not in self.scenes]
        if missing:
            raise UnavailableError(f"it needs {', '.join(missing)}")

    def cells(self, table: str, rows: Iterable[str] | None = None) -> list[Cell]:
        """Cells of a table of MADE, object by object; some of its rows, or all."""
        cells = list(made_cells(table, self.scenes, self.settings, self.library))
        wanted = {cell.row for cell in cells} if rows is None else set(rows)
        return [cell for cell in cells if cell.row in wanted]

    def task(self, source: MapSource, scene: rayrelief.Scene, method: Method) -> Task:
        """Prediction of a method, its schedule as long as the settings want it."""
        method = scaled(method, self.settings.iterations)
        return Task(source, input_digest(scene), method, self.library)

    def depth(self, task: Task, scene: rayrelief.Scene) -> FloatArray:
        """Depth (H, W) of a scene from the cache."""
        prediction = self.cache.need(task.key, scene.mask.shape)
        if prediction.outcome is Outcome.NOT_FINITE:
            raise UnavailableError(f"on {task.source.name} {prediction.outcome.cause}")
        return prediction.depth

    def scored(self, cells: Iterable[Cell]) -> list[Scored]:
        """Scores, as in the tables."""
        truths = {name: truth(scene) for name, scene in self.scenes.items()}
        return [score(cell, self.cache, by_name(truths)) for cell in cells]
