"""Maps in EXR: windows of them, what is refused, and the depth as a pyramid of tiles."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tracemalloc
from itertools import pairwise

import numpy as np
import OpenEXR
import pytest

from rayrelief.errors import FileError
from rayrelief.io import exr
from rayrelief.io.arrays import read_array
from rayrelief.io.exr_head import (
    LONG_NAMES,
    SEVERAL_PARTS,
    make_head,
    read_head,
)
from rayrelief.io.normals import NORMAL_KEYS
from rayrelief.io.sources import open_file
from rayrelief.large import exr_files
from rayrelief.large.arrays import MapFile
from rayrelief.large.exr_files import ExrArray
from rayrelief.large.opening import normals_in

HEIGHT, WIDTH = 75, 90
WINDOWS = [
    np.s_[0:HEIGHT, 0:WIDTH],
    np.s_[30:33, 60:75],
    np.s_[16:48, 17:34],
    np.s_[74:75, 89:90],
]
COMPRESSIONS = [
    compression
    for number in range(OpenEXR.NUM_COMPRESSION_METHODS.value)
    if "COMPRESSION" in (compression := OpenEXR.Compression(number)).name
]


@pytest.fixture
def values():
    """Vectors that every compression makes smaller."""
    v, u = np.mgrid[:HEIGHT, :WIDTH] / 30
    vectors = np.dstack((0.3 * np.sin(u), 0.3 * np.cos(v), -np.ones_like(u)))
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.exr"


def write(path, channels, *, tile=None, compression=OpenEXR.ZIP_COMPRESSION, **header):
    """File of channels; (rows, columns) of a tile."""
    header = {"compression": compression, "type": OpenEXR.scanlineimage} | header
    if tile is not None:
        tiles = OpenEXR.TileDescription()
        tiles.ySize, tiles.xSize = tile
        header |= {"type": OpenEXR.tiledimage, "tiles": tiles}
    if not isinstance(channels, dict):
        channels = {"RGBA" if channels.shape[2] == 4 else "RGB": channels}
    OpenEXR.File(header, channels).write(str(path))


def changed(path, before, change):
    """Put other bytes behind the place of some in a file."""
    start, mark, end = path.read_bytes().partition(before)
    assert mark
    path.write_bytes(start + mark + change + end[len(change) :])


def head_of(path):
    """What stands before the pixels of a file."""
    with open_file(path) as file:
        return read_head(file)


# What is there is read


@pytest.mark.parametrize("tile", [None, (16, 32), (128, 128)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_windows_are_those_of_the_whole(path, values, tile, dtype, monkeypatch):
    monkeypatch.setattr(exr_files, "BYTES_AT_A_TIME", 12_000)  # bytes: several pieces, not all
    for compression in COMPRESSIONS:
        write(path, values.astype(dtype), tile=tile, compression=compression)
        whole = read_array(path, keys=NORMAL_KEYS)
        assert whole.dtype == dtype
        for window in WINDOWS:
            with normals_in(path) as array:
                found = array[window]
            np.testing.assert_array_equal(found, whole[window], compression.name, strict=True)


def test_an_image_that_begins_elsewhere_and_ends_first(path, values):
    corners = np.array([7, -20], np.int32), np.array([6 + WIDTH, HEIGHT - 21], np.int32)
    windows = {"dataWindow": corners, "displayWindow": corners}
    for tile in (None, (16, 32)):
        write(path, values, tile=tile, lineOrder=OpenEXR.DECREASING_Y, **windows)
        for window in WINDOWS:
            normals, _ = MapFile.at(path, "opencv").read(window)
            np.testing.assert_array_equal(normals, values[window])


def test_a_file_for_several_parts_that_has_one(path, values):
    """Its chunks are numbered by the part: the library writes no such file, but reads it."""
    write(path, values)
    data, head = path.read_bytes(), head_of(path)
    attributes = head.parts[0] | {
        "name": ("string", b"one"),
        "type": ("string", b"scanlineimage"),
        "chunkCount": ("int", struct.pack("<i", 5)),
    }
    written = make_head(SEVERAL_PARTS, attributes) + b"\0"
    offsets = struct.unpack_from("<5Q", data, head.end)
    chunks = [data[a:b] for a, b in pairwise((*offsets, len(data)))]
    places = np.cumsum([len(written) + 40, *(len(chunk) + 4 for chunk in chunks[:-1])])
    path.write_bytes(
        b"".join([written, struct.pack("<5Q", *places), *(bytes(4) + chunk for chunk in chunks)])
    )
    np.testing.assert_array_equal(read_array(path), values)
    np.testing.assert_array_equal(
        MapFile.at(path, "opencv").read(WINDOWS[1])[0], values[30:33, 60:75]
    )


def test_layers_are_found_as_in_a_whole_file(path, values):
    layers = {f"Combined.{name}": values[..., 0] for name in "RGBA"} | {"Depth.V": values[..., 1]}
    layers |= {f"ViewLayer.Normal.{axis}": values[..., k] for k, axis in enumerate("XYZ")}
    layers = {
        f"{name}": plane.astype("f2" if "C" in name else "f4") for name, plane in layers.items()
    }
    write(path, layers)
    np.testing.assert_array_equal(
        MapFile.at(path, "opencv").read(WINDOWS[2])[0], values[16:48, 17:34]
    )
    write(path, {name: plane for name, plane in layers.items() if "Normal" not in name})
    with pytest.raises(FileError, match=r"holds the arrays Combined, Depth\.V"):
        MapFile.at(path, "opencv")


def test_names_of_many_bytes(path, values, tmp_path, monkeypatch):
    """Those of more than 31 have a flag in the head, which this version of OpenEXR may not need."""
    layer = "a layer of a scene with many of them.Normal"
    planes = {f"{layer}.{axis}": values[..., k] for k, axis in enumerate("XYZ")}
    write(path, {name: plane.copy() for name, plane in planes.items()})
    assert head_of(path).flags & LONG_NAMES
    with normals_in(path) as array:
        np.testing.assert_array_equal(array[WINDOWS[2]], values[16:48, 17:34])
    small, decode = tmp_path / "part.exr", exr_files.decode_part

    def kept(path, content, where):
        small.write_bytes(b"".join(content))
        return decode(path, [small.read_bytes()], where)

    monkeypatch.setattr(exr_files, "decode_part", kept)
    for name, flag in ((layer, LONG_NAMES), ("Normal", 0)):
        write(path, {f"{name}.{axis}": values[..., k].copy() for k, axis in enumerate("XYZ")})
        with normals_in(path) as array:
            array[WINDOWS[2]]
        assert head_of(small).flags & LONG_NAMES == flag


@pytest.mark.parametrize("halves", ["R", "G", "GB"])
def test_channels_of_two_types(path, values, halves):
    planes = zip("RGB", np.moveaxis(values, -1, 0), strict=True)
    write(path, {name: plane.astype("f2" if name in halves else "f4") for name, plane in planes})
    whole = read_array(path, keys=NORMAL_KEYS)
    assert whole.dtype == np.float32
    with normals_in(path) as array:
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array[WINDOWS[2]], whole[16:48, 17:34], strict=True)


def test_a_fourth_channel_and_a_mask(path, values, tmp_path):
    inside = np.zeros((HEIGHT, WIDTH), np.float32)
    inside[20:60, 10:50] = 1
    write(path, np.dstack((values, inside)))
    np.testing.assert_array_equal(
        MapFile.at(path, "opencv").read(WINDOWS[2])[1], inside[16:48, 17:34]
    )
    write(path, values)
    for plane in (inside, inside.astype(np.uint32)):
        write(tmp_path / "mask.exr", {"Y": plane}, tile=(16, 16))
        found = MapFile.at(path, "opencv", tmp_path / "mask.exr")
        np.testing.assert_array_equal(found.read(WINDOWS[2])[1], inside[16:48, 17:34])
    for plane in ((255 * inside).astype(np.uint32), 255 * inside):
        write(tmp_path / "mask.exr", {"Y": plane})
        with pytest.raises(FileError, match=r"values from 0\S* to 255.*numbers between 0 and 1"):
            MapFile.at(path, "opencv", tmp_path / "mask.exr")
    write(tmp_path / "mask.exr", np.dstack([inside] * 3))
    with pytest.raises(FileError, match=r"shape \(75, 90, 3\).*one value per pixel"):
        MapFile.at(path, "opencv", tmp_path / "mask.exr")


def test_what_was_opened_is_read(path, values, monkeypatch):
    """Not what somebody puts in its place; the output of all threads is left alone meanwhile."""
    write(path, values)
    with open_file(path) as file:
        path.unlink()
        with monkeypatch.context() as context:
            context.setattr(exr, "_ONE_AT_A_TIME", None)  # which cannot be held
            array = ExrArray.of(file, path, NORMAL_KEYS)
        np.testing.assert_array_equal(array[WINDOWS[2]], values[16:48, 17:34])


# No more than a window is


@pytest.mark.parametrize("tile", [None, (16, 16)])
def test_only_pieces_of_the_window_are_read(path, values, tile):
    write(path, values, tile=tile)
    head = head_of(path)
    with normals_in(path) as array:
        count = -(-HEIGHT // array.piece[0]) * -(-WIDTH // array.piece[1])
    data = bytearray(path.read_bytes())
    data[head.end + 8 : head.end + 8 * count] = bytes(8 * (count - 1))  # all but the first
    path.write_bytes(data)
    with normals_in(path) as array:
        np.testing.assert_array_equal(array[0:16, 0:16], values[:16, :16])
        with pytest.raises(FileError, match="piece 1 is missing"):
            array[0:17, 0:17]


@pytest.mark.parametrize("tile", [None, (64, 64)])
def test_a_window_takes_what_its_pieces_take(path, tile, monkeypatch):
    monkeypatch.setattr(exr_files, "BYTES_AT_A_TIME", 200_000)  # bytes
    v, u = np.mgrid[:1500, :1500].astype(np.float32) / 100
    write(path, np.dstack((np.sin(u), np.cos(v), u * v)), tile=tile)
    with normals_in(path) as array:
        tracemalloc.start()
        found = array[700:1000, 700:1000]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    together = max(exr_files.BYTES_AT_A_TIME, array.piece_bytes // exr_files.COPIES)
    assert peak < found.nbytes + exr_files.COPIES * together
    assert peak < 300 * 1500 * 12 / 2, "not even its rows"


MEASURE = """
import sys
from pathlib import Path
from rayrelief.large.opening import normals_in

