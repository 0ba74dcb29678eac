"""What a TIFF file declares: its size, and where its pixels lie.

By hand, because OpenCV tells neither before it decodes, and fills what is missing with black.
"""

from __future__ import annotations

import struct

WIDTH, HEIGHT, BITS, COMPRESSION, COLOURS, SAMPLES, PLANAR = 256, 257, 258, 259, 262, 277, 284
ROWS_PER_STRIP, TILE_WIDTH, TILE_HEIGHT, SAMPLE_FORMAT = 278, 322, 323, 339
STRIPS, TILES = (273, 279), (324, 325)  # offsets, and bytes
KNOWN = {WIDTH, HEIGHT, BITS, COMPRESSION, SAMPLES, PLANAR, ROWS_PER_STRIP, *STRIPS, *TILES}
KNOWN |= {TILE_WIDTH, TILE_HEIGHT, SAMPLE_FORMAT, COLOURS}
SIZES = {1: "B", 3: "H", 4: "I", 13: "I", 16: "Q", 18: "Q"}  # of types that hold whole numbers
UNCOMPRESSED, FLOAT, SEPARATE, RGB = 1, 3, 2, 2
MOST_VALUES = 1 << 20  # of one tag


class NotReadError(ValueError):
    """A file that is in order, in a layout that OpenCV does not decode; says which."""


def declared_values(data: bytes) -> tuple[tuple[int, int, int], int]:
    """Shape and bytes of the values of a TIFF file; ValueError unless it holds all pixels."""
    tags = _tags(data)
    width, height = (_number(tags, tag, 0) for tag in (WIDTH, HEIGHT))
    bits, samples = tags.get(BITS, (1,)), _number(tags, SAMPLES, 1)
    if min(width, height, samples, *bits) < 1:
        raise ValueError("it declares an image without pixels")
    # OpenCV believes the colours, and leaves the channels that are missing unwritten.
    if len(bits) > samples or (_number(tags, COLOURS, 1) == RGB and samples < 3):
        raise ValueError(f"{samples} of {max(3, len(bits))} channels")
    if TILE_WIDTH in tags:
        columns, rows = _number(tags, TILE_WIDTH, 0), _number(tags, TILE_HEIGHT, 0)
    else:
        columns, rows = width, min(_number(tags, ROWS_PER_STRIP, height), height)
    if min(columns, rows) < 1:
        raise ValueError("its tiles or strips have no pixels")
    planes = samples if _number(tags, PLANAR, 1) == SEPARATE else 1
    if planes > 1 and (max(bits) > 8 or TILE_WIDTH in tags):  # memory that nobody has written to
        raise NotReadError("the channels one after the other")
    if _number(tags, SAMPLE_FORMAT, 1) == FLOAT and max(bits) < 32:
        raise NotReadError(f"floats of {max(bits)} bits")
    count = -(-width // columns) * -(-height // rows) * planes
    offsets, lengths = (tags.get(tag, ()) for tag in (TILES if TILE_WIDTH in tags else STRIPS))
    pieces = list(zip(offsets, lengths, strict=False))
    if len(offsets) < count or len(lengths) < count:
        raise ValueError(f"{min(len(offsets), len(lengths))} of {count} pieces of the image")
    if any(offset + length > len(data) or length == 0 for offset, length in pieces[:count]):
        raise ValueError("the end of the image is missing")
    bytes_needed = width * height * samples * max(bits) // 8
    if _number(tags, COMPRESSION, UNCOMPRESSED) == UNCOMPRESSED and sum(lengths) < bytes_needed:
        raise ValueError(f"{sum(lengths):,} of {bytes_needed:,} bytes of the image")
    return (height, width, samples), -(-max(bits) // 8)


def _number(tags: dict[int, tuple[int, ...]], tag: int, default: int) -> int:
    return next(iter(tags.get(tag, ())), default)


def _tags(data: bytes) -> dict[int, tuple[int, ...]]:
    """Known tags of the first directory; ValueError where they are not in the file."""
    order = "<" if data[:2] == b"II" else ">"
    big = data[2:4] in (b"+\x00", b"\x00+")  # BigTIFF
    offset, count_of_entries, head, size = ("Q", "Q", "HHQ", 20) if big else ("I", "H", "HHI", 12)
    tags: dict[int, tuple[int, ...]] = {}
    try:
        (start,) = struct.unpack_from(order + offset, data, 8 if big else 4)
        (entries,) = struct.unpack_from(order + count_of_entries, data, start)
        for number in range(entries):
            position = start + struct.calcsize(count_of_entries) + size * number
            tag, kind, values = struct.unpack_from(order + head, data, position)
            if tag not in KNOWN:
                continue
            if tag in tags or kind not in SIZES:  # decoders differ in which one they believe
                raise ValueError(f"the tag {tag} twice, or of the type {kind}")
            if values > MOST_VALUES:
                raise ValueError(f"{values} values of one tag")
            form, place = f"{order}{values}{SIZES[kind]}", position + struct.calcsize("=" + head)
            if struct.calcsize(form) > struct.calcsize(offset):
                (place,) = struct.unpack_from(order + offset, data, place)
            tags[tag] = struct.unpack_from(form, data, place)
    except struct.error as error:
        raise ValueError("its directory is cut off") from error
    return tags
