"""A depth as a body that can be printed: closed along the rays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from rayrelief.cameras.view import View
from rayrelief.checks import LENGTHS, require
from rayrelief.conventions import FloatArray
from rayrelief.graph import pixel_graph
from rayrelief.mesh import Mesh
from rayrelief.mesh.base import Pixels
from rayrelief.mesh.cleaning import used_vertices
from rayrelief.mesh.closing import closed, without_pinches
from rayrelief.mesh.units import UNITS, Unit
from rayrelief.surface import grid_faces

# A rim may end in pixels of any depth: the deepest thousandth counts up to this part of the height.
DEEPEST, BEYOND = 0.999, 0.1
MOST_AROUND = 50  # pixels to each side among which the outside of a wall looks for the farthest


def solid_mesh(
    view: View,
    depth: FloatArray,
    surface: Pixels,
    width: float,
    base: float,
    unit: Unit,
    min_part: int,
) -> Mesh:
    """Body of the pixels (V, 2) of a clean surface that have a depth (H, W).

    Its base is at z = 0; the camera in a wall around it at the origin.
    """
    for name, length in (("width", width), ("base", base)):
        LENGTHS.check(name, length)
    UNITS.check("unit", unit)
    filled = _filled(depth, surface, view.wraps)
    inside = np.isfinite(filled)
    vertices = view.points(filled)[inside]
    no_cut = np.zeros(inside.shape, dtype=np.bool_)
    faces = grid_faces(vertices, inside, no_cut, no_cut, wraps=view.wraps)
    used, faces = used_vertices(without_pinches(faces, len(vertices), min_part), len(vertices))
    require(len(faces), "no four pixels of the surface are joined", "a surface", "Check the mask")
    pixels = np.argwhere(inside)[used][:, ::-1].astype(np.int32)
    vertices = vertices[used]
    back: Callable[[float], FloatArray]
    if view.kind == "distance":
        rough = width / float(np.ptp(vertices[:, 0]))
        farthest = _farthest_around(view, pixels, np.linalg.norm(vertices, axis=1), base, rough)
        back = partial(_wall, vertices, farthest, base)
    else:
        vertices = _levelled(vertices, view.camera.central)
        back = partial(_base, vertices, base, view.camera.central)
    scale = _scale(vertices, back, width, base)
    body, faces = closed(scale * vertices, back(scale), faces)
    if view.kind != "distance":
        low, high = body.min(axis=0), body.max(axis=0)
        body -= (*(low + high)[:2] / 2, high[2])
    both = np.concatenate((pixels, pixels))
    return Mesh(body, faces, pixels=both, wraps=view.wraps, unit=unit, solid=True)


def _base(vertices: FloatArray, thickness: float, central: bool, scale: float) -> FloatArray:
    """Flat back (V, 3) of vertices scaled by a factor, so thick behind the deepest of them."""
    points = scale * vertices
    deepest = points[:, 2].max() + thickness
    if central:
        points *= deepest / points[:, 2:]
    else:
        points[:, 2] = deepest
    return points


def _wall(vertices: FloatArray, farthest: FloatArray, thickness: float, scale: float) -> FloatArray:
    """Back (V, 3) of scaled vertices, so thick behind the farthest (V,) around each of them."""
    distance: FloatArray = np.linalg.norm(vertices, axis=1)
    factor: FloatArray = (scale * farthest + thickness) / distance
    return vertices * factor[:, None]


def _filled(depth: FloatArray, surface: Pixels, wraps: bool) -> FloatArray:
    """Depth (H, W) of a surface; pixels that it left out get that of the nearest one that it has.

    Only within parts of the mask that it has something of. Both go on over the seam of a panorama.
    """
    from scipy.ndimage import distance_transform_edt

    kept = np.zeros(depth.shape, dtype=np.bool_)
    kept[surface[:, 1], surface[:, 0]] = True
    graph = pixel_graph(np.isfinite(depth), wraps=wraps)
    parts = graph.scatter(graph.component_of_node, fill=-1)
    wanted = np.isin(parts, np.unique(parts[kept]))
    width = depth.shape[1]
    beside = width // 2 if wraps else 0  # no pixel of a panorama is farther to the side
    far = np.pad(~kept, ((0, 0), (beside, beside)), mode="wrap")
    nearest = distance_transform_edt(far, return_distances=False, return_indices=True)
    rows, columns = nearest[:, :, beside : beside + width]
    return np.where(wanted, depth[rows, (columns - beside) % width], np.nan)


def _levelled(vertices: FloatArray, central: bool) -> FloatArray:
    """Vertices (V, 3), those that lie far below all others moved up along their rays."""
    z = vertices[:, 2]
    high, low = np.quantile(z, (1 - DEEPEST, DEEPEST))
    level = np.minimum(z, low + BEYOND * (low - high))
    levelled = vertices.copy()
    if central:
        levelled *= (level / z)[:, None]
    else:
        levelled[:, 2] = level
    return levelled


def _farthest_around(
    view: View, pixels: Pixels, distance: FloatArray, thickness: float, scale: float
) -> FloatArray:
    """Largest distance (V,) around each pixel, as far to its sides as a wall is thick.

    A wall behind a jump, which runs along the rays, would be as thin as a pixel without it.
    """
    from scipy.ndimage import maximum_filter

    image = np.full((view.height, view.width), -np.inf)
    image[pixels[:, 1], pixels[:, 0]] = distance
    footprint = np.nanmedian(view.footprint(np.where(image > 0, image, np.nan)))
    around = int(np.clip(np.rint(thickness / (scale * footprint)), 1, MOST_AROUND))
    modes = ("nearest", "wrap" if view.wraps else "nearest")
    largest: FloatArray = maximum_filter(image, size=2 * around + 1, mode=modes)
    return largest[pixels[:, 1], pixels[:, 0]]


def _scale(
    vertices: FloatArray, back: Callable[[float], FloatArray], width: float, base: float
) -> float:
    """Factor of the vertices with which their body is so wide."""
    from scipy.optimize import brentq

    def too_wide(scale: float) -> float:
        x = np.concatenate((scale * vertices[:, 0], back(scale)[:, 0]))
        return float(np.ptp(x)) - width

    most = 1.001 * width / float(np.ptp(vertices[:, 0]))
    least = 1e-6 * most
    require(
        too_wide(least) < 0,
        f"a width of {width:g} with a base of {base:g}",
        "a base much thinner than the body is wide",
        "Make the body wider, or its base thinner",
    )
    return float(brentq(too_wide, least, most, xtol=1e-12 * most))