def resident(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

for path in map(Path, sys.argv[1:]):
    with normals_in(path) as array:
        before = resident("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        array[0:1, 0:1]
        print(path.stem, resident("VmHWM") - before, array.piece_bytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
def test_decoding_a_piece_takes_no_more_than_is_announced(path, tmp_path):
    """Of random numbers, which are stored in as many bytes as they have; buffers of the library."""
    side = 1024
    noise = np.random.default_rng(0).random((side, side, 3), np.float32)
    write(path, noise[:16, :16])  # what is loaded with the first file does not count
    paths = [path]
    for compression in COMPRESSIONS:
        paths.append(tmp_path / f"{compression.name}.exr")
        write(paths[-1], noise, tile=(side, side), compression=compression)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *paths],
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"},  # what is freed is given back
        capture_output=True,
        text=True,
        check=True,
    )
    for name, taken, announced in (line.split() for line in done.stdout.splitlines()[1:]):
        assert int(taken) < int(announced) == exr_files.COPIES * noise.nbytes, name
    assert len(done.stdout.splitlines()) == 1 + len(COMPRESSIONS)


def test_four_megabytes_of_values_are_decoded_together(path, monkeypatch):
    write(path, np.zeros((256, 2560, 3), np.float32), tile=(256, 256))
    boxes = []
    decode = exr_files.decode_part

    def noted(*about):
        boxes.append(about[2])
        return decode(*about)

    monkeypatch.setattr(exr_files, "decode_part", noted)
    with normals_in(path) as array:
        array[0:256, 0:2560]
    assert boxes == ["rows 0 to 255, columns 0 to 1279", "rows 0 to 255, columns 1280 to 2559"]


def test_pieces_that_take_much_of_the_memory_are_refused(path, values):
    """All channels of a piece are decoded."""
    write(path, {"RGB": values, "Depth": values[..., 0]}, compression=OpenEXR.PIZ_COMPRESSION)
    needed = 4 * exr_files.COPIES * 32 * WIDTH * 16
    MapFile.at(path, "opencv", memory=needed)
    with pytest.raises(FileError, match=r"pieces of 32 x 90 pixels.*EXR in tiles of 256 x 256"):
        MapFile.at(path, "opencv", memory=needed - 1)
    write(path, values, tile=(16, 16), compression=OpenEXR.PIZ_COMPRESSION)
    MapFile.at(path, "opencv", memory=4 * exr_files.COPIES * 16 * 16 * 12)


# What is not read is told


def test_tiles_of_few_pixels_are_refused(path, values):
    for tile in ((1, 1), (9, 7)):
        write(path, values, tile=tile)
        told = rf"chunks of \({tile[0]}, {tile[1]}\) pixels, at least 64 pixels are read"
        with pytest.raises(FileError, match=told):
            MapFile.at(path, "opencv")
    write(path, values, tile=(8, 8))
    MapFile.at(path, "opencv")
    small = values[:7, :9].copy()  # OpenEXR takes each array for one without gaps
    write(path, small, tile=(7, 9))
    with normals_in(path) as array:
        np.testing.assert_array_equal(array[0:7, 0:9], small)
    write(path, values[:, :9].copy())  # rows are as wide as they are
    MapFile.at(path, "opencv")


def test_a_file_that_ends_early(path, values):
    write(path, values)
    whole = path.read_bytes()
    for length in range(4, len(whole), 997):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match=r"m\.exr is damaged or truncated \("):
            MapFile.at(path, "opencv").read(WINDOWS[0])


