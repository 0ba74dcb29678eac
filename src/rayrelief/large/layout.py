"""Blocks of a map: cores that tile it, each with an overlap, and the share of each at a pixel."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError

IntArray = npt.NDArray[np.int64]
Window = tuple[slice, slice]
"""Rows and columns of the map."""

OVERLAP = 16  # a block is so many times as wide as its overlap with the next core,
# or half as many times if that overlap is narrower than this, in pixels: what is decided about an
# edge depends on what is around it.
DECISIVE = 64
SMALLEST = 32  # pixels along a side of a block
NODES = 5  # along a side of a block, of the grid by whose values the parts of a block are moved


@dataclass(frozen=True)
class Block:
    """A part of the map, numbered row by row.

    The core is what this block alone has: cores tile the map. The whole is the core and the overlap
    around it, within the map.
    """

    number: int
    core: Window
    whole: Window


@dataclass(frozen=True)
class Layout:
    """Blocks of a map: where the rows and columns of cores begin, and where the last ones end.

    The overlap is how many pixels a block reaches beyond its core; where there are several cores,
    none is narrower than twice this.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    overlap: int

    @classmethod
    def of(cls, height: int, width: int, side: int, overlap: int | None = None) -> Layout:
        """Blocks of at most so many pixels along a side, all about equally large."""
        if overlap is None:
            overlap = max(side // OVERLAP, min(DECISIVE, 2 * side // OVERLAP))
        if side >= SMALLEST and 1 <= overlap <= side // 4:
            borders = [_borders(length, side, overlap) for length in (height, width)]
            # Where three blocks in a row overlap, their shares add up to more than 1.
            if all(len(each) == 2 or np.diff(each).min() >= 2 * overlap for each in borders):
                return cls(borders[0], borders[1], overlap)
        raise InputError(
            f"blocks of {side} pixels a side with an overlap of {overlap}, for {height} x {width}",
            expected=f"at least {SMALLEST} pixels, and no core narrower than twice the overlap",
            remedy="Allow for more memory, or leave the overlap out",
        )

    @classmethod
    def from_lists(cls, values: dict[str, Any]) -> Layout:
        """Blocks as ``as_lists`` told them."""
        return cls(tuple(values["rows"]), tuple(values["columns"]), values["overlap"])

    def as_lists(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"rows": [*self.rows], "columns": [*self.columns], "overlap": self.overlap}

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width) of the map."""
        return self.rows[-1], self.columns[-1]

    def __len__(self) -> int:
        return (len(self.rows) - 1) * (len(self.columns) - 1)

    def block(self, number: int) -> Block:
        """Block by its number."""
        row, column = divmod(number, len(self.columns) - 1)
        rows = slice(self.rows[row], self.rows[row + 1])
        columns = slice(self.columns[column], self.columns[column + 1])
        return Block(number, (rows, columns), self.grown((rows, columns), self.overlap))

    def grown(self, window: Window, margin: int) -> Window:
        """Window with a margin around it, within the map."""
        first, second = (
            slice(max(0, part.start - margin), min(length, part.stop + margin))
            for part, length in zip(window, self.shape, strict=True)
        )
        return first, second

    def before_the_end(self, block: Block) -> Window:
        """Pixels of a block but for the outermost, of sides that are no border of the map."""
        rows, columns = (
            slice(part.start + (part.start > 0), part.stop - (part.stop < length))
            for part, length in zip(block.whole, self.shape, strict=True)
        )
        return rows, columns

    def around(self, window: Window, *, cores: bool = False) -> Iterator[Block]:
        """Blocks, or cores of blocks, that have pixels in a window."""
        rows, columns = self.grown(window, 0 if cores else self.overlap)
        first, last = _span(self.rows, rows)
        left, right = _span(self.columns, columns)
        for row in range(first, last + 1):
            for column in range(left, right + 1):
                yield self.block(row * (len(self.columns) - 1) + column)

    def share(self, block: Block, window: Window) -> FloatArray:
        """What a block counts at each pixel of a window: it falls from 1 to 0 over the overlaps.

        The shares of all blocks add up to 1 everywhere.
        """
        rows, columns = (
            _ramp(part, length, self.overlap, where)
            for part, length, where in zip(block.core, self.shape, window, strict=True)
        )
        return np.outer(rows, columns)

    def corners(self, block: Block, window: Window) -> Iterator[tuple[IntArray, FloatArray]]:
        """Nodes (h, w) at the four corners of the cells of a block, and their bilinear weights.

        The nodes of a block are numbered row by row; the weights of the four add up to 1.
        """
        (row, down), (column, across) = (
            _cells(part, whole) for part, whole in zip(window, block.whole, strict=True)
        )
        for i in (0, 1):
            for j in (0, 1):
                number = (row + i)[:, None] * NODES + (column + j)
                yield number, np.outer(down if i else 1 - down, across if j else 1 - across)

    def ring(self, block: Block) -> list[Window]:
        """Windows of the pixels just outside of a block: above, below, left and right of it."""
        rows, columns = block.whole
        outer_rows, outer_columns = self.grown(block.whole, 1)
        windows = [
            (slice(outer_rows.start, rows.start), outer_columns),
            (slice(rows.stop, outer_rows.stop), outer_columns),
            (rows, slice(outer_columns.start, columns.start)),
            (rows, slice(columns.stop, outer_columns.stop)),
        ]
        return [(down, across) for down, across in windows if size_of((down, across))]


def size_of(window: Window) -> int:
    """Pixels of a window."""
    height, width = shape_of(window)
    return height * width


def shape_of(window: Window) -> tuple[int, int]:
    """(height, width) of a window."""
    rows, columns = window
    return rows.stop - rows.start, columns.stop - columns.start


def common(one: Window, other: Window) -> Window:
    """What two windows have in common."""
    rows, columns = (
        slice(max(a.start, b.start), max(min(a.stop, b.stop), a.start, b.start))
        for a, b in zip(one, other, strict=True)
    )
    return rows, columns


def within(window: Window, outer: Window) -> Window:
    """The same pixels, counted from the first ones of another window."""
    rows, columns = (
        slice(part.start - whole.start, part.stop - whole.start)
        for part, whole in zip(window, outer, strict=True)
    )
    return rows, columns


def put(found: npt.NDArray[Any], window: Window, piece: npt.NDArray[Any], box: Window) -> None:
    """Put what a piece, which lies in a box, has of a window to its place in that."""
    both = common(window, box)
    found[within(both, window)] = piece[within(both, box)]


def _borders(length: int, side: int, overlap: int) -> tuple[int, ...]:
    count = 1 if length <= side else math.ceil(length / (side - 2 * overlap))
    return tuple(round(i * length / count) for i in range(count + 1))


def _span(borders: tuple[int, ...], part: slice) -> tuple[int, int]:
    """First and last core that has one of these rows, or columns."""
    last = len(borders) - 2
    return (
        min(bisect_right(borders, part.start) - 1, last),
        min(bisect_right(borders, part.stop - 1) - 1, last),
    )


def _cells(part: slice, whole: slice) -> tuple[IntArray, FloatArray]:
    """First node of the cell of each pixel along a side of a block, and how far it is in it."""
    along = (np.arange(part.start, part.stop) - whole.start) * (
        (NODES - 1) / max(1, whole.stop - whole.start - 1)
    )
    first = np.minimum(along.astype(np.int64), NODES - 2)
    return first, along - first


def _ramp(core: slice, length: int, overlap: int, where: slice) -> FloatArray:
    u = np.arange(where.start, where.stop) + 0.5
    ramp: FloatArray = np.ones(len(u))
    if core.start > 0:
        ramp = np.minimum(ramp, (u - core.start + overlap) / (2 * overlap))
    if core.stop < length:
        ramp = np.minimum(ramp, (core.stop + overlap - u) / (2 * overlap))
    return np.clip(ramp, 0.0, 1.0)
