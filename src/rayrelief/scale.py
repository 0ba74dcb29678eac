"""Scale: what a surface of arbitrary scale is multiplied by, from one length that is known."""

from __future__ import annotations

import numpy as np

from rayrelief.checks import LENGTHS
from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.prior import nearest_pixel
from rayrelief.result import Integration

Pixel = tuple[float, float]


def factor_to_depth(result: Integration, depth: float) -> float:
    """Factor that gives the surface this median depth."""
    LENGTHS.check("the median depth", depth)
    return depth / float(np.nanmedian(result.depth))


def factor_to_distance(result: Integration, first: Pixel, second: Pixel, length: float) -> float:
    """Factor that puts the points of two pixels (u, v) this length apart."""
    LENGTHS.check("the distance between two points", length)
    points = result.points()
    one, other = (_point(points, pixel) for pixel in (first, second))
    apart = float(np.linalg.norm(one - other))
    if not apart > 0:
        raise InputError(
            f"the distance between the pixel {first} and itself",
            expected="two different pixels",
            remedy="Choose two that are far apart",
        )
    (u, v), (s, t) = first, second
    labels = result.components.labels
    if labels[round(v), round(u)] != labels[round(t), round(s)]:
        raise InputError(
            f"the pixels {first} and {second} lie in components that are not connected",
            expected="two pixels of one component: only these have a common scale",
            remedy="Choose another pixel, or give the depth of a point of each component",
        )
    return length / apart


def _point(points: FloatArray, pixel: Pixel) -> FloatArray:
    height, width = points.shape[:2]
    place = nearest_pixel(*pixel, height, width)
    if place is None or not np.isfinite(points[place]).all():
        raise InputError(
            f"the pixel {pixel} has no depth",
            expected=f"column and row of a pixel inside the mask of the {width}x{height} image",
            remedy="Look the pixel up in the normal map, counted from 0",
        )
    point: FloatArray = points[place]
    return point