def test_a_file_without_its_last_byte(path, values):
    write(path, values)
    size = path.stat().st_size
    with normals_in(path) as array:
        array[64:75, 0:90]
    os.truncate(path, size - 1)
    with normals_in(path) as array, pytest.raises(FileError, match=r"it ends before [\d,]+ bytes"):
        array[64:75, 0:90]


def test_a_piece_that_cannot_be_decoded_is_named(path, values):
    write(path, values)
    data, head = bytearray(path.read_bytes()), head_of(path)
    (offset,) = struct.unpack_from("<Q", data, head.end + 16)
    data[offset + 20 : offset + 200] = bytes(180)
    path.write_bytes(data)
    with pytest.raises(FileError, match=r"m\.exr is damaged .*rows 0 to 74, columns 0 to 89: "):
        MapFile.at(path, "opencv")


@pytest.mark.parametrize(
    ("offset", "message"),
    [(0, "is missing"), (2**64 - 1, "it ends before"), (330, "another piece in the place")],
)
def test_tables_that_lead_elsewhere(path, values, offset, message):
    write(path, values)
    data, head = bytearray(path.read_bytes()), head_of(path)
    struct.pack_into("<Q", data, head.end, offset)
    path.write_bytes(data)
    with pytest.raises(FileError, match=message):
        MapFile.at(path, "opencv")


