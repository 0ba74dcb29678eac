"""Compressed pieces of an image: their size, before all of it comes into memory."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Sequence

PIECE = 1 << 16  # bytes that are decompressed at a time
ZSTD = b"\x28\xb5\x2f\xfd"
SLACK = 1 << 10  # bytes beyond those of the pixels that do no harm
MOST_STREAMS = 100  # in a row: writers make one
FEWEST = 64  # pixels of a chunk, unless there is only one: each is a file, or read by itself
COMPRESSORS = ("blosc", "gzip", "lz4", "zlib", "zstd")


def check_chunks(shape: Sequence[int], chunks: Sequence[int]) -> None:
    """Raise ValueError for an array in pieces so small that each costs more than its pixels."""
    if math.prod(chunks[:2]) < FEWEST and any(s > c for s, c in zip(shape, chunks, strict=True)):
        raise ValueError(f"chunks of {chunks[:2]} pixels, at least {FEWEST} pixels are read")


def check_frame(compressor: str, data: bytes, largest: int) -> None:
    """Raise ValueError for a piece that is more than ``largest`` bytes when it is decompressed."""
    try:
        if compressor in ("gzip", "zlib"):
            size = _inflated(data, largest)
        elif compressor == "blosc":
            (size,) = struct.unpack_from("<I", data, 4)
        elif compressor == "lz4":
            (size,) = struct.unpack_from("<I", data)
        else:
            size = _zstd_size(data)
    except (struct.error, IndexError, zlib.error) as error:
        raise ValueError(f"a damaged piece of {len(data):,} bytes ({error})") from error
    if size > largest + SLACK:
        raise ValueError(f"a piece that holds more than the {largest:,} bytes of its pixels")


def _inflated(data: bytes, largest: int) -> int:
    """Bytes of a stream, or of several in a row; counted no further than needed."""
    size, left, streams = 0, data, 0
    while left and size <= largest + SLACK:
        if (streams := streams + 1) > MOST_STREAMS:  # the rest is copied for each of them
            raise ValueError(f"a piece of more than {MOST_STREAMS} streams")
        stream = zlib.decompressobj(wbits=47)  # with the head of gzip, or of zlib
        while not stream.eof and left and size <= largest + SLACK:
            size += len(stream.decompress(left, PIECE))
            left = stream.unconsumed_tail
        left = stream.unused_data
    return size


def _zstd_size(data: bytes) -> int:
    """What the head of the first frame says."""
    if not data.startswith(ZSTD):
        raise ValueError("a piece that is not compressed as the map says")
    flags = data[4]
    size_code, is_single = flags >> 6, bool(flags & 0x20)
    if not size_code and not is_single:
        raise ValueError("a piece that does not say its size")
    start = 5 + (not is_single) + (0, 1, 2, 4)[flags & 3]
    (size,) = struct.unpack_from("<" + "BHIQ"[size_code], data, start)
    return int(size) + (256 if size_code == 1 else 0)
