"""OpenEXR files of others, a window at a time: tiles, or as many rows as are compressed together.

The library gives images as a whole, or rows of the whole width. What a window touches is put into a
small file of its own, which the library then reads.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import FileError
from rayrelief.io.exr import check_image, decode_part, group_channels
from rayrelief.io.exr_head import (
    CHUNK_ROWS,
    LONG_NAMES,
    SEVERAL_PARTS,
    TILED,
    Channel,
    Head,
    image_attributes,
    make_head,
    read_head,
    tile_attribute,
)
from rayrelief.io.sources import BROKEN, START, check_room, check_start, choose_name, damaged
from rayrelief.large.frames import SLACK, check_chunks
from rayrelief.large.layout import Window, put, shape_of, size_of

BYTES_AT_A_TIME = 1 << 22  # bytes of values that are decoded together, unless one piece has more
# Times its values is what decoding takes in the library, where Python does not count: of random
# numbers in one tile 2 without compression, 5 of ZIP and PIZ, 5.8 of ZSTD.
COPIES = 6


@dataclass(frozen=True)
class ExrArray:
    """Some channels of a file, as an array (H, W) or (H, W, channels) of which parts are read.

    Attributes
    ----------
    members
        The channels.
    piece
        Rows and columns that are compressed together: of a tile, or of the whole width.
    """

    file: BufferedReader
    path: Path
    head: Head
    members: tuple[Channel, ...]
    piece: tuple[int, int]

    @classmethod
    def of(cls, file: BufferedReader, path: Path, keys: Sequence[str]) -> ExrArray:
        """Layer or channel of an open file, found by its name as where files are read whole.

        FileError for a file of which no part can be read by itself.
        """
        try:
            check_start(path, file.read(START))
            head = read_head(file)
            window = head.window("dataWindow")
            is_whole = window == head.window("displayWindow")
            named = {channel.name: channel for channel in head.channels}
            tile, compression = head.tile, head.compression
        except BROKEN as error:
            raise damaged(path, error) from error
        check_image(path, len(head.parts), whole=is_whole)
        _check_kind(path, head)
        groups = group_channels(named)
        members = tuple(named[name] for name in groups[choose_name(path, groups, keys)])
        found = cls(file, path, head, members, tile or (CHUNK_ROWS[compression], window[2]))
        if min(*found.shape, *found.piece) < 1:
            raise damaged(path, f"an image of the shape {found.shape}, in pieces of {found.piece}")
        if tile is not None:
            check_chunks(found.shape[:2], tile)
        check_room(path, found.piece_bytes)
        return found

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """(H, W) or (H, W, channels)."""
        _, _, width, height = self.head.window("dataWindow")
        return (height, width, *([len(self.members)] if len(self.members) > 1 else []))

    @property
    def ndim(self) -> int:
        """Dimensions."""
        return len(self.shape)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return np.result_type(*(member.dtype for member in self.members))

    @property
    def piece_bytes(self) -> int:
        """Bytes that it takes to decode a piece, of which all channels are."""
        return COPIES * self._values_bytes

    @cached_property
    def _values_bytes(self) -> int:
        pixel = sum(np.dtype(channel.dtype).itemsize for channel in self.head.channels)
        return self.piece[0] * self.piece[1] * pixel

    @cached_property
    def _grid(self) -> tuple[int, int]:
        """Pieces down and across."""
        return -(-self.shape[0] // self.piece[0]), -(-self.shape[1] // self.piece[1])

    def __getitem__(self, window: Window) -> npt.NDArray[Any]:
        found = np.empty((*shape_of(window), *self.shape[2:]), self.dtype)
        rows, columns = (
            range(part.start // side, -(-part.stop // side))
            for part, side in zip(window, self.piece, strict=True)
        )
        most = max(1, BYTES_AT_A_TIME // self._values_bytes)
        across = min(len(columns), most)
        down = max(1, most // across)
        for top in rows[::down]:
            for left in columns[::across]:
                ends = min(top + down, rows.stop), min(left + across, columns.stop)
                pieces = slice(top, ends[0]), slice(left, ends[1])
                put(found, window, self._decoded(pieces), self._pixels(pieces))
        return found

    def _pixels(self, pieces: Window) -> Window:
        """Pixels of the image that are in some pieces of it."""
        rows, columns = (
            slice(part.start * side, min(part.stop * side, length))
            for part, side, length in zip(pieces, self.piece, self.shape[:2], strict=True)
        )
        return rows, columns

    def _decoded(self, pieces: Window) -> npt.NDArray[Any]:
        """Values (h, w) or (h, w, channels) of some pieces."""
        box = self._pixels(pieces)
        rows, columns = (f"{part.start} to {part.stop - 1}" for part in box)
        content = self._cut_out(pieces, shape_of(box))
        channels = decode_part(self.path, content, f"rows {rows}, columns {columns}")
        planes = [channels[member.name] for member in self.members]
        return planes[0] if len(planes) == 1 else np.stack(planes, axis=-1)

    def _cut_out(self, pieces: Window, shape: tuple[int, int]) -> Iterator[bytes]:
        """Content of a file of some pieces alone, one after the other."""
        _, channels = self.head.parts[0]["channels"]
        attributes = image_attributes(shape[1], shape[0], channels, self.head.compression)
        is_tiled = self.head.tile is not None
        if is_tiled:
            attributes["tiles"] = tile_attribute(*self.piece)
        head = make_head((TILED if is_tiled else 0) | self.head.flags & LONG_NAMES, attributes)
        written, position = [], len(head) + 8 * size_of(pieces)
        for row in range(pieces[0].start, pieces[0].stop):
            for column in range(pieces[1].start, pieces[1].stop):
                start, size = self._find(row, column)
                down, across = row - pieces[0].start, column - pieces[1].start
                place = (across, down, 0, 0) if is_tiled else (down * self.piece[0],)
                told = struct.pack(f"<{len(place)}iI", *place, size)
                written.append((position, told, start, size))
                position += len(told) + size
        yield head + struct.pack(f"<{len(written)}Q", *(place for place, *_ in written))
        for _, told, start, size in written:
            yield told
            yield self._bytes(start, size)

    def _find(self, row: int, column: int) -> tuple[int, int]:
        """Where a piece begins, and its bytes; FileError unless it is where the table says."""
        number = row * self._grid[1] + column
        (offset,) = struct.unpack("<Q", self._bytes(self.head.end + 8 * number, 8))
        if not offset:
            raise damaged(self.path, f"piece {number} is missing, as where a writer was ended")
        if self.head.tile is None:
            place: tuple[int, ...] = (self.head.window("dataWindow")[1] + row * self.piece[0],)
        else:
            place = (column, row, 0, 0)
        if self.head.flags & SEVERAL_PARTS:
            place = (0, *place)
        layout = struct.Struct(f"<{len(place)}iI")
        *told, size = layout.unpack(self._bytes(offset, layout.size))
        if tuple(told) != place:
            raise damaged(self.path, f"another piece in the place of piece {number}")
        if not 0 < size <= self._values_bytes + SLACK:
            raise damaged(
                self.path,
                f"piece {number} of {self._values_bytes:,} bytes is said to be stored as {size:,}",
            )
        return offset + layout.size, size

    def _bytes(self, start: int, length: int) -> bytes:
        # Offsets are any number: there is no seeking to the largest ones.
        try:
            if start + length > self.file.seek(0, 2):
                raise damaged(self.path, f"it ends before {length:,} bytes from {start:,} on")
            self.file.seek(start)
            return self.file.read(length)
        except OSError as error:
            raise damaged(self.path, error) from error


def _check_kind(path: Path, head: Head) -> None:
    """Raise FileError for pixels that are no values, or of which no part can be read alone."""
    if head.is_deep:
        raise FileError(
            f"{path} is deep: its pixels hold lists of samples",
            expected="one value of each channel per pixel",
            remedy="Save a flat image of it",
        )
    if head.compression >= len(CHUNK_ROWS):
        raise FileError(
            f"{path} is compressed by a method (number {head.compression}) that is not read in "
            "blocks",
            expected=f"one of the numbers 0 to {len(CHUNK_ROWS) - 1}, such as ZIP",
            remedy="Save it again with the compression ZIP, or without one",
        )
    if any(channel.sampling != (1, 1) for channel in head.channels):
        raise FileError(
            f"{path} has channels with fewer values than pixels",
            expected="a value of each channel in every pixel",
            remedy="Save it again as RGB, without subsampled channels",
        )