def test_pieces_of_more_bytes_than_values_are_refused(path, values):
    write(path, values)
    data, head = bytearray(path.read_bytes()), head_of(path)
    (offset,) = struct.unpack_from("<Q", data, head.end)
    struct.pack_into("<I", data, offset + 4, 16 * WIDTH * 12 + 2000)
    path.write_bytes(data)
    with pytest.raises(FileError, match="piece 0 of 17,280 bytes is said to be stored as 19,280"):
        MapFile.at(path, "opencv")


def test_files_of_other_kinds_are_told(path, values):
    path.write_bytes(b"x" * 100)
    with pytest.raises(FileError, match="does not start like EXR data"):
        MapFile.at(path, "opencv")
    parts = [OpenEXR.Part({"name": name}, {"RGB": values}) for name in "ab"]
    OpenEXR.File(parts).write(str(path))
    with pytest.raises(FileError, match="has 2 parts"):
        MapFile.at(path, "opencv")
    write(path, {"R": values[..., 0], "G": values[..., 1]})
    with pytest.raises(FileError, match="holds the arrays G, R"):
        MapFile.at(path, "opencv")
    write(path, {"Z": values[..., 0]})
    with pytest.raises(FileError, match=r"has the shape \(75, 90\)"):
        MapFile.at(path, "opencv")
    write(path, values.astype(np.uint32))
    with pytest.raises(FileError, match="values of the type uint32"):
        MapFile.at(path, "opencv")
    larger = np.array([-1, 0], np.int32), np.array([WIDTH, HEIGHT], np.int32)
    write(path, values, displayWindow=larger)
    with pytest.raises(FileError, match="stores only part of its image"):
        MapFile.at(path, "opencv")


