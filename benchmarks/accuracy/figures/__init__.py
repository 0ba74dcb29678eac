"""The figures of the paper: what they need is predicted first, then drawn from the cache."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.accuracy.experiments import Cell
from benchmarks.accuracy.figures import curves, pictures
from benchmarks.accuracy.figures.canvas import house_style, write
from benchmarks.accuracy.figures.study import Plan, Study
from benchmarks.report import Column, Table, UnavailableError, progress

FIGURES: dict[str, Callable[[Study], Plan]] = {
    "reconstructions": pictures.reconstructions,
    "errors": pictures.errors,
    "jumps": pictures.jumps,
    "activation": curves.activation,
    "noise": curves.noise,
    "iterations": curves.iterations,
    "real_world": pictures.real_world,
}


def figure_cells(study: Study) -> Iterator[Cell]:
    """What must be predicted for the figures that can be drawn."""
    for plan in FIGURES.values():
        with contextlib.suppress(UnavailableError):  # told when it is not drawn
            yield from plan(study).cells


def figure_table(title: str, study: Study, folder: Path) -> Table:
    """Draw all figures from the cache, as PNG files in a folder, and list them."""
    drawn, notes = [], []
    for name, plan in FIGURES.items():
        file = f"{study.settings.file_stem(name)}.png"
        try:
            planned = plan(study)
            progress(f"drawing {file}")
            with house_style():
                write(folder / file, planned.draw(planned.title))
            drawn.append((file, planned.title))
        except UnavailableError as reason:
            notes.append(f"{file}: skipped, {reason}")
    return Table(title, (Column("file"), Column("shows")), tuple(drawn), tuple(notes))
