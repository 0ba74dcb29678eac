"""The preview of a result: normals, surface, depth, jumps and error on one sheet."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import InputError
from rayrelief.io.images import write_png
from rayrelief.mesh import Mesh
from rayrelief.result import Integration
from rayrelief.surface import grid_mesh
from rayrelief.viewer.colours import depth_scale, error_of, error_scale, paint_normals
from rayrelief.viewer.rasterise import YAW_DEGREES, normals_of, oblique_view, shade
from rayrelief.viewer.sheet import (
    ColourScale,
    Image,
    Panel,
    colour_table,
    in_rows,
    paint,
)

HEIGHT = 480  # of a panel's picture, unless asked otherwise
SMALLEST_HEIGHT = 32
NARROWEST, WIDEST = 0.6, 1.4  # width of a panel over its height

_CLAY = (236, 224, 208)


def write_preview(
    path: str | os.PathLike[str], result: Integration, *, truth: FloatArray | None = None
) -> None:
    """Write the preview of a result as a PNG file; see ``render_preview``."""
    write_png(path, render_preview(result, truth=truth))


def render_preview(
    result: Integration, *, truth: FloatArray | None = None, height: int = HEIGHT
) -> Image:
    """Preview (H, W, 3) of a result as an RGB image: the panels of ``preview_panels`` in rows.

    Parameters
    ----------
    result
        What ``integrate`` returned.
    truth
        (H, W) true depth of the same kind as ``result.depth``, NaN where unknown: adds a panel.
    height
        Pixels of each panel's picture, without captions and margins.
    """
    rows, columns = _Window.around(result.mask, longest_side=2 * height).shape
    width = round(height * min(max(columns / rows, NARROWEST), WIDEST))
    return in_rows(preview_panels(result, truth, height, width), height, width)


def preview_panels(
    result: Integration, truth: FloatArray | None, height: int, width: int
) -> list[Panel]:
    """Normals, surface, depth, jumps and error, all lengths in the unit of ``result.depth``.

    Without a truth the last panel is the surface as the camera sees it.

    Parameters
    ----------
    result
        What ``integrate`` returned.
    truth
        (H, W) true depth of the same kind in any unit, NaN where unknown; None: no error.
    height, width
        Pixels of each panel on the sheet; its picture may have more, or fewer.
    """
    if height < SMALLEST_HEIGHT:
        raise InputError(
            f"the preview height is {height} pixels",
            expected=f"at least {SMALLEST_HEIGHT}",
            remedy="Leave height out for 480",
        )
    window = _Window.around(result.mask, longest_side=2 * height)
    jumps = window.largest(result.active_jumps())
    mesh, inside = _surface(result, window, jumps)
    last = (
        Panel("surface as the camera sees it", clay(_frontal_view(result, mesh, inside)))
        if truth is None
        else _error_panel(result, truth, window)
    )
    return [
        _normal_panel(result, window),
        *_oblique_panels(mesh, height, width),
        _depth_panel(result, window),
        _jump_panel(jumps),
        last,
    ]


@dataclass(frozen=True)
class _Window:
    """The part of the image that is shown: rows and columns, and every how many pixels of them."""

    rows: slice
    columns: slice
    stride: int

    @classmethod
    def around(cls, mask: BoolArray, longest_side: int) -> _Window:
        """Bounding box of a mask (H, W) with a little margin, in at most so many samples."""
        spans = []
        for axis in (1, 0):
            inside = np.flatnonzero(mask.any(axis=axis))
            low, high = int(inside[0]), int(inside[-1]) + 1
            border = (high - low) // 40
            spans.append((max(0, low - border), min(mask.shape[1 - axis], high + border)))
        stride = -(-max(high - low for low, high in spans) // longest_side)
        rows, columns = (slice(*span, stride) for span in spans)
        return cls(rows, columns, stride)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of samples."""
        rows, columns = (
            len(range(side.start, side.stop, side.step)) for side in (self.rows, self.columns)
        )
        return rows, columns

    def samples(self, image: FloatArray) -> FloatArray:
        """Samples (h, w, ...) of an image (H, W, ...)."""
        return image[self.rows, self.columns]

    def largest(self, image: FloatArray) -> FloatArray:
        """(h, w): largest value between each sample and the next; NaN where there is none."""
        every = image[self.rows.start : self.rows.stop, self.columns.start : self.columns.stop]
        rows, columns = self.shape
        padded = np.full((rows * self.stride, columns * self.stride), np.nan)
        padded[: every.shape[0], : every.shape[1]] = every
        blocks = padded.reshape(rows, self.stride, columns, self.stride)
        values: FloatArray = np.fmax.reduce(np.fmax.reduce(blocks, axis=3), axis=1)
        return values