@pytest.mark.parametrize(
    ("before", "change", "message"),
    [
        (b"\x76\x2f\x31\x01\x02", b"\x08", "is deep"),
        (b"compression\0compression\0\x01\0\0\0", b"\x63", r"by a method \(number 99\)"),
        (b"R\0" + struct.pack("<i4x", 2), struct.pack("<2i", 2, 2), "fewer values than pixels"),
        (b"R\0", b"\x07", "damaged or truncated"),
        (b"dataWindow\0box2i\0\x10\0\0\0", struct.pack("<4i", 9, 9, 0, 0), "only part"),
    ],
)
def test_heads_of_other_kinds(path, values, before, change, message):
    write(path, values)
    changed(path, before, change)
    with pytest.raises(FileError, match=message):
        MapFile.at(path, "opencv")


def test_images_without_pixels_and_rows_beyond_the_memory(path, values):
    for corner, message in ((-1, "an image of the shape"), (2**31 - 1, "of memory to be read")):
        write(path, values)
        for name in (b"dataWindow", b"displayWindow"):
            box = struct.pack("<4i", 0, 0, corner, corner)
            changed(path, name + b"\0box2i\0\x10\0\0\0", box)
        with pytest.raises(FileError, match=message):
            MapFile.at(path, "opencv")


@pytest.mark.parametrize("system", [exr.OPEN_FILES, "/none"])
def test_a_folder_for_temporary_files_that_is_not_there(
    path, values, tmp_path, monkeypatch, system
):
    monkeypatch.setattr(exr, "OPEN_FILES", system)
    write(path, values)
    (tmp_path / "t").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "t"))
    MapFile.at(path, "opencv")
    assert not os.listdir(tmp_path / "t")
    (tmp_path / "t").rmdir()
    with pytest.raises(FileError, match=r"be put into .*t: No such file .*set TMPDIR") as caught:
        MapFile.at(path, "opencv")
    assert "damaged" not in str(caught.value)


@pytest.mark.skipif(not os.path.isdir(exr.OPEN_FILES), reason="open files have no names here")
def test_a_part_that_is_decoded_is_in_no_folder(path, values, tmp_path, monkeypatch):
    """So that a kill leaves nothing."""
    write(path, values)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen = []
    decoded = exr._decoded

    def noted(name):
        seen.append(os.listdir(tmp_path))
        return decoded(name)

    monkeypatch.setattr(exr, "_decoded", noted)
    MapFile.at(path, "opencv")
    assert seen
    assert all(names == ["m.exr"] for names in seen)
