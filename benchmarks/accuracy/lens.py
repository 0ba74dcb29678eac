"""Lens distortion: meshes and closed-form scenes, seen with it and without.

As in the paper the undistorted maps are rendered anew through an ideal pinhole, not resampled, and
show less of a scene, because the lens has barrel distortion. The paper names neither its camera nor
the pinhole's intrinsics; here both share one camera matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np

import rayrelief
from benchmarks.accuracy.experiments import Cell, scaled
from benchmarks.accuracy.inputs import Settings
from benchmarks.accuracy.predictions import Cache, Task
from benchmarks.accuracy.raycast import render
from benchmarks.accuracy.tables import errors_of
from benchmarks.published import PUBLISHED
from benchmarks.report import Column, Table
from rayrelief import Mesh
from rayrelief.methods.base import Method
from rayrelief.synthetic import gallery

View = Literal["distorted", "ignored", "undistorted"]
HEIGHT, WIDTH = 240, 320
IDEAL = rayrelief.Pinhole(fx=210.0, fy=210.0, cx=159.5, cy=119.5)
LENS = rayrelief.BrownConrady(
    IDEAL.fx, IDEAL.fy, IDEAL.cx, IDEAL.cy, k1=-0.25, k2=0.05, p1=1e-3, p2=-1.5e-3
)
# Rows of published.toml: what is seen, and the method. BiNI ignores the distortion.
WAYS: dict[str, tuple[View, Method]] = {
    "ours_distorted": ("distorted", rayrelief.RayPlane.published()),
    "bini_distorted": ("ignored", rayrelief.BiNI.published()),
    "ours_undistorted": ("undistorted", rayrelief.RayPlane.published()),
    "bini_undistorted": ("undistorted", rayrelief.BiNI.published()),
}
NOTES = (
    f"Ours: {WIDTH}x{HEIGHT} pixels, f = {LENS.fx:g}, k1 = {LENS.k1}, k2 = {LENS.k2}, "
    f"p1 = {LENS.p1}, p2 = {LENS.p2}; the undistorted maps are rendered, as the paper's are, not "
    "resampled, through the pinhole with the same camera matrix.",
    "bini_distorted takes the distorted map for that of the pinhole.",
    "The paper's meshes are not at hand: its rows are for comparison of the columns only.",
)


@cache
def waves() -> Mesh:
    """A ball with waves all over."""
    from trimesh.creation import icosphere

    ball = icosphere(subdivisions=6)
    x, y, z = np.asarray(ball.vertices).T
    radius = 1.5 + 0.09 * np.sin(6 * x + 1) + 0.07 * np.sin(8 * y) + 0.05 * np.sin(9 * z + 2 * x)
    ball.vertices *= radius[:, None]
    return _placed([ball], (0.0, 0.0, 0.0), (0.05, -0.03, 3.8))


@cache
def ring() -> Mesh:
    """A torus that hides a part of itself."""
    from trimesh.creation import torus

    ring = torus(1.15, 0.45, major_sections=360, minor_sections=160)
    return _placed([ring], (48.0, 15.0, 0.0), (0.0, 0.0, 3.6))


@cache
def knot() -> Mesh:
    """A trefoil, flat enough for its strands to grow into one another where they cross."""
    from trimesh import Trimesh

    around, across = 720, 96
    s = np.linspace(0, 2 * np.pi, around, endpoint=False)[:, None]
    curve = np.hstack(
        (np.sin(s) + 2 * np.sin(2 * s), np.cos(s) - 2 * np.cos(2 * s), -0.45 * np.sin(3 * s))
    )
    along = np.roll(curve, -1, axis=0) - np.roll(curve, 1, axis=0)
    side = np.cross(along, [0.0, 0.0, 1.0])  # the curve is never upright
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    above = np.cross(side, along)
    above /= np.linalg.norm(above, axis=1, keepdims=True)
    turn = np.linspace(0, 2 * np.pi, across, endpoint=False)[:, None]
    tube = curve[:, None] + 0.62 * (np.cos(turn) * side[:, None] + np.sin(turn) * above[:, None])

    index = np.arange(around * across).reshape(around, across)
    right, down = np.roll(index, -1, axis=1), np.roll(index, -1, axis=0)
    corner = np.roll(right, -1, axis=0)
    faces = np.stack((index, corner, right, index, down, corner), axis=-1)
    strand = Trimesh(0.44 * tube.reshape(-1, 3), faces.reshape(-1, 3), process=False)
    return _placed([strand], (20.0, -12.0, 0.0), (0.0, 0.05, 3.6))


@cache
def blocks() -> Mesh:
    """Boxes and balls that stand a little in a slab and in one another."""
    from trimesh.creation import box, icosphere

    def upright(x: float, y: float, *extents: float) -> Any:
        lift = extents[2] / 2 - 0.05
        return box(extents).apply_translation((x, y, lift))

    def ball(x: float, y: float, z: float, radius: float) -> Any:
        return icosphere(subdivisions=5, radius=radius).apply_translation((x, y, z))

    parts = [
        box((3.0, 2.4, 0.3)).apply_translation((0.0, 0.0, -0.15)),
        upright(-0.8, 0.5, 0.7, 0.6, 1.0),
        upright(0.75, 0.6, 0.8, 0.5, 0.6),
        upright(0.2, -0.5, 0.5, 0.5, 0.4),
        ball(0.75, 0.6, 0.75, 0.3),
        ball(-0.75, -0.55, 0.3, 0.4),
        ball(0.0, 0.4, 0.22, 0.32),
        ball(0.95, -0.6, 0.14, 0.25),
    ]
    return _placed(parts, (128.0, 0.0, 0.0), (0.0, 0.15, 3.6))


MESHES: dict[str, Callable[[], Mesh]] = {
    each.__name__: each for each in (waves, ring, knot, blocks)
}
SCENES = ("room", "ellipsoid_inside", "tori", "overlapping_spheres")
OBJECTS = (*MESHES, *SCENES)


@dataclass(frozen=True)
class LensSource:
    """A mesh or a closed-form scene, as the lens or the pinhole shows it."""

    name: str
    view: View

    def scene(self) -> rayrelief.Scene:
        """Render the map; ignored distortion is that of a map with the wrong camera."""
        camera = IDEAL if self.view == "undistorted" else LENS
        if self.name in MESHES:
            scene = render(MESHES[self.name](), camera, HEIGHT, WIDTH, self.name)
        else:
            scene = gallery.GALLERY[self.name](HEIGHT, WIDTH, camera)
        return replace(scene, camera=IDEAL) if self.view == "ignored" else scene


def lens_cells(settings: Settings) -> Iterator[Cell]:
    """What must be predicted, object by object."""
    for name in OBJECTS:
        for way, (view, method) in WAYS.items():
            yield Cell(name, way, "-", (Task(LensSource(name, view), scaled(method, settings)),))


def lens_table(title: str, cells: Sequence[Cell], cache: Cache) -> Table:
    """RE and ERA: the mean over our objects, each of them, and the printed ones."""
    found = {(cell.row, cell.column): errors_of(cell.tasks[0], cache) for cell in cells}
    lines = {
        name: [(found[name, way][0].re, found[name, way][0].era) for way in WAYS]
        for name in OBJECTS
    }
    lines = {"mean": np.mean(list(lines.values()), axis=0).tolist(), **lines}
    failures = [
        f"{name}, {way}: {end.cause}" for (name, way), (_, end) in found.items() if not end.ok
    ]
    shown = {
        name: [f"{re:.2f} / {era:.2f}" for re, era in line] for name, line in lines.items()
    } | printed_lines()
    return Table(
        title,
        (Column("object"), *map(Column, WAYS)),
        tuple((name, *line) for name, line in shown.items()),
        (*NOTES, *failures),
        records=tuple(
            {"object": name, "way": way, "re": re, "era": era}
            for name, line in lines.items()
            for way, (re, era) in zip(WAYS, line, strict=True)
        ),
    )


def printed_lines() -> dict[str, list[str]]:
    """RE / ERA as the paper prints them, for each of its meshes and the four ways."""
    table = PUBLISHED["lens"]
    re, era = table["relative_error"], table["error_over_mean_depth"]
    return {
        f"{mesh} (printed)": [f"{re[way][index]} / {era[way][index]}" for way in WAYS]
        for index, mesh in enumerate(table["meshes"])
    }


def _placed(
    parts: Sequence[Any], degrees: tuple[float, float, float], centre: tuple[float, float, float]
) -> Mesh:
    """One mesh in the camera frame of parts that are turned about x, y and z, then moved."""
    from scipy.spatial.transform import Rotation
    from trimesh.util import concatenate

    whole = concatenate(parts)
    turn = Rotation.from_euler("xyz", degrees, degrees=True).as_matrix()
    vertices = np.asarray(whole.vertices, dtype=np.float64) @ turn.T + centre
    return Mesh(vertices, np.asarray(whole.faces, dtype=np.int32))
