"""A crowd of spheres, rings and vases that occlude one another, growing with the picture."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from rayrelief.cameras.base import Camera
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import InputError
from rayrelief.scene import Scene
from rayrelief.synthetic.render import render
from rayrelief.synthetic.shapes import Plane, Shape, Sphere, Torus
from rayrelief.synthetic.table import Table, gourd, pear

_DEGREES = 24.0  # field of view across the longer side
_TABLE = Table(pitch=45.0, distance=10.0, drop=0.0)
_PIXELS_APART = 100  # from one object to the next, halfway up the picture


def crowd(
    height: int,
    width: int,
    camera: Camera | None = None,
    *,
    across: float | None = None,
    seed: int = 0,
) -> Scene:
    """Spheres, rings and vases all over a table, in front of one another.

    Two to three percent of the edges of the pixel graph cross a jump, at any size: by default the
    number of objects grows with the number of pixels.

    Parameters
    ----------
    height, width
        Size of the picture.
    camera
        By default a pinhole with 24 degrees across the longer side. Another one sees the same
        objects, which fill the view of this one.
    across
        How many objects stand along the longer side, halfway up the picture; one for every 100
        pixels by default. The same number gives the same objects at any size.
    seed
        Integer >= 0 that determines the arrangement.
    """
    shapes = crowd_shapes(height, width, across=across, seed=seed)
    if camera is None:
        camera = crowd_camera(height, width)
    return render(shapes, camera, height, width, name="crowd")


def crowd_camera(height: int, width: int) -> Pinhole:
    """Camera through which a crowd of this size fills the picture."""
    return Pinhole.from_fov(_DEGREES, height, width)


def crowd_shapes(
    height: int, width: int, *, across: float | None = None, seed: int = 0
) -> list[Shape]:
    """Shapes of `crowd`, near ones first: to render a part of a picture too large for memory."""
    longer = max(height, width)
    if across is None:
        across = longer / _PIXELS_APART
    if not 0.0 < across < math.inf:
        raise InputError(
            f"{across} objects across",
            expected="a positive number",
            remedy="Leave it out for one object for every 100 pixels",
        )
    if seed < 0:
        raise InputError(
            f"the seed {seed}", expected="an integer >= 0", remedy="Use any other seed"
        )
    half = math.tan(math.radians(_DEGREES) / 2)
    apart = 2 * half * _TABLE.distance / across
    rng = np.random.default_rng(seed)
    shapes: list[Shape] = [
        _object(right, away, apart, *rng.random(5))
        for right, away in _places(half * width / longer, half * height / longer, apart)
    ]
    shapes.append(Plane(_TABLE.at(0.0, 0.0), _TABLE.up))
    return shapes


def _places(right: float, down: float, apart: float) -> Iterator[tuple[float, float]]:
    """Places on the table in staggered rows, near ones first, for a view of this size at z = 1."""
    # At the lower rim whole objects are in view, for without its foot an object floats.
    away = _TABLE.away(down) + 0.6 * apart
    row = 0
    while away < _TABLE.away(-down) + apart:
        last = math.ceil(right * _TABLE.at(0.0, away)[2] / apart)
        for place in range(-last, last + 1):
            yield (place + row % 2 / 2) * apart, away
        away += 0.95 * apart
        row += 1


def _object(
    right: float,
    away: float,
    apart: float,
    aside: float,
    behind: float,
    growth: float,
    turn: float,
    kind: float,
) -> Shape:
    """One object about a place on the table, by numbers from 0 to 1."""
    right += 0.4 * (aside - 0.5) * apart
    away += 0.4 * (behind - 0.5) * apart
    size = (0.85 + 0.35 * growth) * apart
    up, level = _TABLE.up, _TABLE.level(180.0 * turn)
    # All stand in the table as deep as lets the camera see where: so it leads to their depth.
    match int(5 * kind):
        case 0:
            return gourd(_TABLE.at(right, away, -0.13 * size), up, 1.3 * size)
        case 1:
            return pear(_TABLE.at(right, away, -0.085 * size), up, 0.85 * size)
        case 2:
            return Torus(_TABLE.at(right, away, 0.04 * size), up, 0.27 * size, 0.1 * size)
        case 3:
            return Torus(_TABLE.at(right, away, 0.12 * size), level, 0.34 * size, 0.09 * size)
        case _:
            return Sphere(_TABLE.at(right, away, 0.13 * size), 0.3 * size)
