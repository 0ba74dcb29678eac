"""The picture of a camera: where its pixels look, how finely, and which of them see nothing."""

from __future__ import annotations

import os

import numpy as np

from rayrelief.cameras.base import Camera
from rayrelief.cameras.survey import off_axis, ray_grid
from rayrelief.conventions import FloatArray, from_opencv
from rayrelief.io.images import write_png
from rayrelief.shading import PAPER, Image
from rayrelief.viewer.sheet import INK, ColourScale, Panel, colour_table, in_rows

LONGEST_SIDE = 480  # pixels of a panel
CONTOUR_STEPS = (1, 2, 5, 10, 15, 30)  # degrees
MOST_CONTOURS = 8


def write_ray_picture(
    path: str | os.PathLike[str], camera: Camera, height: int, width: int
) -> None:
    """Write the picture of a camera as a PNG file; see ``draw_rays``."""
    write_png(path, draw_rays(camera, height, width))


def draw_rays(camera: Camera, height: int, width: int) -> Image:
    """Angle off the axis, direction and angular size of the pixels of a camera; RGB (H, W, 3).

    Pixels without a ray stay blank.
    """
    camera.check_resolution(height, width)
    stride = -(-max(height, width) // LONGEST_SIDE)
    rows, columns = (np.arange(0, count, stride, dtype=float) for count in (height, width))
    seen = ray_grid(camera, rows, columns)
    panels = [angle_panel(seen), direction_panel(seen)]
    if camera.central and width > 1:
        left = columns[columns + 1 < width]
        panels.append(fineness_panel(seen[:, : len(left)], ray_grid(camera, rows, left + 1)))
    tall = round(LONGEST_SIDE * height / max(height, width))
    wide = round(LONGEST_SIDE * width / max(height, width))
    return in_rows(panels, max(tall, 60), max(wide, 120))


def angle_panel(unit: FloatArray) -> Panel:
    """Angle off the axis of unit rays (H, W, 3), with lines where it is a round number."""
    angle = np.degrees(off_axis(unit))
    widest = float(np.nanmax(angle))
    scale = ColourScale(colour_table("viridis"), 0.0, max(widest, 1e-9))
    picture = scale.paint(angle)
    step = next((s for s in CONTOUR_STEPS if widest / s <= MOST_CONTOURS), CONTOUR_STEPS[-1])
    level = np.floor(angle / step)
    line = np.zeros(level.shape, dtype=np.bool_)
    line[:, 1:] |= np.abs(np.diff(level, axis=1)) > 0
    line[1:] |= np.abs(np.diff(level, axis=0)) > 0
    picture[line] = INK
    return Panel(f"degrees off the axis, a line every {step}", picture, scale)


def direction_panel(unit: FloatArray) -> Panel:
    """Unit rays (H, W, 3) as colours, as normal maps are painted."""
    colours = np.nan_to_num(0.5 * from_opencv(unit, "RUF") + 0.5)
    picture = (colours * 255 + 0.5).astype(np.uint8)
    picture[np.isnan(unit[..., 0])] = PAPER
    return Panel("direction: right red, up green, forward blue", picture)


def fineness_panel(unit: FloatArray, right: FloatArray) -> Panel:
    """Angle from unit rays (H, W, 3) to those of the pixels to their right."""
    chord = np.linalg.norm(right - unit, axis=-1)
    arc = 60 * np.degrees(2 * np.arcsin(np.minimum(chord / 2, 1.0)))
    finite = arc[np.isfinite(arc)]
    # Next to a fold pixels become as narrow as they like: they must not take all the colours.
    low, high = np.percentile(finite, (2, 98)) if finite.size else (0.0, 1.0)
    scale = ColourScale(colour_table("magma"), float(low), float(max(high, low * (1 + 1e-9))))
    return Panel("width of a pixel in minutes of arc", scale.paint(arc), scale)
