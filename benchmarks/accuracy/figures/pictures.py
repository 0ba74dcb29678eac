"""Shaded surfaces, whole and in detail, and maps of errors, incidence and jumps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import rayrelief
from benchmarks.accuracy.experiments import Cell
from benchmarks.accuracy.figures.canvas import PictureGrid, window
from benchmarks.accuracy.figures.study import Plan, Study
from benchmarks.accuracy.figures.surfaces import cut_mesh, from_right, restored
from benchmarks.diligent import truth
from rayrelief.conventions import BoolArray
from rayrelief.evaluation.metrics import error_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRUTH = "ground truth"
ROWS = {
    "bini": "BiNI",
    "no_jumps_1200": "without α",
    "jumps_1200": "with α",
    "default": "default",
}
# Where parts hide one another: top, bottom, left and right, in parts of the object's extent.
DETAILS = {"harvest": (0.0, 0.5, 0.0, 0.5), "pot1": (0.0, 0.5, 0.5, 1.0)}
LEAST_ERROR, LARGEST_ERROR = 0.01, 30.0  # mm, ends of the colour scale
LEAST_JUMP, LARGEST_JUMP = 0.1, 10.0  # mm


def reconstructions(study: Study) -> Plan:
    """Surfaces of all objects, seen from the right."""
    cells = study.cells("made", ROWS)

    def draw(title: str) -> Figure:
        names = row_names(cells)
        grid = PictureGrid(title, [*names.values(), TRUTH], list(study.scenes))
        for cell in cells:
            mesh = cut_mesh(surface(study, cell))
            grid.shade(names[cell.row], cell.column, from_right(mesh))
        for name, scene in study.scenes.items():
            grid.shade(TRUTH, name, from_right(cut_mesh(true_surface(scene))))
        return grid.figure

    return Plan("Reconstructions, seen from the right", cells, draw)


def details(study: Study) -> Plan:
    """Parts of two objects where one side of the surface hides the other."""
    study.need(*DETAILS)
    rows = [row for row in ROWS if row != "default"]
    cells = [cell for cell in study.cells("made", rows) if cell.column in DETAILS]

    def draw(title: str) -> Figure:
        names = row_names(cells)
        grid = PictureGrid(title, list(DETAILS), [TRUTH, *names.values()], 3.2, 2.1)
        for name in DETAILS:
            scene = study.scenes[name]
            found = {names[cell.row]: surface(study, cell) for cell in cells if cell.column == name}
            for column, result in {TRUTH: true_surface(scene), **found}.items():
                mesh = cut_mesh(result, detail(name, scene.mask))
                grid.shade(name, column, from_right(mesh, wide=1.7))
        return grid.figure

    return Plan("Details: parts of two objects that hide others", cells, draw)


def errors(study: Study) -> Plan:
    """Absolute errors on one scale, with their means."""
    cells = study.cells("made", ROWS)

    def draw(title: str) -> Figure:
        from matplotlib.colors import LogNorm

        names, norm = row_names(cells), LogNorm(LEAST_ERROR, LARGEST_ERROR)
        grid = PictureGrid(title, list(names.values()), list(study.scenes))
        for cell, scored in zip(cells, study.scored(cells), strict=True):
            scene = study.scenes[cell.column]
            error = error_map(study.depth(cell.tasks[0], scene), truth(scene), "scale")
            image = grid.show(
                names[cell.row],
                cell.column,
                np.clip(error, LEAST_ERROR, None)[window(scene.mask)],
                f"{scored.made[0]:.3f}",
                norm=norm,
                cmap="viridis",
            )
        grid.colour_bar(image, "absolute error in mm", extend="both")
        return grid.figure

    return Plan("Absolute depth error after the median scale, MADE in mm below", cells, draw)


def incidence(study: Study) -> Plan:
    """How far each normal points along its ray: 0 on the rim of what is seen."""

    def draw(title: str) -> Figure:
        row = "given normals"
        grid = PictureGrid(title, [row], list(study.scenes))
        for name, scene in study.scenes.items():
            rays = scene.camera.unit_rays(*scene.mask.shape)
            cosine = np.abs(np.einsum("...i,...i->...", scene.normals, rays))
            cosine[~scene.mask] = np.nan
            image = grid.show(row, name, cosine[window(scene.mask)], cmap="viridis", vmin=0, vmax=1)
        grid.colour_bar(image, "|n · ray|")
        return grid.figure

    return Plan("Incidence |n · ray|, rays of unit length", (), draw)


def jumps(study: Study) -> Plan:
    """Where the method sees discontinuities, and where they are."""
    cells = study.cells("made", ["jumps_1200"])

    def draw(title: str) -> Figure:
        from matplotlib.colors import LogNorm

        norm = LogNorm(LEAST_JUMP, LARGEST_JUMP)
        active, true = "activation β", "true jumps"
        grid = PictureGrid(title, [active, true], list(study.scenes))
        for cell in cells:
            scene = study.scenes[cell.column]
            shown = window(scene.mask)
            beta = surface(study, cell).activation.largest()[shown]
            upper = grid.mark(active, cell.column, beta, vmin=0, vmax=1)
            size = np.clip(true_surface(scene).jumps.largest()[shown], LEAST_JUMP, None)
            lower = grid.mark(true, cell.column, size, norm=norm)
        grid.colour_bar(upper, "β", slice(0, 1))
        grid.colour_bar(lower, "mm", slice(1, 2), extend="both")
        return grid.figure

    return Plan(
        "Discontinuities around each pixel: largest β of its edges, and largest true jump",
        cells,
        draw,
    )


def row_names(cells: Sequence[Cell]) -> dict[str, str]:
    """Names of rows with the iterations that they took, where these are fixed."""
    names = {}
    for cell in cells:
        method = cell.tasks[0].method
        count = "" if method.tolerance is not None else f"\n{method.max_iterations} iterations"
        names[cell.row] = ROWS[cell.row] + count
    return names


def surface(study: Study, cell: Cell) -> rayrelief.Integration:
    """Surface of a cell's only prediction."""
    (task,), scene = cell.tasks, study.scenes[cell.column]
    return restored(scene, task.method, study.depth(task, scene))


def true_surface(scene: rayrelief.Scene) -> rayrelief.Integration:
    """The true surface, as if a method had found it."""
    return restored(scene, rayrelief.RayPlane(), truth(scene))


def detail(name: str, mask: BoolArray) -> BoolArray:
    """Pixels (H, W) of an object's detail."""
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    top, bottom, left, right = DETAILS[name]
    kept = np.zeros_like(mask)
    kept[part(rows, top, bottom), part(columns, left, right)] = True
    return kept


def part(inside: np.ndarray, low: float, high: float) -> slice:
    """Pixels from one fraction of an extent to another."""
    first, count = int(inside[0]), int(inside[-1]) + 1 - int(inside[0])
    return slice(first + round(low * count), first + round(high * count))
