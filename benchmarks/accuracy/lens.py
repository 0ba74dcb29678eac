"""Lens distortion: closed-form scenes, seen with it and without.

As in the paper the undistorted maps are rendered anew through an ideal pinhole, not resampled, and
show less of a scene, because the lens has barrel distortion. The paper names neither its camera nor
the pinhole's intrinsics, and its meshes are not at hand; here both cameras share one matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

import rayrelief
from benchmarks.accuracy.experiments import Cell, scaled
from benchmarks.accuracy.inputs import Settings
from benchmarks.accuracy.predictions import Cache, Task
from benchmarks.accuracy.tables import errors_of
from benchmarks.published import PUBLISHED
from benchmarks.report import Column, Table
from rayrelief.methods import Reweighted
from rayrelief.synthetic.gallery import GALLERY

View = Literal["distorted", "ignored", "undistorted"]
HEIGHT, WIDTH = 240, 320
IDEAL = rayrelief.cameras.Pinhole(fx=210.0, fy=210.0, cx=159.5, cy=119.5)
LENS = rayrelief.cameras.BrownConrady(
    IDEAL.fx, IDEAL.fy, IDEAL.cx, IDEAL.cy, k1=-0.25, k2=0.05, p1=1e-3, p2=-1.5e-3
)
OBJECTS = ("room", "ellipsoid_inside", "tori", "overlapping_spheres")
# Rows of published.toml: what is seen, and the method. BiNI ignores the distortion.
WAYS: dict[str, tuple[View, Reweighted]] = {
    "ours_distorted": ("distorted", rayrelief.RayPlane.published()),
    "bini_distorted": ("ignored", rayrelief.BiNI.published()),
    "ours_undistorted": ("undistorted", rayrelief.RayPlane.published()),
    "bini_undistorted": ("undistorted", rayrelief.BiNI.published()),
}
NOTES = (
    f"Ours: {WIDTH}x{HEIGHT} pixels, f = {LENS.fx:g}, k1 = {LENS.k1}, k2 = {LENS.k2}, "
    f"p1 = {LENS.p1}, p2 = {LENS.p2}; undistorted maps are rendered, not resampled.",
    "bini_distorted takes the distorted map for that of the pinhole.",
    "The printed rows are of other scenes: only the columns compare.",
)


@dataclass(frozen=True)
class LensSource:
    """A closed-form scene, as the lens or the pinhole shows it."""

    name: str
    view: View

    def scene(self) -> rayrelief.Scene:
        """Render the map; ignored distortion is that of a map with the wrong camera."""
        camera = IDEAL if self.view == "undistorted" else LENS
        scene = GALLERY[self.name](HEIGHT, WIDTH, camera)
        return replace(scene, camera=IDEAL) if self.view == "ignored" else scene


def lens_cells(settings: Settings) -> Iterator[Cell]:
    """What must be predicted, object by object."""
    for name in OBJECTS:
        for way, (view, method) in WAYS.items():
            yield Cell(name, way, "-", (Task(LensSource(name, view), scaled(method, settings)),))


def lens_table(title: str, cells: Sequence[Cell], cache: Cache) -> Table:
    """RE and ERA: the mean over our objects, each of them, and the printed ones."""
    found = {(cell.row, cell.column): errors_of(cell.tasks[0], cache) for cell in cells}
    errors = {place: (each.re, each.era) for place, (each, _) in found.items()}
    for way in WAYS:
        errors["mean", way] = tuple(np.mean([errors[name, way] for name in OBJECTS], axis=0))
    rows = [
        (name, *("{:.2f} / {:.2f}".format(*errors[name, way]) for way in WAYS))
        for name in ("mean", *OBJECTS)
    ]
    return Table(
        title,
        tuple(map(Column, ("object", *WAYS))),
        (*rows, *printed_rows()),
        (*NOTES, *(f"{', '.join(x)}: {end.cause}" for x, (_, end) in found.items() if not end.ok)),
        records=tuple(
            {"object": name, "way": way, "re": float(re), "era": float(era)}
            for (name, way), (re, era) in errors.items()
        ),
    )


def printed_rows() -> Iterator[tuple[str, ...]]:
    """RE / ERA as the paper prints them, for each of its meshes and the four ways."""
    re, era = PUBLISHED["lens"]["relative_error"], PUBLISHED["lens"]["error_over_mean_depth"]
    for index, mesh in enumerate(PUBLISHED["lens"]["meshes"]):
        yield f"{mesh} (printed)", *(f"{re[way][index]} / {era[way][index]}" for way in WAYS)
