"""Shaded surfaces, and maps of errors and jumps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rayrelief
from benchmarks.accuracy.experiments import Cell
from benchmarks.accuracy.figures.canvas import PictureGrid, window
from benchmarks.accuracy.figures.study import Plan, Study
from benchmarks.accuracy.figures.surfaces import cut_mesh, from_left, from_right, restored
from benchmarks.accuracy.inputs import scene_of
from benchmarks.accuracy.predictions import Task
from benchmarks.diligent import data_folder, truth
from benchmarks.report import UnavailableError
from rayrelief.conventions import from_opencv
from rayrelief.evaluation.metrics import error_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRUTH = "ground truth"
ROWS = {
    "bini": "BiNI",
    "no_jumps_1200": "without α",
    "jumps_1200": "with α",
    "ray_plane": "RayPlane()",
}
REAL = ("plant", "owl", "human")
LEAST_ERROR, LARGEST_ERROR = 0.01, 30.0  # mm, ends of the colour scale
LEAST_JUMP, LARGEST_JUMP = 0.1, 10.0  # mm
BLUES: dict[str, Any] = {"cmap": "Blues"}  # pale where there are no jumps


def reconstructions(study: Study) -> Plan:
    """Surfaces of all objects, seen from the right."""
    cells = study.cells("made", ROWS)

    def draw(title: str) -> Figure:
        names = row_names(cells)
        grid = PictureGrid(title, [*names.values(), TRUTH], study.settings.objects)
        for cell in cells:
            mesh = cut_mesh(surface(study, cell.tasks[0]))
            grid.shade(names[cell.row], cell.column, from_right(mesh))
        for name in study.settings.objects:
            grid.shade(TRUTH, name, from_right(cut_mesh(true_surface(study, name))))
        return grid.figure

    return Plan("Reconstructions, seen from the right", cells, draw)


def errors(study: Study) -> Plan:
    """Absolute errors on one scale, with their means."""
    cells = study.cells("made", ROWS)

    def draw(title: str) -> Figure:
        from matplotlib.colors import LogNorm

        names, norm = row_names(cells), LogNorm(LEAST_ERROR, LARGEST_ERROR)
        grid = PictureGrid(title, list(names.values()), study.settings.objects)
        for cell in cells:
            scene = scene_of(cell.tasks[0].source)
            error = error_map(study.depth(cell.tasks[0]), truth(scene), "scale")
            picture = np.clip(error, LEAST_ERROR, None)[window(scene.mask)]
            caption = f"{study.score(cell).median:.3f}"
            image = grid.show(names[cell.row], cell.column, picture, caption, norm=norm)
        grid.colour_bar(image, "absolute error in mm", extend="both")
        return grid.figure

    return Plan("Absolute depth error after the median scale, MADE in mm below", cells, draw)


def jumps(study: Study) -> Plan:
    """Where the method sees discontinuities, and where they are."""
    cells = study.cells("made", ["jumps_1200"])

    def draw(title: str) -> Figure:
        from matplotlib.colors import LogNorm

        norm = LogNorm(LEAST_JUMP, LARGEST_JUMP)
        active, true = "activation β", "true jumps"
        grid = PictureGrid(title, [active, true], study.settings.objects)
        for cell in cells:
            result, exact = surface(study, cell.tasks[0]), true_surface(study, cell.column)
            shown = window(exact.mask)
            beta = result.activation.largest()[shown]
            upper = grid.show(active, cell.column, beta, **BLUES, vmin=0, vmax=1)
            size = np.clip(exact.jumps.largest()[shown], LEAST_JUMP, None)
            lower = grid.show(true, cell.column, size, **BLUES, norm=norm)
        grid.colour_bar(upper, "β", slice(0, 1))
        grid.colour_bar(lower, "mm", slice(1, 2), extend="both")
        return grid.figure

    title = "Discontinuities around each pixel: largest β of its edges, and largest true jump"
    return Plan(title, cells, draw)


@dataclass(frozen=True)
class RealMap:
    """An orthographic map in the folder other/ of the data, whose truth nobody knows."""

    name: str

    @property
    def folder(self) -> Path:
        """Where the map is, if it is there."""
        return data_folder() / "other" / f"{self.name}_orthographic"

    def scene(self) -> rayrelief.Scene:
        """Read the map."""
        return rayrelief.read_scene(self.folder, camera="orthographic")


def real_world(study: Study) -> Plan:
    """Normals, two views of the surface, and its discontinuities."""
    sources = [RealMap(name) for name in REAL]
    missing = [str(source.folder) for source in sources if not source.folder.is_dir()]
    if missing:
        raise UnavailableError(f"there is no {', '.join(missing)}")
    tasks = [study.task(source, rayrelief.RayPlane()) for source in sources]

    def draw(title: str) -> Figure:
        columns = ["normals", "seen from the left", "seen from the right", "activation β"]
        grid = PictureGrid(title, REAL, columns, size=2.7)
        for task in tasks:
            name, scene, result = task.source.name, scene_of(task.source), surface(study, task)
            shown, mesh = window(scene.mask), cut_mesh(result)
            colours = np.clip(0.5 + 0.5 * from_opencv(scene.normals, "opengl"), 0, 1)
            grid.show(name, columns[0], np.where(scene.mask[..., None], colours, 1.0)[shown])
            grid.shade(name, columns[1], from_left(mesh))
            grid.shade(name, columns[2], from_right(mesh))
            beta = result.activation.largest()[shown]
            image = grid.show(name, columns[3], beta, **BLUES, vmin=0, vmax=1)
        grid.colour_bar(image, "β")
        return grid.figure

    cells = [Cell("ray_plane", task.source.name, "-", (task,)) for task in tasks]
    return Plan("Real normal maps, integrated with RayPlane()", cells, draw)


def row_names(cells: Sequence[Cell]) -> dict[str, str]:
    """Names of rows with the iterations that they took, where these are fixed."""
    names = {}
    for cell in cells:
        method = cell.tasks[0].method
        count = "" if method.tolerance is not None else f"\n{method.max_iterations} iterations"
        names[cell.row] = ROWS[cell.row] + count
    return names


def surface(study: Study, task: Task) -> rayrelief.Integration:
    """Surface of a prediction."""
    return restored(scene_of(task.source), task.method, study.depth(task))


def true_surface(study: Study, name: str) -> rayrelief.Integration:
    """The true surface, as if a method had found it."""
    scene = scene_of(study.settings.source(name))
    return restored(scene, rayrelief.RayPlane(), truth(scene))
