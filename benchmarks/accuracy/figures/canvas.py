"""Sheets of pictures and plots with one look, written as the same bytes each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.io.atomic import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

# Palettes for the colour-blind: Okabe and Ito for few curves, Tol's muted one for nine objects.
FEW = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")
MANY = (
    *("#CC6677", "#332288", "#DDCC77", "#117733", "#88CCEE"),
    *("#882255", "#44AA99", "#999933", "#AA4499"),
)
MARGIN = 4  # pixels around the mask of a map
STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 130,
    "savefig.dpi": "figure",
    "figure.constrained_layout.use": True,
}


@contextmanager
def house_style() -> Iterator[None]:
    """Everything drawn meanwhile looks alike, whatever the reader's own settings."""
    from matplotlib import style

    with style.context(["default", STYLE]):
        yield


def plots(title: str, columns: int, rows: int = 1, **options: Any) -> tuple[Figure, list[Axes]]:
    """Figure with plots in a grid, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * columns, 3.6 * rows if rows == 1 else 2.7 * rows))
    figure.suptitle(title)
    return figure, list(figure.subplots(rows, columns, squeeze=False, **options).flat)


class PictureGrid:
    """Pictures in rows and columns, with the names of both; sizes in inches."""

    def __init__(
        self, title: str, rows: Sequence[str], columns: Sequence[str], size: float = 1.85
    ) -> None:
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=(size * len(columns) + 0.9, size * len(rows) + 0.8))
        self.figure.suptitle(title, fontsize=12, wrap=True)
        self.axes = self.figure.subplots(len(rows), len(columns), squeeze=False)
        self._at = {
            (row, column): self.axes[i, j]
            for i, row in enumerate(rows)
            for j, column in enumerate(columns)
        }
        for axes in self.axes.flat:
            # All boxes stay of one size, so that names and captions stand in line.
            axes.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
            axes.spines[:].set_visible(False)
        for axes, name in zip(self.axes[0], columns, strict=True):
            axes.set_title(name)
        for axes, name in zip(self.axes[:, 0], rows, strict=True):
            axes.set_ylabel(name)

    def show(self, row: str, column: str, picture: Any, caption: str = "", **how: Any) -> AxesImage:
        """Put a picture (H, W) or (H, W, 3) in its place; NaN stays white."""
        axes = self._at[row, column]
        axes.set_xlabel(caption, labelpad=2)
        image: AxesImage = axes.imshow(picture, **how)
        return image

    def shade(self, row: str, column: str, brightness: FloatArray) -> None:
        """Put a shaded view in its place."""
        self.show(row, column, brightness, cmap="gray", vmin=0, vmax=1.1)

    def colour_bar(
        self, image: AxesImage, label: str, rows: slice = slice(None), **how: Any
    ) -> None:
        """Scale of all pictures of some rows."""
        self.figure.colorbar(image, ax=self.axes[rows], label=label, format="%g", **how)


def window(mask: BoolArray) -> tuple[slice, slice]:
    """Rows and columns around the mask of a map."""
    spans = []
    for axis in (1, 0):
        inside = np.flatnonzero(mask.any(axis=axis))
        spans.append(slice(max(0, int(inside[0]) - MARGIN), int(inside[-1]) + 1 + MARGIN))
    return spans[0], spans[1]


def write(path: Path, figure: Figure, colours: int | None = None) -> None:
    """Write a PNG file whole or not at all, without the date and the version of the writer.

    With so many colours, at most 256, the file is several times smaller.
    """
    from PIL import Image

    with atomic_write(path) as temporary:
        figure.savefig(temporary, facecolor="white", metadata={"Software": None})
        if colours is not None:
            with Image.open(temporary) as drawn:
                reduced = drawn.convert("RGB").quantize(colours, kmeans=1)
            reduced.save(temporary, optimize=True)
