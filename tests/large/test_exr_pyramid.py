"""The depth of a map in blocks as EXR: tiles, and levels of half the size."""

from __future__ import annotations

import struct
import tracemalloc
import zlib

import numpy as np
import OpenEXR
import pytest

from rayrelief.io.depth import read_depth
from rayrelief.io.exr import read_attributes
from rayrelief.io.exr_head import read_head
from rayrelief.io.sources import open_file
from rayrelief.large.exr_pyramid import Pyramid, zipped
from rayrelief.large.levels import TILE, halved


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.exr"


@pytest.mark.parametrize("shape", [(1, 1), (TILE, TILE), (TILE + 1, 3), (600, 1100)])
def test_the_levels_of_a_pyramid_are_halves(path, shape):
    rng = np.random.default_rng(0)
    depth = rng.normal(size=shape).astype(np.float32).cumsum(axis=0)
    depth[3:40, 5:60] = np.nan
    with path.open("wb") as file:
        Pyramid(file, shape, lambda window: depth[window]).write("Z", {"rayreliefDepthKind": "z"})
    found, kind = read_depth(path)
    assert kind == "z"
    tiles = read_attributes(path)["tiles"]
    assert (tiles.mode, tiles.roundingMode) == (OpenEXR.MIPMAP_LEVELS, OpenEXR.ROUND_UP)
    assert read_attributes(path)["lineOrder"] == OpenEXR.RANDOM_Y
    np.testing.assert_array_equal(found, depth)
    tiles, level = tiles_of(path), 0
    while True:
        np.testing.assert_array_equal(joined(tiles, level, depth.shape), depth)
        if max(depth.shape) == 1:
            break
        depth, level = halved(depth), level + 1
    assert max(n for n, *_ in tiles) == level


@pytest.mark.parametrize(("more", "is_raw"), [(-1, False), (0, True), (1, True)])
def test_what_zip_does_not_make_smaller_is_stored_as_it_is(more, is_raw, monkeypatch):
    """Readers take a chunk of as many bytes as it has values for one that is not compressed."""
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    data = bytes(values.nbytes + more)
    monkeypatch.setattr("rayrelief.large.exr_pyramid.zlib.compress", lambda _: data)
    assert zipped(values) == (values.tobytes() if is_raw else data)


def test_a_pyramid_keeps_eight_bytes_of_a_tile(path):
    """435 MB were kept of a map of 100 gigapixels."""
    tile, tiles = np.ones((1, TILE), np.float32), 4000
    with path.open("wb") as file:
        pyramid = Pyramid(file, (1, tiles * TILE), lambda window: tile)
        tracemalloc.start()
        pyramid.write("Z", {})
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert len(tiles_of(path)) > 2 * tiles
    assert peak < 1_000_000, "half of it a compressor"


def tiles_of(path):
    """Bytes of all tiles by level, row and column, in the order of the table."""
    data = path.read_bytes()
    with open_file(path) as file:
        head = read_head(file)
    (first,) = struct.unpack_from("<Q", data, head.end)
    found, position = {}, head.end
    while position < first:
        (offset,) = struct.unpack_from("<Q", data, position)
        column, row, level, again, size = struct.unpack_from("<5i", data, offset)
        assert level == again
        found[level, row, column] = data[offset + 20 : offset + 20 + size]
        position += 8
    assert list(found) == sorted(found)
    return found


def joined(tiles, level, shape):
    """Image of a level."""
    image = np.empty(shape, np.float32)
    for top in range(0, shape[0], TILE):
        for left in range(0, shape[1], TILE):
            place = image[top : top + TILE, left : left + TILE]
            content = tiles[level, top // TILE, left // TILE]
            if len(content) < place.nbytes:
                content = unzipped(content)
            place[:] = np.frombuffer(content, "<f4").reshape(place.shape)
    return image


def unzipped(data):
    """Bytes of a ZIP chunk, one after the other."""
    halves = bytearray(zlib.decompress(data))
    for k in range(1, len(halves)):
        halves[k] = (halves[k] + halves[k - 1] - 128) % 256
    middle = (len(halves) + 1) // 2
    plain = bytearray(len(halves))
    plain[0::2], plain[1::2] = halves[:middle], halves[middle:]
    return bytes(plain)
