"""A sheet with the surfaces of many maps, each with its name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rayrelief.io.images import read_picture
from rayrelief.shading import PAPER, Image
from rayrelief.viewer.preview import HEIGHT
from rayrelief.viewer.sheet import Panel, in_rows, picture_in_first_row, scaled

SIDE = 3600  # pixels of a sheet, about, unless pictures would be too small or too large
SMALLEST, LARGEST = 48, 240  # pixels of a picture
SURFACE = 1  # number of the panel with the surface from the left


def picture_side(count: int) -> int:
    """Pixels of each picture on a sheet of so many."""
    return min(max(SIDE // max(1, math.isqrt(count)), SMALLEST), LARGEST)


def thumbnail(preview: Path, side: int) -> Image:
    """Surface out of the preview of a result, at most so many pixels wide and high."""
    surface = picture_in_first_row(read_picture(preview), SURFACE, HEIGHT)
    return scaled(surface, min(1.0, side / max(surface.shape[:2])))


def contact_sheet(entries: Sequence[tuple[str, Image | None]]) -> Image:
    """Sheet with a picture for each name; an empty one where there is none."""
    side, columns = picture_side(len(entries)), math.ceil(math.sqrt(len(entries)))
    empty = np.full((side, side, 3), PAPER, np.uint8)
    panels = [Panel(name, empty if picture is None else picture) for name, picture in entries]
    return in_rows(panels, side, side, columns)
