"""``make paper``: every table of the paper, our number beside the printed one.

RAYRELIEF_DATA=/path/to/data python -m benchmarks.accuracy [TABLE ...] [--principal-point paper]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import BrokenExecutor
from pathlib import Path

import rayrelief
from benchmarks import diligent
from benchmarks.accuracy.experiments import MADE, NOISE, Cell, made_cells, noise_cells
from benchmarks.accuracy.formulation import formulation_sheets
from benchmarks.accuracy.inputs import moved
from benchmarks.accuracy.predictions import Cache, library_state
from benchmarks.accuracy.settings import PRINCIPAL_POINTS, PUBLISHED_ITERATIONS, Settings
from benchmarks.accuracy.tables import Sheet, made_sheet, summary, write_text
from benchmarks.accuracy.workers import predict_missing
from benchmarks.report import UnavailableError, progress

RESULTS = Path(__file__).parents[1] / "results"
IN_MM = "MADE in mm (median scale), ours / printed"
TITLES = {
    "formulation": "",
    "made": f"Table 2: {IN_MM}",
    "gamma": f"gamma in the cost and in the weights: {IN_MM}",
    "midpoint": f"lambda_m and k_m: {IN_MM}",
    "activation": f"rho and q of the discontinuity activation: {IN_MM}",
    "connectivity": f"Connectivity: {IN_MM}",
    "outliers": f"Outliers on harvest, median (quartiles) over five seeds: {IN_MM}",
    "rotations": f"Rotations on harvest, median (quartiles) over five seeds: {IN_MM}",
}


def main(arguments: list[str]) -> int:
    """Predict what is missing, then score; 130 after an interruption."""
    options = parser().parse_args(arguments)
    unknown = sorted(set(options.tables) - set(TITLES))
    if unknown:
        raise SystemExit(f"unknown tables {', '.join(unknown)}; there are {', '.join(TITLES)}")
    settings = Settings(options.objects, options.iterations, options.principal_point)
    try:
        return run(options.tables, settings, options.workers, options.output)
    except UnavailableError as error:
        raise SystemExit(str(error)) from error
    except rayrelief.RayreliefError as error:
        raise SystemExit(f"error: {error}") from error
    except BrokenExecutor as error:
        raise SystemExit(f"a worker died ({error}); the same command goes on from there") from error
    except KeyboardInterrupt:
        progress("interrupted: what is finished is kept, the same command goes on from there")
        return 130


def run(chosen: list[str], settings: Settings, workers: int, folder: Path) -> int:
    """Print tables and write them into a folder."""
    scenes = {scene.name: scene for scene in diligent.scenes(settings.objects)}
    if settings.principal_point == "paper":
        scenes = {name: moved(scene) for name, scene in scenes.items()}
    library, cache = library_state(), Cache(folder / "predictions")
    tables = chosen or list(TITLES)
    cells = {table: list(cells_of(table, scenes, settings, library)) for table in tables}
    tasks = [task for each in cells.values() for cell in each for task in cell.tasks]
    made = predict_missing(tasks, cache, workers)
    progress(f"predictions made: {made}; all others were in the cache")

    sheets = list(sheets_of(cells, scenes, settings, cache))
    stem = settings.file_stem("paper", *chosen)
    shown = [sheet.table for sheet in sheets]
    close = summary(sheets, settings.command(*chosen))
    texts = [table.to_markdown() for table in [*shown, *([close] if close else [])]]
    print("\n\n".join(texts))
    head = f"# The tables of the paper\n\nrayrelief {library}, principal point of the "
    write_text(folder / f"{stem}.md", "\n\n".join([head + settings.principal_point, *texts]) + "\n")
    for sheet in sheets:
        sheet.write_csv(folder, settings.file_stem("paper", sheet.name))
    progress(f"written to {folder / stem}.md, and a .csv for each table")
    return 0


def cells_of(
    table: str, scenes: Mapping[str, rayrelief.Scene], settings: Settings, library: str
) -> Iterator[Cell]:
    """What must be predicted for a table."""
    if table in MADE:
        yield from made_cells(table, scenes, settings, library)
    for kind in NOISE:
        if table == kind:
            yield from noise_cells(kind, scenes, settings, library)


def sheets_of(
    cells: Mapping[str, list[Cell]],
    scenes: Mapping[str, rayrelief.Scene],
    settings: Settings,
    cache: Cache,
) -> Iterator[Sheet]:
    """Tables from what is in the cache."""
    for table, content in cells.items():
        command = settings.command(table)
        if table == "formulation":
            yield from formulation_sheets(scenes, command)
        elif content:
            yield made_sheet(table, TITLES[table], command, content, cache, scenes)
        else:
            progress(f"{table}: skipped, it needs an object that is left out")


def parser() -> argparse.ArgumentParser:
    """Tables and settings."""
    known = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy", description=Settings.__doc__
    )
    known.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TITLES))
    known.add_argument("--objects", type=lambda text: tuple(text.split(",")), default=())
    known.add_argument("--iterations", type=_positive, default=PUBLISHED_ITERATIONS)
    known.add_argument("--principal-point", choices=PRINCIPAL_POINTS, default="file")
    known.add_argument("--workers", type=_positive, default=2, help="processes of one thread each")
    known.add_argument("--output", type=Path, default=RESULTS, help="for tables and predictions")
    return known


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
