"""Heads of OpenEXR files, read and made without the library: attributes, and where chunks lie."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from io import BufferedReader

from rayrelief.io.sources import LARGEST_HEAD, SIGNATURES, check_entries

FIRST_ATTRIBUTE = 8  # where it stands: after the signature and the flags, of four bytes each
VERSION, TILED, LONG_NAMES, DEEP, SEVERAL_PARTS = 2, 0x200, 0x400, 0x800, 0x1000
CHANNEL = 18  # bytes in the list of channels, at least
LONGEST_NAME = 256  # bytes, with its end
UINT, HALF, FLOAT = "<u4", "<f2", "<f4"
TYPES = (UINT, HALF, FLOAT)  # by their numbers
# Rows of a chunk that is no tile, by the number of the compression: none, RLE, ZIPS, ZIP, PIZ,
# PXR24, B44, B44A, DWAA, DWAB, HTJ2K256, HTJ2K32, LJ2K and ZSTD.
CHUNK_ROWS = (1, 1, 1, 16, 32, 16, 32, 32, 32, 256, 256, 32, 256, 1)

Attributes = dict[str, tuple[str, bytes]]
"""Kind and value by name."""


@dataclass(frozen=True)
class Channel:
    """A channel: its name, its type, and every how many pixels it has a value."""

    name: str
    dtype: str
    sampling: tuple[int, int]


@dataclass(frozen=True)
class Head:
    """What stands before the pixels of a file.

    Attributes
    ----------
    flags
        Version and kind.
    parts
        Attributes of each image in the file.
    end
        Where the first table of offsets begins.
    """

    flags: int
    parts: tuple[Attributes, ...]
    end: int

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Channels of the first image."""
        data, position, found = self._value("channels"), 0, []
        while data[position]:
            end = data.index(0, position)
            number, across, down = struct.unpack_from("<i4xii", data, end + 1)
            name = data[position:end].decode("utf-8", "surrogateescape")
            found.append(Channel(name, TYPES[number], (across, down)))
            position = end + 17
        return tuple(found)

    def window(self, name: str) -> tuple[int, int, int, int]:
        """First column and row of a window of the first image, and its width and height."""
        left, top, right, bottom = struct.unpack("<4i", self._value(name))
        return left, top, right - left + 1, bottom - top + 1

    @property
    def is_deep(self) -> bool:
        """Whether pixels of any part hold lists of samples."""
        kinds = [part["type"][1] for part in self.parts if "type" in part]
        return bool(self.flags & DEEP) or any(kind.startswith(b"deep") for kind in kinds)

    @property
    def compression(self) -> int:
        """Number of the compression of the first image."""
        return self._value("compression")[0]

    @property
    def tile(self) -> tuple[int, int] | None:
        """Rows and columns of a tile of the first image; None where it is stored by rows."""
        several = self.flags & SEVERAL_PARTS  # in such a file each part has its own type
        if not (self._value("type") == b"tiledimage" if several else self.flags & TILED):
            return None
        columns, rows = struct.unpack_from("<2I", self._value("tiles"))
        return rows, columns

    def _value(self, name: str) -> bytes:
        if name not in self.parts[0]:
            raise ValueError(f"its head has no {name}")
        return self.parts[0][name][1]


def read_head(file: BufferedReader) -> Head:
    """Head of an open file that begins as one; ValueError for one that is broken.

    So it is for very many attributes or channels, each of which OpenEXR compares with all, and for
    attributes of very many bytes.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        (flags,) = struct.unpack_from("<I", data, 4)
        position, entries, parts = FIRST_ATTRIBUTE, 0, [Attributes()]
        while data[position] or (flags & SEVERAL_PARTS and data[position + 1]):
            if not data[position]:  # the head of the next part
                position += 1
                parts.append({})
            kind = data.find(b"\0", position, position + LONGEST_NAME) + 1
            value = data.find(b"\0", kind, kind + LONGEST_NAME) + 5
            if kind == 0 or value == 4:
                raise ValueError("the end of its head is missing")
            (size,) = struct.unpack_from("<I", data, value - 4)
            is_list = data[kind : value - 5] == b"chlist"
            entries += 1 + (size // CHANNEL if is_list else 0)
            check_entries(entries, "attributes and channels")
            end = value + size
            if end >= len(data):  # before anything of that size is copied
                raise ValueError(f"an attribute of {size:,} bytes ends beyond the file")
            check_entries(end, "bytes of its head", LARGEST_HEAD)
            name = data[position : kind - 1].decode("utf-8", "surrogateescape")
            parts[-1][name] = data[kind : value - 5].decode("latin-1"), data[value:end]
            position = end
        return Head(flags, tuple(parts), position + 1 + bool(flags & SEVERAL_PARTS))


def make_head(flags: int, attributes: Attributes) -> bytes:
    """Bytes before the table of offsets of a file with one image."""
    written = [SIGNATURES["EXR"][0], struct.pack("<I", VERSION | flags)]
    for name, (kind, value) in attributes.items():
        written += [text.encode("utf-8", "surrogateescape") + b"\0" for text in (name, kind)]
        written.append(struct.pack("<I", len(value)) + value)
    return b"".join((*written, b"\0"))


def image_attributes(width: int, height: int, channels: bytes, compression: int) -> Attributes:
    """Attributes that every file has, of an image whose first pixel is (0, 0)."""
    window = ("box2i", struct.pack("<4i", 0, 0, width - 1, height - 1))
    return {
        "channels": ("chlist", channels),
        "compression": ("compression", bytes([compression])),
        "dataWindow": window,
        "displayWindow": window,
        "lineOrder": ("lineOrder", b"\0"),
        "pixelAspectRatio": ("float", struct.pack("<f", 1.0)),
        "screenWindowCenter": ("v2f", bytes(8)),
        "screenWindowWidth": ("float", struct.pack("<f", 1.0)),
    }


def tile_attribute(rows: int, columns: int, mode: int = 0) -> tuple[str, bytes]:
    """Kind and value of the attribute "tiles"; of one level unless a mode says so."""
    return "tiledesc", struct.pack("<2IB", columns, rows, mode)
