"""What is drawn of a result: fewer samples, cut at its jumps, in the colours of a layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rayrelief.cameras.view import View
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import in_number
from rayrelief.mesh import Mesh
from rayrelief.meshing import CUT, LONGEST, MIN_PART, Cuts, TornEdges, clean_mesh
from rayrelief.methods.base import SMALLEST
from rayrelief.shading import CLAY, Image, paint_normals
from rayrelief.viewer.colours import (
    depth_scale,
    error_scale,
    jump_scale,
    paint_jumps,
)
from rayrelief.viewer.finished import Finished
from rayrelief.viewer.sheet import ColourScale, colour_table
from rayrelief.viewer.window import Window

ERROR = "error in the unit of the truth"
LONGEST_SIDE = 600  # samples: 700,000 triangles are drawn fluently by any graphics chip
FLOATING = (214, 40, 40)
STRIPES = 40  # across the longer side of the image


def display_mesh(
    shown: Finished, cut: float = CUT, longest_side: int = LONGEST_SIDE
) -> tuple[Mesh, int]:
    """Mesh of a result to be looked at, and every how many pixels it has a vertex.

    It is cut as the mesh of the result is, at jumps of more than ``cut`` pixel footprints. Where
    these are not known, at edges that are longer than ten times as much.
    """
    window = Window.around(shown.mask, longest_side)
    torn, normals = shown.layers.torn_edges(shown.depth.shape), shown.layers.normals
    return sampled_mesh(shown.view, shown.depth, window, torn, normals, cut), window.stride


def sampled_mesh(
    view: View,
    depth: FloatArray,
    window: Window,
    torn: TornEdges | None,
    normals: FloatArray | None,
    cut: float = CUT,
) -> Mesh:
    """Mesh of the samples of a depth (H, W), cut where it is torn; its pixels are those."""
    points = window.samples(view.points(depth))
    wraps = view.wraps and window.shape[1] * window.stride >= depth.shape[1]
    if torn is None:
        usual = window.stride * window.samples(view.footprint(depth))
        long = _edges(points) > LONGEST / CUT * cut * usual
        cuts = Cuts(long, long, None, _widened(long))
    else:
        cuts = torn.sampled(window.rows, window.columns).cuts(cut, wraps=wraps)
    inside = np.isfinite(points[..., 2])
    mesh = clean_mesh(
        points[inside],
        inside,
        None if normals is None else window.samples(normals),
        cuts,
        max(MIN_PART // window.stride**2, 2),
        parallel=view.origins is not None,
        wraps=wraps,
    )
    first = np.array((window.columns.start, window.rows.start), dtype=np.int32)
    return replace(mesh, pixels=first + np.int32(window.stride) * mesh.known_pixels())


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
        return f"{self.words}, {' to '.join(self.scale.ends)}"


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
        "error": (layers.error, lambda error: _scaled(error, error_scale(*errors), ERROR)),
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
    large = int(np.count_nonzero(np.bincount(labels[labels >= 0]) >= SMALLEST))
    words = in_number(large, "part")
    if specks := count - large:
        words += f" and {in_number(specks, 'speck')}"
    if floating is not None and floating.any():
        afloat = len(np.unique(labels[floating]))
        pixels = int(np.count_nonzero(floating))
        v, u = np.indices(labels.shape)
        width = max(max(labels.shape) // STRIPES // 2, 1)
        picture[floating & (((u + v) // width) % 2 == 0)] = FLOATING
        words += (
            f"; {in_number(afloat, 'of them floats', 'of them float')} "
            f"({in_number(pixels, 'pixel')}): nothing tells their depth (red stripes)"
        )
    return Colouring(picture, words)
