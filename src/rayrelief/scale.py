"""Scale: what a surface of arbitrary scale is multiplied by, from one length that is known."""

from __future__ import annotations

import numpy as np

from rayrelief.cameras.base import Camera
from rayrelief.checks import LENGTHS
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import InputError
from rayrelief.prior import nearest_pixel
from rayrelief.result import Integration

Pixel = tuple[float, float]


def factor_to_depth(result: Integration, depth: float) -> float:
    """Factor that gives the surface this median depth."""
    check_scalable(result.camera, "median depth (factor_to_depth)")
    LENGTHS.check("the median depth", depth)
    return depth / float(np.nanmedian(result.depth))


def factor_to_distance(result: Integration, first: Pixel, second: Pixel, length: float) -> float:
    """Factor that puts the points of two pixels (u, v) this length apart."""
    check_scalable(result.camera, "distance (factor_to_distance)")
    LENGTHS.check("the distance between two points", length)
    points = result.points()
    one, other = (_place(points, pixel) for pixel in (first, second))
    apart = float(np.linalg.norm(points[one] - points[other]))
    if not apart > 0:
        raise InputError(
            f"the distance between the pixel {first} and itself",
            expected="two different pixels",
            remedy="Choose two that are far apart",
        )
    labels, placed = result.components.labels, _placed(result)
    one_label, other_label = labels[one], labels[other]
    if one_label != other_label and not (placed[one_label] and placed[other_label]):
        raise InputError(
            f"the pixels {first} and {second} lie in components that are not connected",
            expected="two pixels of one component: only these have a common scale",
            remedy="Choose another pixel, or give the depth of a point of each component",
        )
    return length / apart


def check_scalable(camera: Camera, what: str) -> None:
    """Raise InputError unless what this camera sees has a scale for such a length to tell."""
    if not camera.central:
        raise InputError(
            f"a {what} for a surface seen by parallel rays",
            expected="none: parallel rays have no scale to be found, their pixel_size is it",
            remedy="Leave it out: the depth is in the unit of the pixel_size "
            "(--camera orthographic:SIZE)",
        )


def _placed(result: Integration) -> BoolArray:
    """Whether known depths have placed each component (C,) of a result."""
    placed = np.zeros(result.components.count, dtype=np.bool_)
    anchored = result._solution.anchored
    if anchored is not None:
        graph = result._problem.graph  # of a diagonal one several components count as one
        nodes = anchored[graph.component_of_node]
        placed[graph.gather(result.components.labels)[nodes]] = True
    return placed


def _place(points: FloatArray, pixel: Pixel) -> tuple[int, int]:
    """Row and column of a pixel (u, v) that has a point, or an InputError."""
    height, width = points.shape[:2]
    place = nearest_pixel(*pixel, height, width)
    if place is None or not np.isfinite(points[place]).all():
        raise InputError(
            f"the pixel ({pixel[0]:g}, {pixel[1]:g}) has no depth",
            expected=f"column and row of a pixel inside the mask of the {width}x{height} image",
            remedy="Look the pixel up in the normal map, counted from 0",
        )
    return place
