"""A depth as a tiled EXR with levels of half the size, of which a few tiles are ever in memory."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from io import BufferedWriter

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import SingleArray
from rayrelief.io.exr_head import (
    FLOAT,
    TILED,
    TYPES,
    image_attributes,
    make_head,
    tile_attribute,
)
from rayrelief.large.layout import Window
from rayrelief.large.levels import TILE, halved

ZIP, ANY_ORDER = 3, 2  # numbers of a compression, and of an order of tiles
SMALLER_ROUNDED_UP = 0x11  # levels of half the size, of odd sides the larger half


@dataclass(frozen=True)
class Pyramid:
    """A file whose tiles are written one by one, each after the four that it is the half of.

    Attributes
    ----------
    file
        Open for writing, empty.
    shape
        (height, width).
    read
        Depth of a window.
    """

    file: BufferedWriter
    shape: tuple[int, int]
    read: Callable[[Window], SingleArray]

    def write(self, channel: str, told: dict[str, str]) -> None:
        """Write head, tiles and the table of where they lie; texts go into the head."""
        name = channel.encode() + b"\0"
        one = name + struct.pack("<iB3x2i", TYPES.index(FLOAT), 0, 1, 1) + b"\0"
        attributes = image_attributes(self.shape[1], self.shape[0], one, ZIP)
        attributes["lineOrder"] = "lineOrder", bytes([ANY_ORDER])
        attributes["tiles"] = tile_attribute(TILE, TILE, SMALLER_ROUNDED_UP)
        attributes |= {name: ("string", text.encode()) for name, text in told.items()}
        self.file.write(make_head(TILED, attributes))
        table = self.file.tell()
        self.file.seek(sum(level.nbytes for level in self._offsets), 1)
        self._tile(len(self._offsets) - 1, 0, 0)
        self.file.seek(table)
        for level in self._offsets:
            self.file.write(level.tobytes())

    @cached_property
    def _offsets(self) -> tuple[npt.NDArray[np.uint64], ...]:
        """Where tiles lie, by level, row and column: gigapixels have millions of them."""
        levels = math.ceil(math.log2(max(self.shape))) + 1
        return tuple(np.zeros(self._count(level), "<u8") for level in range(levels))

    def _count(self, level: int) -> tuple[int, int]:
        """Tiles of a level, down and across."""
        rows, columns = (-(-length // (TILE << level)) for length in self.shape)
        return rows, columns

    def _tile(self, level: int, row: int, column: int) -> SingleArray:
        """Write a tile, and before it those that it is made of."""
        if level == 0:
            top, left = TILE * row, TILE * column
            down, across = (
                slice(first, min(first + TILE, length))
                for first, length in zip((top, left), self.shape, strict=True)
            )
            values = self.read((down, across))
        else:
            rows, columns = self._count(level - 1)
            values = halved(
                np.block(
                    [
                        [
                            self._tile(level - 1, i, j)
                            for j in range(2 * column, min(2 * column + 2, columns))
                        ]
                        for i in range(2 * row, min(2 * row + 2, rows))
                    ]
                )
            )
        content = zipped(values)
        self._offsets[level][row, column] = self.file.tell()
        self.file.write(struct.pack("<5i", column, row, level, level, len(content)) + content)
        return values


def zipped(values: SingleArray) -> bytes:
    """Values of one channel as a ZIP chunk: of all numbers the even bytes, then the odd ones.

    Each is written as what it differs from the one before, 128 for nothing. What would become
    larger is stored as it is.
    """
    plain = np.frombuffer(values.astype(FLOAT).tobytes(), np.uint8)
    steps = np.concatenate((plain[0::2], plain[1::2]))
    steps[1:] = np.diff(steps) + np.uint8(128)
    data = zlib.compress(steps.tobytes())
    return data if len(data) < len(plain) else plain.tobytes()