def _normal_panel(result: Integration, window: _Window) -> Panel:
    return Panel("normals, the input", paint_normals(window.samples(result.input_normals)))


def _oblique_panels(mesh: Mesh, height: int, width: int) -> list[Panel]:
    """The surface from the left and from the right; none for points without faces."""
    return [
        Panel(f"surface from the {side}", clay(oblique_view(mesh, height, width, yaw)))
        for side, yaw in (("left", -YAW_DEGREES), ("right", YAW_DEGREES))
        if len(mesh.faces)
    ]


def _surface(result: Integration, window: _Window, jumps: FloatArray) -> tuple[Mesh, BoolArray]:
    """Mesh of the samples, and which of them (h, w) are its vertices, row by row."""
    if window.stride == 1:
        mesh = result.mesh()
        u, v = mesh.known_pixels().T
        seen = np.zeros(result.depth.shape, dtype=np.bool_)
        seen[v, u] = True
        return mesh, seen[window.rows, window.columns]
    inside: BoolArray = result.mask[window.rows, window.columns]
    points = window.samples(result.points())
    sides = [np.linalg.norm(np.diff(points, axis=axis), axis=-1).ravel() for axis in (0, 1)]
    cells = np.concatenate(sides)
    cells = cells[np.isfinite(cells)]
    # At this scale a jump deserves a gap if it is wider than two typical cells.
    cut = jumps > 2 * (np.median(cells) if cells.size else np.inf)
    return grid_mesh(points, inside, cut, cut), inside


def _frontal_view(result: Integration, mesh: Mesh, inside: BoolArray) -> FloatArray:
    """Brightness (h, w) of the surface as the camera sees it; NaN outside."""
    towards_eye = np.array([[0.0, 0.0, -1.0]])
    if result.camera.central:
        towards_eye = -mesh.vertices / np.linalg.norm(mesh.vertices, axis=-1, keepdims=True)
    image = np.full(inside.shape, np.nan)
    image[inside] = shade(normals_of(mesh), towards_eye)
    return image


def clay(brightness: FloatArray) -> Image:
    """Picture (H, W, 3) of the brightness (H, W) of a surface; paper where it is NaN."""
    colours = np.linspace(0, 1, 256)[:, None] * _CLAY
    return paint(brightness, colours.round().astype(np.uint8))


def _depth_panel(result: Integration, window: _Window) -> Panel:
    scale = depth_scale(result)
    picture = scale.paint(window.samples(result.depth))
    return Panel(f"depth, {result.depth_kind}", picture, scale)


def _jump_panel(jumps: FloatArray) -> Panel:
    sizes = jumps[jumps > 0]
    high = float(np.percentile(sizes, 95)) if sizes.size else 0.0
    scale = ColourScale(colour_table("inferno", 205, 0), 0.0, high)
    picture = scale.paint(jumps)
    picture[jumps == 0] = 255
    return Panel("jumps of the depth", picture, scale) if sizes.size else Panel("no jumps", picture)


def _error_panel(result: Integration, truth: FloatArray, window: _Window) -> Panel:
    """Error in the unit of the depth beside it: the truth is aligned with the depth."""
    error = error_of(result, truth)
    both, scale = np.isfinite(error), error_scale(error)
    depth = result.depth[both]
    # Without a centre the depth has no zero to be measured from.
    whole, of = (
        (depth.mean(), "depth") if result.camera.central else (np.ptp(depth), "depth's range")
    )
    mean = error[both].mean()
    share = f", {100 * mean / whole:.2g} % of the {of}" if whole else ""
    return Panel(f"error: mean {mean:.2g}{share}", scale.paint(window.samples(error)), scale)
