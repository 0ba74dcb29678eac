"""``make paper``: every table of the paper, our number beside the printed one, and its figures.

RAYRELIEF_DATA=/path/to/data python -m benchmarks.accuracy [TABLE ...]
RAYRELIEF_DATA=/path/to/data python -m benchmarks.accuracy --spread [TABLE ...]
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.accuracy.experiments import MADE, NOISE, Cell, made_cells, noise_cells
from benchmarks.accuracy.figures import figure_cells, figure_table
from benchmarks.accuracy.figures.study import Study
from benchmarks.accuracy.formulation import formulation_tables
from benchmarks.accuracy.inputs import (
    PERTURBATIONS,
    PRINCIPAL_POINTS,
    PUBLISHED_ITERATIONS,
    Settings,
    scene_of,
)
from benchmarks.accuracy.lens import lens_cells, lens_table
from benchmarks.accuracy.predictions import Cache, Task, library_state
from benchmarks.accuracy.tables import Score, made_table, score, summary
from benchmarks.accuracy.workers import predict_missing
from benchmarks.diligent import OBJECTS, object_names
from benchmarks.report import Report, Table, exit_code

RESULTS = Path(__file__).parents[1] / "results"
IN_MM = "MADE in mm (median scale), ours / printed"
OVER = "median (least to greatest) over"
TITLES = {
    "formulation": "",
    "made": f"Table 2: {IN_MM}",
    "gamma": f"gamma in the cost and in the weights: {IN_MM}",
    "midpoint": f"lambda_m and k_m: {IN_MM}",
    "activation": f"rho and q of the discontinuity activation: {IN_MM}",
    "connectivity": f"Connectivity: {IN_MM}",
    "outliers": f"Outliers on harvest, {OVER} five seeds: {IN_MM}",
    "rotations": f"Rotations on harvest, {OVER} five seeds: {IN_MM}",
    "lens": "Lens distortion: RE / ERA in percent (median scale)",
    "figures": "Figures",
}


def main(arguments: list[str]) -> int:
    """Predict what is missing, then score; 1 if a limit is missed."""
    known = parser()
    chosen = known.parse_args(arguments)
    available = tuple(MADE) if chosen.spread else tuple(TITLES)
    if unknown := sorted(set(chosen.tables) - set(available)):
        known.error(f"unknown tables {unknown}; there are {', '.join(available)}")
    settings = Settings(chosen.objects, chosen.iterations, chosen.principal_point, chosen.spread)
    cache = Cache(chosen.output / "predictions")
    command = shlex.join(["python", "-m", "benchmarks.accuracy", *arguments])
    report = Report({"command": command, "library": library_state(), **notes_on(settings)})

    cells: dict[str, list[Cell]] = {}
    tasks: dict[str, Task] = {}
    for table in chosen.tables or available:
        with report.part(table):
            own = list(cells_of(table, settings, cache))
            # Keys need the maps: those that are missing are told now.
            tasks |= {task.key: task for cell in own for task in cell.tasks}
            cells[table] = own
    cache.prepare()
    predict_missing(tasks, cache, chosen.workers)

    scores: list[Score] = []
    for table, content in cells.items():
        with report.part(table):
            for each in tables_of(table, content, settings, cache, scores):
                report.add(each)
    close = summary(scores, settings)
    if close is not None:
        report.add(close)
    # A run that lacks some tables is named after those that it holds, and leaves the whole alone.
    named = cells if report.skipped else chosen.tables
    return report.finish(chosen.output, settings.file_stem("paper", *named))


def cells_of(table: str, settings: Settings, cache: Cache) -> Iterable[Cell]:
    """What must be predicted for a table."""
    if table in MADE:
        return made_cells(table, settings)
    if table in NOISE:
        return noise_cells(table, settings)
    if table == "lens":
        return lens_cells(settings)
    for name in settings.objects:
        scene_of(settings.source(name))  # maps that are missing are told before the first hour
    return figure_cells(Study(settings, cache)) if table == "figures" else ()


def tables_of(
    table: str, cells: list[Cell], settings: Settings, cache: Cache, scores: list[Score]
) -> Iterator[Table]:
    """A table from what is in the cache; scores of MADE are added to those of the others."""
    title = TITLES[table]
    if table == "formulation":
        yield from formulation_tables(settings)
    elif table == "lens":
        yield lens_table(title, cells, cache)
    elif table == "figures":
        yield figure_table(title, Study(settings, cache), cache.folder.with_name("figures"))
    else:
        own = [score(table, cell, cache) for cell in cells]
        scores += own
        yield made_table(title, own, settings)


def notes_on(settings: Settings) -> dict[str, str]:
    """What a reader of other settings than the published ones must know."""
    notes = {}
    if not settings.full:
        instead = f"{settings.iterations} instead of {PUBLISHED_ITERATIONS}"
        notes["iterations"] = f"{instead}, other schedules scaled alike; rows keep their names"
    if settings.spread:
        notes["numbers"] = f"{OVER} the inputs: {', '.join(PERTURBATIONS)}"
    return notes


def parser() -> argparse.ArgumentParser:
    """Tables and settings."""
    known = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy", description=(Settings.__doc__ or "").split("\n")[0]
    )
    known.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TITLES))
    known.add_argument("--spread", action="store_true", help="tables of MADE over perturbed inputs")
    known.add_argument("--objects", type=object_names, default=OBJECTS, help="such as cow,pot2")
    known.add_argument(
        "--iterations",
        type=count,
        default=PUBLISHED_ITERATIONS,
        help=f"quick looks take fewer than {PUBLISHED_ITERATIONS}; shorter schedules shrink alike",
    )
    known.add_argument(
        "--principal-point",
        choices=PRINCIPAL_POINTS,
        default=PRINCIPAL_POINTS[0],
        help="that of K.txt (default), or the one that some rows of the paper fit",
    )
    known.add_argument("--workers", type=count, default=2, help="processes of one thread each")
    known.add_argument("--output", type=Path, default=RESULTS, help="for tables and predictions")
    return known


def count(text: str) -> int:
    """A number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no integer >= 1")
    return int(text)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the end of a batch job
    sys.exit(exit_code(main, sys.argv[1:]))
