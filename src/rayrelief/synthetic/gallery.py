"""Named scenes that docs, tests, demo and benchmarks share.

Every scene is a function of ``(height, width, camera=None)``; the default camera is a pinhole
with a centred principal point. The picture is the same at any size, except for `crowd`, which
grows with it. Where surfaces occlude one another, every part still touches its neighbours somewhere
in view, so the normals determine its depth; `steps` is the exception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rayrelief.cameras.base import Camera
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.scene import Scene
from rayrelief.synthetic.crowd import crowd
from rayrelief.synthetic.render import render
from rayrelief.synthetic.shapes import (
    Box,
    Ellipsoid,
    Plane,
    Shape,
    Sphere,
    Steps,
    Tent,
    Torus,
)
from rayrelief.synthetic.table import Table, gourd, lipped_vase, pear


def plane(height: int, width: int, camera: Camera | None = None) -> Scene:
    """One slanted plane that fills the picture."""
    shapes = [Plane(point=(0.0, 0.0, 4.0), normal=(0.35, -0.25, -1.0))]
    return _seen(shapes, "plane", height, width, camera)


def sphere(height: int, width: int, camera: Camera | None = None) -> Scene:
    """One sphere without a background: its rim is seen at grazing angles."""
    return _seen([Sphere((0.0, 0.0, 4.0), 1.5)], "sphere", height, width, camera)


def ellipsoid_inside(height: int, width: int, camera: Camera | None = None) -> Scene:
    """Inner wall of an ellipsoid around the camera: a surface in every direction."""
    shapes = [Ellipsoid((0.4, -0.2, 0.8), (2.6, 1.9, 3.2), inside=True)]
    return _seen(shapes, "ellipsoid_inside", height, width, camera)


def steps(height: int, width: int, camera: Camera | None = None) -> Scene:
    """Plateaus that step back to both sides: the normals are all equal, despite the jumps."""
    shapes = [Steps((-1.3, -0.7, -0.2, 0.45, 1.0), (4.4, 3.9, 3.4, 3.0, 3.6, 4.1))]
    return _seen(shapes, "steps", height, width, camera)


def tent(height: int, width: int, camera: Camera | None = None) -> Scene:
    """Two planes that meet in a ridge, oblique to the pixel grid: a crease without a jump."""
    return _seen([Tent((0.1, 0.0, 3.0), slope=0.8, angle=20.0)], "tent", height, width, camera)


def vase(height: int, width: int, camera: Camera | None = None) -> Scene:
    """One vase of revolution without a background."""
    table = Table(pitch=6.0, distance=4.6, drop=1.35)
    return _seen([lipped_vase(table.at(0.0, 0.0), table.up, 2.7)], "vase", height, width, camera)


def tori(height: int, width: int, camera: Camera | None = None) -> Scene:
    """Rings that intersect one another, each occluding a part of itself and of the next."""
    shapes = [
        Torus((-0.62, -0.28, 4.3), (0.55, -0.6, -0.7), 0.72, 0.22),
        Torus((0.36, 0.26, 4.0), (-0.5, -0.75, -0.5), 0.66, 0.2),
        Torus((0.95, -0.5, 4.5), (0.7, 0.2, -0.7), 0.52, 0.17),
    ]
    return _seen(shapes, "tori", height, width, camera)


def overlapping_spheres(height: int, width: int, camera: Camera | None = None) -> Scene:
    """Spheres that intersect in places and occlude one another in others."""
    shapes = [
        Sphere((-0.75, 0.3, 4.4), 0.75),
        Sphere((0.15, -0.5, 4.9), 0.8),
        Sphere((0.85, 0.2, 4.3), 0.65),
        Sphere((0.25, 0.65, 3.8), 0.5),
        Sphere((-0.3, 0.12, 3.66), 0.28),
    ]
    return _seen(shapes, "overlapping_spheres", height, width, camera)


def room(height: int, width: int, camera: Camera | None = None) -> Scene:
    """Boxes and spheres in a room around the camera: a surface in every direction."""
    floor = 1.2
    shapes: list[Shape] = [
        Box((-3.2, -1.9, -2.5), (3.0, floor, 7.0), inside=True),
        Box((-2.3, 0.3, 4.9), (-1.1, floor, 5.9), rotation=(0.0, 25.0, 0.0)),
        Box((-1.2, 0.65, 4.1), (-0.5, floor, 4.7), rotation=(0.0, -20.0, 0.0)),
        Box((1.2, -0.9, 5.2), (2.1, floor, 6.1), rotation=(0.0, -35.0, 0.0)),
        Box((-3.2, -0.2, -1.4), (-2.4, floor, 0.2)),
        Box((0.8, 0.5, -2.2), (1.7, floor, -1.4), rotation=(0.0, 40.0, 0.0)),
        Sphere((-1.7, 0.04, 5.4), 0.38),
        Sphere((0.45, floor - 0.38, 5.2), 0.5),
        Sphere((1.15, floor - 0.25, 4.4), 0.33),
        Sphere((-0.05, floor - 0.19, 3.7), 0.24),
        Sphere((2.0, floor - 0.35, 0.6), 0.5),
        Sphere((-0.8, floor - 0.4, -1.6), 0.55),
    ]
    return _seen(shapes, "room", height, width, camera)


def still_life(height: int, width: int, camera: Camera | None = None) -> Scene:
    """Gourds, pears, rings and balls that occlude one another on a table: the demo scene.

    Everything stands a little in the table, so that its foot is in view: the table leads to the
    depth of each object, across creases but no jump.
    """
    table = Table(pitch=45.0, distance=10.0, drop=0.1)
    up = table.up
    shapes: list[Shape] = [
        Plane(table.at(0.0, 0.0), up),
        Torus(table.at(-1.75, 0.9, 0.02), table.level(100.0), 0.7, 0.14),
        gourd(table.at(-0.7, 0.5), up, 1.9),
        gourd(table.at(0.5, 1.1), up, 1.5),
        Torus(table.at(1.7, 1.3, 0.02), table.level(75.0), 0.64, 0.13),
        gourd(table.at(2.2, 0.1), up, 1.25),
        pear(table.at(-1.75, -0.1), up, 0.9),
        pear(table.at(-0.1, -0.2), up, 0.8),
        Torus(table.at(1.05, -0.1, 0.02), table.level(55.0), 0.46, 0.09),
        Sphere(table.at(1.25, 0.55, 0.18), 0.23),
        Torus(table.at(-1.0, -1.0, 0.06), up, 0.36, 0.12),
        Torus(table.at(0.3, -1.0, 0.02), table.level(125.0), 0.34, 0.08),
        Sphere(table.at(1.5, -1.1, 0.22), 0.3),
        Torus(table.at(0.75, -1.7, 0.05), up, 0.24, 0.09),
        Sphere(table.at(-0.3, -1.7, 0.16), 0.22),
        Sphere(table.at(-1.6, -1.65, 0.14), 0.2),
        Sphere(table.at(-0.55, -0.55, 0.14), 0.2),
    ]
    return _seen(shapes, "still_life", height, width, camera, degrees=30.0)


GALLERY: dict[str, Callable[..., Scene]] = {
    scene.__name__: scene
    for scene in (
        plane,
        sphere,
        ellipsoid_inside,
        steps,
        tent,
        vase,
        tori,
        overlapping_spheres,
        room,
        still_life,
        crowd,
    )
}


def _seen(
    shapes: Sequence[Shape],
    name: str,
    height: int,
    width: int,
    camera: Camera | None,
    *,
    degrees: float = 50.0,
) -> Scene:
    if camera is None:
        camera = Pinhole.from_fov(degrees, height, width)
    return render(shapes, camera, height, width, name=name)
