"""The segments of a JPEG file: what it declares, and what a camera wrote beside the pixels."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import count

from rayrelief.io.sources import check_entries

FRAMES = {0xC0 + number for number in range(16)} - {0xC4, 0xC8, 0xCC}  # they begin with the size
APPLICATION, SCAN = 0xE1, 0xDA
BARE = {0x00, 0x01, *range(0xD0, 0xDA)}  # without a length: none belongs before the pixels
EXIF = b"Exif\0\0"


def segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Marker and content of each segment before the pixels; ends where there is no other one."""
    position, numbers = 2, count()
    while position + 4 <= len(data):
        check_entries(next(numbers), "segments and fill bytes")
        start, marker, length = struct.unpack_from(">BBH", data, position)
        if (start, marker) == (0xFF, 0xFF):  # a fill byte
            position += 1
        elif start != 0xFF or marker in BARE or length < 2:
            return
        else:
            yield marker, data[position + 4 : position + 2 + length]
            if marker == SCAN:
                return
            position += 2 + length


def size(data: bytes) -> tuple[int, int, int]:
    """Width, height and channels that a JPEG file declares; ValueError without them."""
    for marker, content in segments(data):
        if marker in FRAMES:
            height, width, channels = struct.unpack_from(">xHHB", content)
            return width, height, channels
    raise ValueError("the size of the image is missing")


def declared_values(data: bytes) -> tuple[tuple[int, int, int], int]:
    """Shape and bytes of the values that a JPEG file declares."""
    width, height, channels = size(data)
    return (height, width, channels), 1


def exif(data: bytes) -> bytes:
    """EXIF of a JPEG file, as a TIFF directory after its mark; empty without any."""
    found = (content for marker, content in segments(data) if marker == APPLICATION)
    return next((content for content in found if content.startswith(EXIF)), b"")
