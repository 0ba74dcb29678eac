"""DiLiGenT-MV: MADE as the mean over the views; depth is ray-cast from the mesh.

The folder is ``RAYRELIEF_DILIGENT_MV``, or else ``diligent_mv`` in ``RAYRELIEF_DATA``; its layout
is that of ``rayrelief.datasets.diligent_mv``, where the true normals must be those of the mesh:
that is checked in every view.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import get_args

import numpy as np

import rayrelief
from benchmarks.accuracy.experiments import Cell, scaled
from benchmarks.accuracy.predictions import Cache, Task, input_digest
from benchmarks.accuracy.raycast import render
from benchmarks.accuracy.settings import Settings
from benchmarks.accuracy.tables import Sheet, by_name, score, sheet_of
from benchmarks.diligent import truth
from benchmarks.published import published_tables
from benchmarks.report import UnavailableError
from rayrelief.datasets.diligent_mv import (
    MAPS,
    VIEWS,
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
        """Object and view; both kinds of normals have the same true depth."""
        return f"{self.item} view {self.view}"

    def scene(self) -> rayrelief.Scene:
        """Read a view in the OpenCV camera frame, with the z-depth of the mesh."""
        root = data_folder()
        true = read_view(root, self.item, self.view)
        mesh = read_mesh(root, self.item, self.view)
        seen = render(mesh, true.camera, *true.mask.shape)
        check_normals(true, seen)
        scene = true
        if self.normals != "true_normals":
            scene = read_view(root, self.item, self.view, self.normals)
        return replace(scene, depth=np.where(scene.mask, truth(seen), np.nan))


def view_cells(settings: Settings, library: str) -> Iterator[Cell]:
    """Cells object by object, each with one task for every view."""
    table = published_tables()["diligent_mv"]
    root = data_folder()
    for item in wanted_objects(settings, table["objects"]):
        for kind in NORMALS:
            sources = [ViewSource(item, view, kind) for view in views_of(object_folder(root, item))]
            digests = {source: input_digest(source.scene()) for source in sources}
            for row, recipe in METHODS.items():
                method = scaled(recipe, settings.iterations)
                tasks = tuple(
                    Task(source, digest, method, library) for source, digest in digests.items()
                )
                printed = table[kind][row][table["objects"].index(item)]
                yield Cell(f"{row} on {kind.replace('_', ' ')}", item, printed, tasks)


def view_sheet(title: str, command: str, cells: Sequence[Cell], cache: Cache) -> Sheet:
    """MADE, the mean over the views of an object."""
    scored, counts = [], {}
    for item, group in groupby(cells, key=lambda cell: cell.column):
        own = list(group)
        truths = {task.source.name: truth(task.source.scene()) for task in own[0].tasks}
        each = [score(cell, cache, by_name(truths)) for cell in own]
        scored += [replace(found, made=(float(np.mean(found.made)),)) for found in each]
        counts[item] = len(truths)
    notes = tuple(
        f"{item}: {count} views, the paper has {VIEWS}"
        for item, count in counts.items()
        if count != VIEWS
    )
    sheet = sheet_of("diligent_mv", title, command, scored, limits={})
    table = replace(sheet.table, notes=(*notes, *sheet.table.notes))
    # The objects are those of other maps: they do not count among the stable ones of DiLiGenT.
    return replace(sheet, table=table, scored=())


def data_folder() -> Path:
    """Folder of the data set."""
    named, data = os.environ.get("RAYRELIEF_DILIGENT_MV"), os.environ.get("RAYRELIEF_DATA")
    if named:
        root = Path(named)
    elif data:
        root = Path(data) / "diligent_mv"
    else:
        raise UnavailableError("neither RAYRELIEF_DILIGENT_MV nor RAYRELIEF_DATA names a folder")
    if not (root / MAPS).is_dir():
        raise UnavailableError(f"there is no folder {root / MAPS}")
    return root


def wanted_objects(settings: Settings, known: Sequence[str]) -> list[str]:
    """Objects of the table that a run covers."""
    wanted = [item for item in known if not settings.objects or item in settings.objects]
    if not wanted:
        raise UnavailableError("it needs an object that is left out")
    return wanted


def check_normals(scene: rayrelief.Scene, seen: rayrelief.Scene) -> None:
    """Raise InputError unless true normals are those of the mesh that the camera sees."""
    both = scene.mask & seen.mask
    cosines = np.einsum("ni,ni->n", scene.normals[both], seen.normals[both])
    cosines /= np.linalg.norm(scene.normals[both], axis=1)
    if both.sum() < scene.mask.sum() / 2:
        found = f"the mesh is behind {both.sum():,} of {scene.mask.sum():,} pixels of {scene.name}"
    else:
        degrees = float(np.degrees(np.arccos(np.clip(np.nanmedian(cosines), -1.0, 1.0))))
        if degrees <= MOST_DEGREES:
            return
        found = (
            f"mesh and true normals of {scene.name} differ by {degrees:.0f} degrees in the median"
        )
    raise InputError(
        found,
        expected=f"at most {MOST_DEGREES:g} degrees, in most of the mask",
        remedy="Check pose and camera matrix, and that the normals have OpenGL axes",
    )
