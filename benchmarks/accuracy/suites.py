"""What is predicted for each table, and what is written of it: the suites that can be run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

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
from benchmarks.accuracy.perturbations import PERTURBATIONS, Perturbation
from benchmarks.accuracy.perturbed import cells_over, scored_over
from benchmarks.accuracy.points import POINTS, points_summary, sheet_of_points
from benchmarks.accuracy.predictions import Cache
from benchmarks.accuracy.settings import BOTH, Settings
from benchmarks.accuracy.spread import sheet_of_spreads, spread_summary
from benchmarks.accuracy.tables import Scored, Sheet, made_sheet, summary
from benchmarks.accuracy.workers import predict_missing
from benchmarks.diligent import truth
from benchmarks.report import UnavailableError

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
    """Experiments of one kind: the head of their page, how files begin, options, and a close."""

    title: str
    prefix: str
    options: tuple[str, ...]
    experiments: Mapping[str, Experiment]
    summary: Callable[[Run, Sequence[Sheet], str], Sheet | None]

    def chosen(self, tables: Sequence[str]) -> list[str]:
        """Tables that are named, in the order of the experiments."""
        unknown = sorted(set(tables) - set(self.experiments))
        if unknown:
            these = " ".join(["tables", *(f"with {option}" for option in self.options)])
            raise SystemExit(
                f"unknown {these}: {', '.join(unknown)}; there are {', '.join(self.experiments)}"
            )
        return [table for table in self.experiments if table in tables]


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
    yield sheet_of_explanations(TITLES["explain"], this.settings, explained)
    yield sheet_of_verdicts(this.settings.command("explain"), explained)


def _study(this: Run) -> Study:
    return Study(this.scenes, this.settings, this.library, this.cache)


def _figure_sheets(this: Run, cells: Sequence[Cell]) -> Iterator[Sheet]:
    folder = this.cache.folder.with_name("figures")
    yield figure_sheet(TITLES["figures"], this.settings.command("figures"), _study(this), folder)


def _spread_cells(table: str, this: Run) -> Iterable[Cell]:
    return cells_over(PERTURBATIONS, table, this.scenes, this.settings, this.library)


def _spread_sheets(table: str, this: Run, cells: Sequence[Cell]) -> Iterator[Sheet]:
    command = this.settings.command(*SPREAD.options, table)
    yield sheet_of_spreads(table, command, _scored(PERTURBATIONS, this, cells))


def _point_cells(table: str, this: Run) -> Iterable[Cell]:
    return cells_over(POINTS, table, this.scenes, this.settings, this.library)


def _point_sheets(table: str, this: Run, cells: Sequence[Cell]) -> Iterator[Sheet]:
    command = this.settings.command(*BOTH_POINTS.options, table)
    yield sheet_of_points(table, command, _scored(POINTS, this, cells))


def _scored(
    perturbations: Sequence[Perturbation], this: Run, cells: Sequence[Cell]
) -> list[Scored]:
    return scored_over(perturbations, cells, this.cache, this.scenes, this.settings)


def _summary(this: Run, sheets: Sequence[Sheet], command: str) -> Sheet | None:
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
PAPER = Suite("The tables of the paper", "paper", (), EXPERIMENTS, _summary)
SPREAD = Suite(
    "The tables of MADE over perturbed inputs",
    "paper-spread",
    ("--spread",),
    {
        each: Experiment(partial(_spread_cells, each), partial(_spread_sheets, each))
        for each in MADE
    },
    lambda this, sheets, command: spread_summary(sheets, command),
)
BOTH_POINTS = Suite(
    "The tables of MADE with either principal point",
    "paper-points",
    (f"--principal-point {BOTH}",),
    {each: Experiment(partial(_point_cells, each), partial(_point_sheets, each)) for each in MADE},
    lambda this, sheets, command: points_summary(sheets, command),
)
