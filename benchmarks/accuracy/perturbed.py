"""Cells of the tables of MADE on perturbed inputs, and their scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

import rayrelief
from benchmarks.accuracy.experiments import Cell, made_cells
from benchmarks.accuracy.inputs import MapSource, Source
from benchmarks.accuracy.perturbations import Perturbation
from benchmarks.accuracy.predictions import Cache
from benchmarks.accuracy.settings import Settings
from benchmarks.accuracy.tables import Scored, score
from benchmarks.diligent import truth
from rayrelief.conventions import FloatArray


def cells_over(
    perturbations: Sequence[Perturbation],
    table: str,
    scenes: Mapping[str, rayrelief.Scene],
    settings: Settings,
    library: str,
) -> list[Cell]:
    """Cells of a table that have a number of ours, with one task for each perturbation."""
    alike = zip(
        *(perturbed_cells(table, scenes, each, settings, library) for each in perturbations),
        strict=True,
    )
    return [joined(cells) for cells in alike if cells[0].tasks]


def perturbed_cells(
    table: str,
    scenes: Mapping[str, rayrelief.Scene],
    perturbation: Perturbation,
    settings: Settings,
    library: str,
) -> Iterator[Cell]:
    """Cells of a table on perturbed scenes."""
    changed = {name: perturbation.applied_to(scene) for name, scene in scenes.items()}
    for cell in made_cells(table, changed, settings, library):
        source = Source(cell.column, settings.principal_point, perturbation=perturbation)
        yield replace(cell, tasks=tuple(replace(task, source=source) for task in cell.tasks))


def joined(cells: Sequence[Cell]) -> Cell:
    """One cell with the tasks of all."""
    return replace(cells[0], tasks=tuple(chain.from_iterable(cell.tasks for cell in cells)))


def scored_over(
    perturbations: Sequence[Perturbation],
    cells: Iterable[Cell],
    cache: Cache,
    scenes: Mapping[str, rayrelief.Scene],
    settings: Settings,
) -> list[Scored]:
    """Scores of such cells, from the cache: one error for each perturbation."""
    truths = perturbed_truths(scenes, perturbations, settings)
    return [score(cell, cache, truths.__getitem__) for cell in cells]


def perturbed_truths(
    scenes: Mapping[str, rayrelief.Scene],
    perturbations: Iterable[Perturbation],
    settings: Settings,
) -> Mapping[MapSource, FloatArray]:
    """True depths of perturbed scenes, turned as these are."""
    return {
        Source(name, settings.principal_point, perturbation=each): np.rot90(
            truth(scene), each.quarter_turns
        )
        for each in perturbations
        for name, scene in scenes.items()
    }
