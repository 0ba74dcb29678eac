"""``make paper``: every table of the paper, our number beside the printed one, and its figures.

RAYRELIEF_DATA=/path/to/data python -m benchmarks.accuracy [TABLE ...]
RAYRELIEF_DATA=/path/to/data python -m benchmarks.accuracy --principal-point both [TABLE ...]
RAYRELIEF_DATA=/path/to/data python -m benchmarks.accuracy --spread [TABLE ...]
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import rayrelief
from benchmarks import diligent
from benchmarks.accuracy.diligent_mv import view_cells, view_sheet
from benchmarks.accuracy.experiments import (
    MADE,
    NOISE,
    NOISY_OBJECT,
    Cell,
    limits_of,
    made_cells,
    noise_cells,
)
from benchmarks.accuracy.explanations import (
    Place,
    cells_of_all_tables,
    explanations,
    off_cells,
    sheet_of_explanations,
    sheet_of_verdicts,
    variations,
)
from benchmarks.accuracy.figures.catalogue import figure_cells, figure_sheet
from benchmarks.accuracy.figures.study import Study
from benchmarks.accuracy.formulation import formulation_sheets
from benchmarks.accuracy.inputs import NoiseKind, moved
from benchmarks.accuracy.lens import lens_cells, lens_sheet
from benchmarks.accuracy.page import Page
from benchmarks.accuracy.perturbations import PERTURBATIONS
from benchmarks.accuracy.perturbed import cells_over
from benchmarks.accuracy.points import BOTH, POINTS, points_sheet, points_summary
from benchmarks.accuracy.predictions import Cache, library_state
from benchmarks.accuracy.settings import (
    PRINCIPAL_POINTS,
    PUBLISHED_ITERATIONS,
    PrincipalPoint,
    Settings,
)
from benchmarks.accuracy.spread import spread_sheet, spread_summary
from benchmarks.accuracy.tables import Sheet, made_sheet, summary
from benchmarks.accuracy.workers import predict_missing
from benchmarks.diligent import truth
from benchmarks.report import Table, UnavailableError, exit_code, progress, run_command
from benchmarks.settings import names

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
    "lens": "Lens distortion: RE / ERA in percent (median scale)",
    "diligent_mv": f"DiLiGenT-MV, mean over the views: {IN_MM}",
    "explain": "Cells that are off the print, and what was varied",
    "figures": "Figures",
}


def main(arguments: list[str]) -> int:
    """Predict what is missing, then score; 1 if a limit is missed, 130 after an interruption."""
    options = parser().parse_args(arguments)
    both = options.principal_point == BOTH
    if both and options.spread:
        raise SystemExit(f"--spread perturbs one principal point: {' or '.join(PRINCIPAL_POINTS)}")
    suite = SPREAD if options.spread else BOTH_POINTS if both else PAPER
    chosen = suite.chosen(options.tables)
    point: PrincipalPoint = (
        "file" if both else options.principal_point
    )  # both begin with that of the file
    settings = Settings(options.objects, options.iterations, point)
    try:
        return run(suite, chosen, settings, options.workers, options.output)
    except UnavailableError as error:
        raise SystemExit(str(error)) from error
    except rayrelief.RayreliefError as error:
        raise SystemExit(f"error: {error}") from error
    except BrokenExecutor as error:
        raise SystemExit(f"a worker died ({error}); the same command goes on from there") from error
    except KeyboardInterrupt:
        progress("interrupted: what is finished is kept, the same command goes on from there")
        return 130


@dataclass(frozen=True)
class Run:
    """What the tables of a run share; the maps of DiLiGenT are read when a table asks for them."""

    settings: Settings
    library: str
    cache: Cache
    workers: int

    @cached_property
    def scenes(self) -> Mapping[str, rayrelief.Scene]:
        """Maps of DiLiGenT by name."""
        scenes = {scene.name: scene for scene in diligent.scenes(self.settings.objects)}
        for scene in scenes.values():
            truth(scene)  # a map without it is told now, and not after an hour
        if self.settings.principal_point == "paper":
            scenes = {name: moved(scene) for name, scene in scenes.items()}
        return scenes

    @cached_property
    def cells_of_all_tables(self) -> Mapping[Place, Cell]:
        """Cells that are explained where they are off."""
        return cells_of_all_tables(self.scenes, self.settings, self.library)


@dataclass(frozen=True)
class Experiment:
    """What must be predicted for a table, and its sheets from what is in the cache."""

    cells: Callable[[Run], Iterable[Cell]]
    sheets: Callable[[Run, Sequence[Cell]], Iterable[Sheet]]


@dataclass(frozen=True)
class Suite:
    """Experiments of one kind: what their files begin with, the option that names them, a close."""

    prefix: str
    options: tuple[str, ...]
    experiments: Mapping[str, Experiment]
    summary: Callable[[Run, Sequence[Sheet], str], Table | None]

    def chosen(self, tables: Sequence[str]) -> list[str]:
        """Tables that are named, in the order of the experiments."""
        unknown = sorted(set(tables) - set(self.experiments))
        if unknown:
            these = " ".join(["tables", *(f"with {option}" for option in self.options)])
            raise SystemExit(
                f"unknown {these}: {', '.join(unknown)}; there are {', '.join(self.experiments)}"
            )
        return [table for table in self.experiments if table in tables]


def run(suite: Suite, chosen: list[str], settings: Settings, workers: int, folder: Path) -> int:
    """Print tables and write them into a folder."""
    this = Run(settings, library_state(), Cache(folder / "predictions"), workers)
    cells: dict[str, list[Cell]] = {}
    skipped: list[str] = []
    for table in chosen or suite.experiments:
        with skipped_if_unavailable(table, skipped, unless=chosen):
            cells[table] = list(suite.experiments[table].cells(this))
    if not cells:
        raise UnavailableError(f"nothing can be made; {skipped[0]}")
    this.cache.prepare()
    tasks = [task for each in cells.values() for cell in each for task in cell.tasks]
    what = "predictions" + ", part 1 of 2" * ("explain" in cells)  # part 2 follows the tables
    predict_missing(tasks, this.cache, workers, this.library, what).tell(what)

    # Without the maps of DiLiGenT a run is named after what it holds, not after the whole.
    named = chosen or ([] if set(MADE) <= set(cells) else list(cells))
    command = settings.command(*suite.options, *chosen)
    page = Page(
        folder / f"{settings.file_stem(suite.prefix, *named)}.md",
        f"# The tables of the paper\n\n`{command}`, rayrelief {this.library}",
        skipped,
    )
    sheets: list[Sheet] = []
    for table, content in cells.items():
        with skipped_if_unavailable(table, skipped, unless=chosen):
            for sheet in suite.experiments[table].sheets(this, content):
                sheets.append(sheet)
                # At once: what follows may take long. Without cells nothing has iterations.
                page.add(sheet.table.noting(*settings.remarks) if content else sheet.table)
                sheet.write_csv(folder, settings.file_stem(suite.prefix, sheet.name))
    close = suite.summary(this, sheets, command)
    if close is not None:
        page.add(close.noting(*settings.remarks))
    page.finish()
    progress(f"written to {page.path}, and a .csv for each table")
    return exit_code(page.tables)


@contextmanager
def skipped_if_unavailable(table: str, skipped: list[str], unless: Sequence[str]) -> Iterator[None]:
    """Pass over a table whose data is not here, unless it was asked for by its name."""
    try:
        yield
    except UnavailableError as error:
        if table in unless:
            raise
        skipped.append(f"{table}, {error}")
        progress(f"skipped: {skipped[-1]}")


def _made_cells(table: str, this: Run) -> Iterator[Cell]:
    return made_cells(table, this.scenes, this.settings, this.library)


def _noise_cells(kind: NoiseKind, this: Run) -> Iterator[Cell]:
    if NOISY_OBJECT not in this.scenes:
        raise UnavailableError(f"{kind} are added to {NOISY_OBJECT}, which is left out")
    return noise_cells(kind, this.scenes, this.settings, this.library)


def _made_sheets(table: str, this: Run, cells: Sequence[Cell]) -> Iterator[Sheet]:
    command, limits = this.settings.command(table), limits_of(table, this.settings)
    yield made_sheet(table, TITLES[table], command, cells, this.cache, this.scenes, limits)


def _residual_cells(this: Run) -> list[Cell]:
    """No residual is predicted."""
    _ = this.scenes  # maps that are missing are told at once
    return []


def _formulation_sheets(this: Run, cells: Sequence[Cell]) -> Iterator[Sheet]:
    return formulation_sheets(this.scenes, this.settings.command("formulation"))


def _lens_sheets(this: Run, cells: Sequence[Cell]) -> Iterator[Sheet]:
    yield lens_sheet(TITLES["lens"], this.settings.command("lens"), cells, this.cache)


def _view_sheets(this: Run, cells: Sequence[Cell]) -> Iterator[Sheet]:
    command = this.settings.command("diligent_mv")
    yield view_sheet(TITLES["diligent_mv"], command, cells, this.cache)


def _explained_cells(this: Run) -> Iterable[Cell]:
    return this.cells_of_all_tables.values()


def _explanation_sheets(this: Run, cells: Sequence[Cell]) -> Iterator[Sheet]:
    off = off_cells(this.cells_of_all_tables, this.scenes, this.cache)
    varied = variations(off, this.scenes, this.settings, this.library)
    tables = {task.key for cell in cells for task in cell.tasks}  # are there, and told of
    tasks = [
        task
        for each in varied.values()
        for cell in each.values()
        for task in cell.tasks
        if task.key not in tables
    ]
    what = "predictions to explain what is off, part 2 of 2"
    predict_missing(tasks, this.cache, this.workers, this.library, what).tell(what)
    explained = explanations(off, varied, this.scenes, this.settings, this.cache)
    command = this.settings.command("explain")
    yield sheet_of_explanations(TITLES["explain"], command, explained)
    yield sheet_of_verdicts(command, explained)


def _study(this: Run) -> Study:
    return Study(this.scenes, this.settings, this.library, this.cache)


def _figure_sheets(this: Run, cells: Sequence[Cell]) -> Iterator[Sheet]:
    folder = this.cache.folder.with_name("figures")
    yield figure_sheet(TITLES["figures"], this.settings.command("figures"), _study(this), folder)


def _spread_cells(table: str, this: Run) -> Iterable[Cell]:
    return cells_over(PERTURBATIONS, table, this.scenes, this.settings, this.library)


def _spread_sheets(table: str, this: Run, cells: Sequence[Cell]) -> Iterator[Sheet]:
    command = this.settings.command(*SPREAD.options, table)
    yield spread_sheet(table, command, cells, this.cache, this.scenes, this.settings)


def _point_cells(table: str, this: Run) -> Iterable[Cell]:
    return cells_over(POINTS, table, this.scenes, this.settings, this.library)


def _point_sheets(table: str, this: Run, cells: Sequence[Cell]) -> Iterator[Sheet]:
    command = this.settings.command(*BOTH_POINTS.options, table)
    yield points_sheet(table, command, cells, this.cache, this.scenes, this.settings)


def _summary(this: Run, sheets: Sequence[Sheet], command: str) -> Table | None:
    return summary(sheets, command, this.settings.held_to_limits)


EXPERIMENTS: dict[str, Experiment] = {
    "formulation": Experiment(_residual_cells, _formulation_sheets),
    **{each: Experiment(partial(_made_cells, each), partial(_made_sheets, each)) for each in MADE},
    **{
        each: Experiment(partial(_noise_cells, each), partial(_made_sheets, each)) for each in NOISE
    },
    "lens": Experiment(lambda this: lens_cells(this.settings, this.library), _lens_sheets),
    "diligent_mv": Experiment(lambda this: view_cells(this.settings, this.library), _view_sheets),
    "explain": Experiment(_explained_cells, _explanation_sheets),
    "figures": Experiment(lambda this: figure_cells(_study(this)), _figure_sheets),
}
PAPER = Suite("paper", (), EXPERIMENTS, _summary)
SPREAD = Suite(
    "paper-spread",
    ("--spread",),
    {
        each: Experiment(partial(_spread_cells, each), partial(_spread_sheets, each))
        for each in MADE
    },
    lambda this, sheets, command: spread_summary(sheets, command),
)
BOTH_POINTS = Suite(
    "paper-points",
    (f"--principal-point {BOTH}",),
    {each: Experiment(partial(_point_cells, each), partial(_point_sheets, each)) for each in MADE},
    lambda this, sheets, command: points_summary(sheets, command),
)


def parser() -> argparse.ArgumentParser:
    """Tables and settings."""
    known = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy", description=(Settings.__doc__ or "").split("\n")[0]
    )
    known.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TITLES))
    known.add_argument("--spread", action="store_true", help="tables of MADE over perturbed inputs")
    known.add_argument("--objects", type=names, default=(), help="such as cow,pot2; default: all")
    known.add_argument(
        "--iterations",
        type=count,
        default=PUBLISHED_ITERATIONS,
        help=f"quick looks take fewer than {PUBLISHED_ITERATIONS}; shorter schedules shrink alike",
    )
    known.add_argument(
        "--principal-point",
        choices=(*PRINCIPAL_POINTS, BOTH),
        default="file",
        help="that of K.txt (default), the one that some rows of the paper fit, "
        "or tables of MADE with both",
    )
    known.add_argument("--workers", type=count, default=2, help="processes of one thread each")
    known.add_argument("--output", type=Path, default=RESULTS, help="for tables and predictions")
    return known


def count(text: str) -> int:
    """A number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 upwards")
    return int(text)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the end of a batch job
    run_command(main)
