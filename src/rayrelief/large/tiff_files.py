"""Tiled TIFF files of others, a window at a time; tiles of the declared size."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.io.sources import check_room
from rayrelief.large.frames import check_frame
from rayrelief.large.layout import Window, shape_of
from rayrelief.optional import library

UNCOMPRESSED, DEFLATE = 1, (8, 32946)


def tifffile_package() -> Any:
    """Reader and writer of tiled TIFF, or an InputError that says how to install it."""
    package = library("tifffile", "a tiled TIFF", "large")
    # It logs what our own messages say better: to whoever listens, not to the terminal.
    logger = logging.getLogger(package.__name__)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return package


@dataclass(frozen=True)
class TiffArray:
    """First image of a file, as an array (H, W) or (H, W, channels) of which parts are read."""

    file: Any
    page: Any

    @classmethod
    def of(cls, file: Any, path: Any) -> TiffArray:
        """Image of an open file; ValueError for one that has to be decoded as a whole."""
        page = file.pages.first
        if page.compression not in (UNCOMPRESSED, *DEFLATE):
            raise ValueError(f"values compressed by {page.compression!r}; deflate is read")
        if page.dtype is None or page.planarconfig != 1 or page.ndim not in (2, 3):
            raise ValueError(f"an image of the shape {page.shape} and the type {page.dtype}")
        rows, columns = page.chunks[:2]
        across = -(-page.imagewidth // columns)
        count = -(-page.imagelength // rows) * across
        if min(len(page.dataoffsets), len(page.databytecounts)) < count:
            raise ValueError(f"{len(page.dataoffsets)} of {count} pieces of the image")
        check_room(path, 3 * math.prod(page.chunks) * page.dtype.itemsize)
        return cls(file, page)

    @property
    def shape(self) -> tuple[int, ...]:
        """(H, W) or (H, W, channels)."""
        return tuple(map(int, self.page.shape))

    @property
    def ndim(self) -> int:
        """Dimensions."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        found: np.dtype[Any] = self.page.dtype
        return found

    def __getitem__(self, window: Window) -> npt.NDArray[Any]:
        rows, columns = self.page.chunks[:2]
        found = np.zeros((*shape_of(window), *self.shape[2:]), self.dtype)
        for top in range(window[0].start // rows * rows, window[0].stop, rows):
            for left in range(window[1].start // columns * columns, window[1].stop, columns):
                number = top // rows * -(-self.shape[1] // columns) + left // columns
                piece = self._piece(number)
                place = tuple(
                    slice(max(part.start, first) - part.start, min(part.stop, end) - part.start)
                    for part, first, end in zip(
                        window, (top, left), (top + rows, left + columns), strict=True
                    )
                )
                own = tuple(
                    slice(part.start + where.start - first, part.start + where.stop - first)
                    for part, where, first in zip(window, place, (top, left), strict=True)
                )
                if piece is not None:
                    found[place] = piece[own]
        return found

    def _piece(self, number: int) -> npt.NDArray[Any] | None:
        """Tile or strip (h, w) or (h, w, channels); None for one that is left out."""
        offset, length = self.page.dataoffsets[number], self.page.databytecounts[number]
        if not length:
            return None
        handle = self.file.filehandle
        if offset + length > handle.size:
            raise ValueError("the end of the image is missing")
        handle.seek(offset)
        data = handle.read(length)
        if self.page.compression in DEFLATE:
            check_frame("zlib", data, math.prod(self.page.chunks) * self.dtype.itemsize)
        piece: npt.NDArray[Any] = self.page.decode(data, number)[0]
        return piece.reshape(*piece.shape[1:3], *self.shape[2:])
