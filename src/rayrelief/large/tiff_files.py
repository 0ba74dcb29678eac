"""Tiled TIFF files of others, a window at a time; tiles of the declared size."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import FileError
from rayrelief.io.sources import BROKEN, check_room
from rayrelief.large.frames import check_frame
from rayrelief.large.layout import Window, put, shape_of
from rayrelief.optional import library

UNCOMPRESSED, DEFLATE = 1, (8, 32946)
STRIP_AT_A_TIME = 1 << 24  # bytes of an uncompressed strip, of which no more has to be read


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
            raise FileError(
                f"{path} is compressed by {getattr(page.compression, 'name', page.compression)}",
                expected="a TIFF without compression, or with deflate",
                remedy="Write it again: tifffile.imwrite(..., tile=(256, 256), compression='zlib')",
            )
        if page.dtype is None or page.planarconfig != 1 or page.ndim not in (2, 3):
            raise ValueError(f"an image of the shape {page.shape} and the type {page.dtype}")
        rows, columns = page.chunks[:2]
        across = -(-page.imagewidth // columns)
        count = -(-page.imagelength // rows) * across
        if min(len(page.dataoffsets), len(page.databytecounts)) < count:
            raise ValueError(f"{len(page.dataoffsets)} of {count} pieces of the image")
        found = cls(file, page)
        check_room(path, 3 * found.piece_bytes)
        return found

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

    @property
    def piece(self) -> tuple[int, int]:
        """Rows and columns that are read at once: a tile, a strip, or some rows of a plain one."""
        rows, columns = map(int, self.page.chunks[:2])
        if self._is_plain:
            rows = max(1, min(rows, STRIP_AT_A_TIME // self._row_bytes))
        return rows, columns

    @property
    def piece_bytes(self) -> int:
        """Bytes of such a piece."""
        return self.piece[0] * self._row_bytes

    @property
    def _row_bytes(self) -> int:
        return math.prod(map(int, self.page.chunks[1:])) * self.dtype.itemsize

    @property
    def _is_plain(self) -> bool:
        """Whether rows of a strip lie in the file as they are."""
        page = self.page
        return (
            page.compression == UNCOMPRESSED
            and not page.is_tiled
            and (page.predictor, page.fillorder) == (1, 1)
            and page.bitspersample == 8 * self.dtype.itemsize
        )

    def __getitem__(self, window: Window) -> npt.NDArray[Any]:
        (rows, columns), height = self.page.chunks[:2], self.piece[0]
        found = np.zeros((*shape_of(window), *self.shape[2:]), self.dtype)
        across = -(-self.shape[1] // columns)
        for strip in range(window[0].start // rows * rows, window[0].stop, rows):
            for top in range(strip, min(strip + rows, window[0].stop), height):
                if top + height <= window[0].start:
                    continue
                for left in range(window[1].start // columns * columns, window[1].stop, columns):
                    number = strip // rows * across + left // columns
                    piece = (
                        self._rows(number, top - strip) if self._is_plain else self._piece(number)
                    )
                    if piece is not None:
                        put(found, window, piece, _box(piece, top, left))
        return found

    def _rows(self, number: int, first: int) -> npt.NDArray[Any] | None:
        """Some rows of a strip that is not compressed, from one on; None where it is left out."""
        if not self.page.databytecounts[number]:
            return None
        rows = min(
            self.piece[0],
            self.page.chunks[0] - first,
            self.shape[0] - number * self.page.chunks[0] - first,
        )
        start, length = first * self._row_bytes, rows * self._row_bytes
        if start + length > self.page.databytecounts[number]:
            raise ValueError(f"strip {number} is shorter than its rows")
        data = self._bytes(number, start, length)
        values = np.frombuffer(data, self.dtype.newbyteorder(self.file.byteorder))
        return values.reshape(rows, *self.shape[1:])

    def _piece(self, number: int) -> npt.NDArray[Any] | None:
        """Tile or strip (h, w) or (h, w, channels); None for one that is left out."""
        length = self.page.databytecounts[number]
        if not length:
            return None
        data = self._bytes(number, 0, length)
        if self.page.compression in DEFLATE:
            with self._naming(number):
                check_frame("zlib", data, math.prod(self.page.chunks) * self.dtype.itemsize)
        with self._naming(number):
            piece: npt.NDArray[Any] = self.page.decode(data, number)[0]
        return piece.reshape(*piece.shape[1:3], *self.shape[2:])

    def _bytes(self, number: int, start: int, length: int) -> bytes:
        handle, offset = self.file.filehandle, self.page.dataoffsets[number] + start
        if offset + length > handle.size:
            raise ValueError(f"the end of the image is missing, from piece {number} on")
        handle.seek(offset)
        data: bytes = handle.read(length)
        return data

    @contextmanager
    def _naming(self, number: int) -> Iterator[None]:
        """Say of which piece an error is."""
        try:
            yield
        except BROKEN as error:
            raise ValueError(f"piece {number} of the image: {error}") from error


def _box(piece: npt.NDArray[Any], top: int, left: int) -> Window:
    """Where a piece with this corner lies."""
    return slice(top, top + piece.shape[0]), slice(left, left + piece.shape[1])
