"""The preview of a result: normals, surface, depth, jumps and error on one sheet."""

from __future__ import annotations

import os

import numpy as np

from rayrelief.cameras.view import View
from rayrelief.checks import instance_of
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import InputError
from rayrelief.io.images import write_png
from rayrelief.mesh import Mesh
from rayrelief.result import Integration
from rayrelief.shading import Image, paint_clay, paint_normals, shade_from_camera
from rayrelief.viewer.colours import (
    depth_scale,
    error_of,
    error_scale,
    jump_scale,
    paint_jumps,
)
from rayrelief.viewer.display import sampled_mesh
from rayrelief.viewer.rasterise import YAW_DEGREES, normals_of, oblique_view
from rayrelief.viewer.sheet import (
    Panel,
    in_rows,
)
from rayrelief.viewer.window import Window

HEIGHT = 480  # of a panel's picture, unless asked otherwise
SMALLEST_HEIGHT = 32
NARROWEST, WIDEST = 0.6, 1.4  # width of a panel over its height

RESULTS = instance_of(Integration, "an Integration", "Give what integrate returned")


def write_preview(
    path: str | os.PathLike[str], result: Integration, *, truth: FloatArray | None = None
) -> None:
    """Write the preview of a result as a PNG file; see ``render_preview``."""
    RESULTS.check("the result", result)
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
    rows, columns = Window.around(result.mask, longest_side=2 * height).shape
    width = round(height * min(max(columns / rows, NARROWEST), WIDEST))
    return in_rows(preview_panels(result, truth, height, width), height, width)


def preview_panels(
    result: Integration, truth: FloatArray | None, height: int, width: int
) -> list[Panel]:
    """Normals, surface, depth and jumps in the unit of ``result.depth``, error in that of a truth.

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
    window = Window.around(result.mask, longest_side=2 * height)
    jumps = window.largest(result.active_jumps())
    mesh, inside = _surface(result, window)
    last = (
        Panel("surface as the camera sees it", paint_clay(_frontal_view(result, mesh, inside)))
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


def _normal_panel(result: Integration, window: Window) -> Panel:
    return Panel("normals, the input", paint_normals(window.samples(result.input_normals)))


def _oblique_panels(mesh: Mesh, height: int, width: int) -> list[Panel]:
    """The surface from the left and from the right; none for points without faces."""
    return [
        Panel(f"surface from the {side}", paint_clay(oblique_view(mesh, height, width, yaw)))
        for side, yaw in (("left", -YAW_DEGREES), ("right", YAW_DEGREES))
        if len(mesh.faces)
    ]


def _surface(result: Integration, window: Window) -> tuple[Mesh, BoolArray]:
    """Mesh of the samples, and which of them (h, w) are its vertices, row by row."""
    if window.stride == 1:
        mesh = result.mesh()
    else:
        view, torn = View.of(result.camera, *result.depth.shape), result.torn_edges()
        mesh = sampled_mesh(view, result.depth, window, torn, result.input_normals)
    u, v = mesh.known_pixels().T
    seen = np.zeros(result.depth.shape, dtype=np.bool_)
    seen[v, u] = True
    return mesh, window.samples(seen)


def _frontal_view(result: Integration, mesh: Mesh, inside: BoolArray) -> FloatArray:
    """Brightness (h, w) of the surface as the camera sees it; NaN outside."""
    image = np.full(inside.shape, np.nan)
    central = result.camera.central
    image[inside] = shade_from_camera(mesh.vertices, normals_of(mesh), central=central)
    return image


def _depth_panel(result: Integration, window: Window) -> Panel:
    scale = depth_scale(result)
    picture = scale.paint(window.samples(result.depth))
    return Panel(f"depth, {result.depth_kind}", picture, scale)


def _jump_panel(jumps: FloatArray) -> Panel:
    scale = jump_scale(jumps)
    caption = "no jumps" if scale is None else "jumps of the depth"
    return Panel(caption, paint_jumps(jumps), scale)


def _error_panel(result: Integration, truth: FloatArray, window: Window) -> Panel:
    """Error in the unit of the truth, as a summary tells it, and as a share of its depth."""
    error = error_of(result, truth)
    both, scale = np.isfinite(error), error_scale(error)
    depth = truth[both]
    # Without a centre the depth has no zero to be measured from.
    whole, of = (
        (depth.mean(), "depth") if result.camera.central else (np.ptp(depth), "depth's range")
    )
    mean = error[both].mean()
    share = f", {100 * mean / whole:.2g} % of the {of}" if whole else ""
    return Panel(
        f"error in the unit of the truth: mean {mean:.2g}{share}",
        scale.paint(window.samples(error)),
        scale,
    )
