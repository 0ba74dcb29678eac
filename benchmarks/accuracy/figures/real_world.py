"""Surfaces from measured and estimated normals, for which nobody knows the truth."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rayrelief
from benchmarks.accuracy.experiments import Cell
from benchmarks.accuracy.figures.canvas import PictureGrid, window
from benchmarks.accuracy.figures.study import Plan, Study
from benchmarks.accuracy.figures.surfaces import cut_mesh, from_left, from_right, restored
from benchmarks.report import UnavailableError
from rayrelief.conventions import FloatArray, from_opencv

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OBJECTS = ("plant", "owl", "human")
NORMALS, LEFT, RIGHT, JUMPS = "normals", "seen from the left", "seen from the right", "activation β"


@dataclass(frozen=True)
class RealMap:
    """An orthographic map in the folder other/ of the data."""

    name: str

    @property
    def folder(self) -> Path:
        """Where the map is, if it is there."""
        return Path(os.environ["RAYRELIEF_DATA"]) / "other" / f"{self.name}_orthographic"

    def scene(self) -> rayrelief.Scene:
        """Read the map."""
        return rayrelief.read_scene(self.folder, camera="orthographic")


def real_world(study: Study) -> Plan:
    """Normals, two views of the surface, and its discontinuities."""
    sources = [RealMap(name) for name in OBJECTS]
    missing = [str(source.folder) for source in sources if not source.folder.is_dir()]
    if missing:
        raise UnavailableError(f"there is no {', '.join(missing)}")
    tasks = [study.task(source, source.scene(), rayrelief.RayPlane()) for source in sources]
    cells = [Cell("default", task.source.name, "-", (task,)) for task in tasks]

    def draw(title: str) -> Figure:
        columns = [NORMALS, LEFT, RIGHT, JUMPS]
        grid = PictureGrid(title, OBJECTS, columns, width=2.6, height=2.8)
        for task in tasks:
            name, scene = task.source.name, task.source.scene()
            shown = window(scene.mask)
            result = restored(scene, task.method, study.depth(task, scene))
            mesh = cut_mesh(result)
            grid.show(name, NORMALS, colours_of(scene)[shown])
            grid.shade(name, LEFT, from_left(mesh))
            grid.shade(name, RIGHT, from_right(mesh))
            image = grid.mark(name, JUMPS, result.activation.largest()[shown], vmin=0, vmax=1)
        grid.colour_bar(image, "β")
        return grid.figure

    return Plan("Real normal maps, integrated with the default", cells, draw)


def colours_of(scene: rayrelief.Scene) -> FloatArray:
    """Normals as colours (H, W, 3) in the usual way, with y up and z towards the camera."""
    colours: FloatArray = np.clip(0.5 + 0.5 * from_opencv(scene.normals, "opengl"), 0, 1)
    return np.where(scene.mask[..., None], colours, 1.0)
