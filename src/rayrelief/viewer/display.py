"""What is drawn of a result: fewer samples, cut at its jumps, in the colours of a layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.mesh import Mesh
from rayrelief.mesh.cleaning import around, shreds, specks, used_vertices
from rayrelief.mesh.normals import vertex_normals
from rayrelief.meshing import CUT, LONGEST, MIN_PART
from rayrelief.shading import CLAY, Image, paint_normals
from rayrelief.surface import grid_faces
from rayrelief.viewer.colours import (
    depth_scale,
    error_scale,
    jump_scale,
    paint_jumps,
)
from rayrelief.viewer.finished import Finished
from rayrelief.viewer.sheet import ColourScale, colour_table, format_range
from rayrelief.viewer.window import Window

LONGEST_SIDE = 600  # samples: 700,000 triangles are drawn fluently by any graphics chip
FLOATING = (214, 40, 40)
STRIPES = 40  # across the longer side of the image


def display_mesh(shown: Finished, cut: float = CUT) -> tuple[Mesh, int]:
    """Mesh of a result to be looked at, and every how many pixels it has a vertex.

    It is cut as the mesh of the result is, at jumps of more than ``cut`` pixel footprints. Without
    a layer of jumps those are places where an edge is longer than ten times as much.
    """
    window = Window.around(shown.mask, LONGEST_SIDE)
    inside: BoolArray = window.samples(shown.mask)
    points = window.samples(shown.view.points(shown.depth))
    limit = cut * window.samples(shown.view.footprint(shown.depth))
    if shown.layers.jumps is None:
        jumps, limit = _edges(points), LONGEST / CUT * window.stride * limit
    else:
        jumps = window.largest(shown.layers.jumps)
    torn = jumps > limit
    whole = window.shape[1] * window.stride >= shown.depth.shape[1]
    wraps = shown.view.wraps and whole
    vertices = points[inside]
    faces = grid_faces(vertices, inside, torn, torn, wraps=wraps)
    if shown.layers.normals is not None:
        given = window.samples(shown.layers.normals)[inside].astype(np.float64)
        beside = _widened(torn)
        parallel = shown.view.origins is not None
        faces = faces[
            ~shreds(
                vertices,
                faces,
                given,
                beside[inside],
                around(beside)[inside],
                parallel=parallel,
            )
        ]
    small, _ = specks(faces, len(vertices), max(MIN_PART // window.stride**2, 2))
    used, faces = used_vertices(faces[~small], len(vertices))
    rows, columns = np.nonzero(inside)
    at_row, at_column = window.rows.start, window.columns.start
    pixels = np.stack(
        (at_column + window.stride * columns, at_row + window.stride * rows), axis=1
    ).astype(np.int32)[used]
    vertices = vertices[used]
    normals = vertex_normals(vertices, faces)
    return Mesh(vertices, faces, normals, pixels=pixels, wraps=wraps), window.stride


def _edges(points: FloatArray) -> FloatArray:
    """Longer one of the edges (h, w) from points (h, w, 3) to the next right and below."""
    longest = np.zeros(points.shape[:2])
    for axis in (0, 1):
        length = np.linalg.norm(np.diff(points, axis=axis), axis=-1)
        here = longest[:-1] if axis == 0 else longest[:, :-1]
        np.fmax(here, length, out=here)
    return longest


def _widened(torn: BoolArray) -> BoolArray:
    """Also the samples right of and below those (h, w) that are torn from them."""
    wide = torn.copy()
    wide[1:] |= torn[:-1]
    wide[:, 1:] |= torn[:, :-1]
    return wide


@dataclass(frozen=True, eq=False)
class Colouring:
    """Colours (H, W, 3) of the pixels of a result, and what they mean."""

    picture: Image
    words: str
    scale: ColourScale | None = None

    @property
    def label(self) -> str:
        """What the colours mean, and from where to where they reach."""
        if self.scale is None:
            return self.words
        return f"{self.words}, {' to '.join(format_range(self.scale.low, self.scale.high))}"


def colourings(
    shown: Finished, photo: Image | None = None, beside: Sequence[Finished] = ()
) -> dict[str, Callable[[], Colouring]]:
    """Ways to colour a result by their names: those that it has the layers for.

    Errors have the same colours as those of the results beside it.
    """
    layers = shown.layers
    errors = [each.layers.error for each in (shown, *beside) if each.layers.error is not None]
    known = {
        "clay": (shown.depth, _clay),
        "normals": (layers.normals, _normals),
        "depth": (shown.depth, lambda _: _scaled(shown.depth, depth_scale(shown), "depth")),
        "jumps": (layers.jumps, _jumps),
        "segments": (layers.segments, lambda labels: _segments(labels, layers.floating)),
        "weights": (layers.weights, _weights),
        "error": (layers.error, lambda error: _scaled(error, error_scale(*errors), "error")),
        "photo": (photo, lambda picture: Colouring(picture, "the photo")),
    }
    return {
        name: (lambda image=image, paint=paint: paint(image))  # type: ignore[misc]
        for name, (image, paint) in known.items()
        if image is not None
    }


def _clay(depth: FloatArray) -> Colouring:
    return Colouring(np.full((*depth.shape, 3), CLAY, np.uint8), "")


def _normals(normals: FloatArray) -> Colouring:
    words = "normals of the input: right red, up green, towards the camera blue"
    return Colouring(paint_normals(normals.astype(np.float64)), words)


def _scaled(values: FloatArray, scale: ColourScale, words: str) -> Colouring:
    return Colouring(scale.paint(values), words, scale)


def _jumps(jumps: FloatArray) -> Colouring:
    scale = jump_scale(jumps)
    words = "no jumps" if scale is None else "jumps of the depth"
    return Colouring(paint_jumps(jumps), words, scale)


def _weights(weights: FloatArray) -> Colouring:
    scale = ColourScale(colour_table("viridis"), 0.0, float(np.nanmax(weights)))
    return _scaled(weights.astype(np.float64), scale, "smallest weight around a pixel")


def _segments(labels: FloatArray, floating: BoolArray | None) -> Colouring:
    """A colour for each label; floating ones have red stripes."""
    import cv2

    count = int(labels.max()) + 1
    hues = 180 * ((np.arange(count) * 0.618034 + 0.55) % 1.0)  # neighbouring numbers differ most
    hsv = np.stack((hues, np.full(count, 90), np.full(count, 235)), axis=1).astype(np.uint8)
    colours = cv2.cvtColor(hsv[None], cv2.COLOR_HSV2RGB)[0]
    picture = np.vstack((colours, np.array([CLAY], np.uint8)))[labels]
    words = f"{count} part{'s' * (count != 1)}"
    if floating is not None and floating.any():
        afloat = len(np.unique(labels[floating]))
        pixels = int(np.count_nonzero(floating))
        v, u = np.indices(labels.shape)
        width = max(max(labels.shape) // STRIPES // 2, 1)
        picture[floating & (((u + v) // width) % 2 == 0)] = FLOATING
        words += (
            f"; {afloat} of them float ({pixels:,} pixels): nothing tells their depth (red stripes)"
        )
    return Colouring(picture, words)
