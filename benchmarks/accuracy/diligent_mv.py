"""DiLiGenT-MV: MADE as the mean over the views; depth is ray-cast from the mesh.

The folder is ``diligent_mv`` in ``RAYRELIEF_DATA``, in the layout of
``rayrelief.datasets.diligent_mv``; the true normals must be those of the mesh: that is checked in
every view.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import get_args

import numpy as np

import rayrelief
from benchmarks.accuracy.experiments import Cell, scaled
from benchmarks.accuracy.inputs import Settings
from benchmarks.accuracy.predictions import Cache, Task
from benchmarks.accuracy.raycast import render
from benchmarks.accuracy.tables import made_table, score
from benchmarks.diligent import data_folder, truth
from benchmarks.published import PUBLISHED
from benchmarks.report import Table, UnavailableError
from rayrelief.datasets.diligent_mv import (
    MAPS,
    Normals,
    object_folder,
    read_mesh,
    read_view,
    views_of,
)
from rayrelief.errors import InputError
from rayrelief.methods.base import Method

NORMALS: tuple[Normals, ...] = get_args(Normals)
METHODS: dict[str, Method] = {
    "bini": rayrelief.BiNI.published(),
    "no_jumps": rayrelief.RayPlane.published(jumps=False, outlier_threshold=0.1),
    "jumps": rayrelief.RayPlane.published(outlier_threshold=0.1),
}
MOST_DEGREES = 10.0  # between true normals and those of the mesh, in the median


@dataclass(frozen=True)
class ViewSource:
    """A view of an object, counted from 1, with its true or its estimated normals."""

    item: str
    view: int
    normals: Normals

    @property
    def name(self) -> str:
        """Object and view."""
        return f"{self.item} view {self.view}"

    def scene(self) -> rayrelief.Scene:
        """Read a view in the OpenCV camera frame, with the z-depth of the mesh."""
        root = view_folder()
        true = read_view(root, self.item, self.view)
        seen = render(read_mesh(root, self.item, self.view), true.camera, *true.mask.shape)
        check_normals(true, seen)
        scene = read_view(root, self.item, self.view, self.normals)
        return replace(scene, depth=np.where(scene.mask, truth(seen), np.nan))


def view_cells(settings: Settings) -> Iterator[Cell]:
    """Cells object by object, each with one task for every view."""
    table, root = PUBLISHED["diligent_mv"], view_folder()
    for item in table["objects"]:
        if item in settings.objects:
            for kind in NORMALS:
                views = views_of(object_folder(root, item))
                for row, recipe in METHODS.items():
                    method = scaled(recipe, settings)
                    tasks = tuple(Task(ViewSource(item, view, kind), method) for view in views)
                    printed = table[kind][row][table["objects"].index(item)]
                    yield Cell(f"{row} on {kind.replace('_', ' ')}", item, printed, tasks)


def view_table(title: str, cells: list[Cell], settings: Settings, cache: Cache) -> Table:
    """MADE, the mean over the views of an object."""
    scores = [score("diligent_mv", cell, cache) for cell in cells]
    means = [replace(each, made=(mean(each.made),)) for each in scores]
    counts = {cell.column: len(cell.tasks) for cell in cells}
    table = made_table(title, means, settings)
    views = ", ".join(f"{item} {count}" for item, count in counts.items())
    return replace(table, notes=(f"Views, of which the paper has 20: {views}.", *table.notes))


def view_folder() -> Path:
    """Folder of the data set."""
    root = data_folder() / "diligent_mv"
    if not (root / MAPS).is_dir():
        raise UnavailableError(f"there is no folder {root / MAPS}")
    return root


def check_normals(scene: rayrelief.Scene, seen: rayrelief.Scene) -> None:
    """Raise InputError unless true normals are those of the mesh that the camera sees."""
    both = scene.mask & seen.mask
    cosines = np.einsum("ni,ni->n", scene.normals[both], seen.normals[both])
    cosines /= np.linalg.norm(scene.normals[both], axis=1)
    degrees = 90.0
    if both.sum() >= scene.mask.sum() / 2:
        degrees = float(np.degrees(np.arccos(np.clip(np.nanmedian(cosines), -1.0, 1.0))))
    if not degrees <= MOST_DEGREES:
        raise InputError(
            f"the mesh is behind {both.sum():,} of {scene.mask.sum():,} pixels of {scene.name}, "
            f"and its normals differ by {degrees:.0f} degrees in the median",
            expected=f"at most {MOST_DEGREES:g} degrees, in most of the mask",
            remedy="Check pose and camera matrix, and that the normals have OpenGL axes",
        )
