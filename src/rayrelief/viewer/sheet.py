"""Panels in rows on one sheet: pictures with captions and colour bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import FloatArray
from rayrelief.shading import PAPER, Image, paint

ColourMap = Literal["viridis", "inferno", "magma"]

INK = (52, 56, 64)
LESS, MORE = "\N{LESS-THAN OR EQUAL TO}", "\N{GREATER-THAN OR EQUAL TO}"

PER_ROW = 3
_TEXT_SAMPLES = 4  # OpenCV's stroke fonts look clean when they are drawn larger and scaled down


@dataclass(frozen=True, eq=False)
class ColourScale:
    """Colours (256, 3) of the values from low to high; values beyond take the last colour.

    The words stand at the two ends of its bar, beside the numbers; an end beyond which there are
    values is clipped, and says so.
    """

    colours: Image
    low: float
    high: float
    words: tuple[str, str] = ("", "")
    clipped: tuple[bool, bool] = (False, False)

    @property
    def ends(self) -> tuple[str, str]:
        """Numbers of both ends, with a sign where values lie beyond."""
        low, high = format_range(self.low, self.high)
        return f"{LESS} {low}" * self.clipped[0] or low, f"{MORE} {high}" * self.clipped[1] or high

    def paint(self, values: FloatArray) -> Image:
        """Picture (H, W, 3) of values (H, W); paper where they are NaN."""
        span = self.high - self.low
        level = (values - self.low) / span if span > 0 else np.where(np.isnan(values), values, 0.5)
        return paint(level, self.colours)


@dataclass(frozen=True, eq=False)
class Panel:
    """A picture of any size with its caption, and the scale of its colours if they mean numbers."""

    caption: str
    picture: Image
    scale: ColourScale | None = None


def colour_table(name: ColourMap, first: int = 0, last: int = 255) -> Image:
    """Table (256, 3), RGB, of the part of a colour map from its first to its last entry."""
    import cv2

    maps = {
        "viridis": cv2.COLORMAP_VIRIDIS,
        "inferno": cv2.COLORMAP_INFERNO,
        "magma": cv2.COLORMAP_MAGMA,
    }
    entries = np.linspace(first, last, 256).round().astype(np.uint8)
    table: Image = cv2.applyColorMap(entries, maps[name]).reshape(256, 3)
    return table[:, ::-1]


def in_rows(panels: Sequence[Panel], height: int, width: int, per_row: int = PER_ROW) -> Image:
    """Sheet with panels in rows, their pictures fitted into height x width pixels each."""
    margin, line = _spacing(height)
    rows = [panels[first : first + per_row] for first in range(0, len(panels), per_row)]
    total = margin + len(rows[0]) * (width + margin)
    strips = [np.full((margin, total, 3), PAPER, np.uint8)]
    for row in rows:
        bars = 3 * line if any(panel.scale is not None for panel in row) else line
        strip = np.full((2 * line + height + bars, total, 3), PAPER, np.uint8)
        middle = (len(rows[0]) - len(row)) * (width + margin) // 2  # the last row may be shorter
        for number, panel in enumerate(row):
            left = margin + middle + number * (width + margin)
            _draw_panel(strip[:, left : left + width], panel, height, line)
        strips.append(strip)
    return np.concatenate(strips)


def picture_in_first_row(sheet: Image, number: int, height: int) -> Image:
    """Picture of a panel out of a sheet of rows that are full."""
    margin, line = _spacing(height)
    width = (sheet.shape[1] - margin) // PER_ROW - margin
    top, left = margin + 2 * line, margin + number * (width + margin)
    return sheet[top : top + height, left : left + width]


def _spacing(height: int) -> tuple[int, int]:
    """Margin, and height of a line of text, beside pictures of a height."""
    return max(4, height // 20), max(8, height // 16)


def _draw_panel(box: Image, panel: Panel, height: int, line: int) -> None:
    """Fill a box with the caption, the picture and the colour bar of a panel."""
    top, below = 2 * line, 2 * line + height + line // 2
    _write(box[:top], panel.caption, line, "left")
    _place(box[top : top + height], panel.picture)
    if panel.scale is not None:
        _draw_scale(box[below : below + 2 * line], panel.scale, line)


def scaled(picture: Image, factor: float, *, mixed: bool = True) -> Image:
    """Picture with sides by a factor longer, at least a pixel each; its colours may be mixed."""
    import cv2

    height, width = (max(1, round(factor * side)) for side in picture.shape[:2])
    enlarging = cv2.INTER_LINEAR if mixed and factor <= 4 else cv2.INTER_NEAREST  # or few pixels
    way = cv2.INTER_AREA if mixed and factor < 1 else enlarging
    larger: Image = cv2.resize(picture, (width, height), interpolation=way)
    return larger


def format_range(low: float, high: float) -> tuple[str, str]:
    """Both numbers with as few digits as tell them apart, at least three."""
    for digits in range(3, 9):
        texts = f"{low:.{digits}g}", f"{high:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


def _place(box: Image, picture: Image) -> None:
    """Fit a picture into the middle of a box, keeping its shape."""
    fitted = scaled(picture, min(box.shape[0] / picture.shape[0], box.shape[1] / picture.shape[1]))
    height, width = fitted.shape[:2]
    top, left = (box.shape[0] - height) // 2, (box.shape[1] - width) // 2
    box[top : top + height, left : left + width] = fitted


def _draw_scale(box: Image, scale: ColourScale, line: int) -> None:
    """Colour bar with a number at either end, and a word if it has one."""
    columns = np.linspace(0, 255, box.shape[1]).round().astype(np.intp)
    bar = line // 2
    box[:bar] = scale.colours[columns]
    for side, word, number in zip(("left", "right"), scale.words, scale.ends, strict=True):
        _write(box[bar:], f"{word} {number}".strip(), line, side)


def _write(box: Image, text: str, line: int, side: str) -> None:
    """Write a line of text at the top of a box, smaller where it would not fit."""
    import cv2

    signs = [number for number, letter in enumerate(text) if letter in (LESS, MORE)]
    text = text.replace(LESS, "<").replace(MORE, ">")  # OpenCV's fonts have ASCII alone
    font, thickness = cv2.FONT_HERSHEY_SIMPLEX, max(1, _TEXT_SAMPLES * line // 14)
    size = cv2.getFontScaleFromHeight(font, int(0.55 * _TEXT_SAMPLES * line), thickness)
    (needed, _), _ = cv2.getTextSize(text, font, size, thickness)
    room = _TEXT_SAMPLES * box.shape[1]
    size *= min(1.0, room / max(needed, 1))
    (needed, _), _ = cv2.getTextSize(text, font, size, thickness)
    large: npt.NDArray[Any] = np.zeros((_TEXT_SAMPLES * box.shape[0], room), np.uint8)
    start = 0 if side == "left" else room - needed
    cv2.putText(large, text, (start, _TEXT_SAMPLES * line), font, size, 255, thickness, cv2.LINE_AA)
    for sign in signs:
        ends = (cv2.getTextSize(text[:n], font, size, thickness)[0][0] for n in (sign, sign + 1))
        first, last = (start + end for end in ends)
        below = _TEXT_SAMPLES * line + 2 * thickness
        cv2.line(large, (first, below), (last, below), 255, thickness, cv2.LINE_AA)
    cover = cv2.resize(large, box.shape[1::-1], interpolation=cv2.INTER_AREA)[..., None] / 255
    box[:] = np.round(box * (1 - cover) + np.array(INK) * cover)
