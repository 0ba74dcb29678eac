"""Maps in zarr and TIFF that others made: read as they are, or refused in words."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest

from rayrelief.errors import FileError, InputError
from rayrelief.io import sources
from rayrelief.large import tiff_files
from rayrelief.large.arrays import MapFile
from rayrelief.large.frames import check_frame
from rayrelief.large.layout import Layout
from rayrelief.large.results import check_disk, check_place
from rayrelief.methods import Smooth

numcodecs = pytest.importorskip("numcodecs")
tifffile = pytest.importorskip("tifffile")
zarr = pytest.importorskip("zarr")

HEIGHT, WIDTH = 37, 50
WINDOWS = [
    np.s_[0:HEIGHT, 0:WIDTH],
    np.s_[16:32, 16:32],
    np.s_[15:33, 31:50],
    np.s_[36:37, 49:50],
]


@pytest.fixture
def values():
    return np.random.default_rng(0).normal(size=(HEIGHT, WIDTH, 3)).astype(np.float32)


def write(path, values, **options):
    """Array in chunks of 16 pixels a side."""
    usual = {"chunks": (16, 16, 3), "overwrite": True} | options
    zarr.create_array(path, shape=values.shape, dtype=values.dtype, **usual)[:] = values


def edit(path, name, **changes):
    """Change what describes an array."""
    head = json.loads((path / name).read_text())
    (path / name).write_text(json.dumps(head | changes))


# What is there is read


@pytest.mark.parametrize("compressor", ["zstd", "gzip", "blosc", "lz4", "zlib", None])
def test_windows_of_zarr(tmp_path, values, compressor):
    codec = {"compressors": numcodecs.get_codec({"id": compressor}) if compressor else None}
    write(tmp_path / "m.zarr", values, zarr_format=2, **codec)
    for window in WINDOWS:
        normals, mask = MapFile.at(tmp_path / "m.zarr", "opencv").read(window)
        np.testing.assert_array_equal(normals, values[window])
        assert mask.all()


def test_windows_of_shards(tmp_path, values):
    write(tmp_path / "m.zarr", values, shards=(32, 32, 3))
    for window in WINDOWS:
        normals, _ = MapFile.at(tmp_path / "m.zarr", "opencv").read(window)
        np.testing.assert_array_equal(normals, values[window])


@pytest.mark.parametrize(
    "options",
    [
        {"tile": (16, 16)},
        {"tile": (32, 16), "compression": "zlib"},
        {"tile": (16, 16), "byteorder": ">", "bigtiff": True},
        {"rowsperstrip": 5},
        {"rowsperstrip": 7, "compression": "zlib"},
        {},
    ],
)
def test_windows_of_tiff(tmp_path, values, options):
    tifffile.imwrite(tmp_path / "m.tif", values, photometric="rgb", **options)
    for window in WINDOWS:
        normals, _ = MapFile.at(tmp_path / "m.tif", "opencv").read(window)
        np.testing.assert_array_equal(normals, values[window])


def test_a_mask_beside_a_map(tmp_path, values):
    tifffile.imwrite(tmp_path / "m.tif", values, photometric="rgb", tile=(16, 16))
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    mask[3:20, 5:40] = 255
    tifffile.imwrite(tmp_path / "mask.tif", mask, tile=(16, 16))
    found = MapFile.at(tmp_path / "m.tif", "opencv", tmp_path / "mask.tif")
    np.testing.assert_array_equal(found.read(np.s_[0:30, 0:50])[1], mask[:30] > 0)


# What would harm is refused


@pytest.mark.parametrize("version", [2, 3])
def test_codecs_that_may_run_code_are_refused_unread(tmp_path, values, version):
    class Code:
        def __reduce__(self):
            return Path.touch, (tmp_path / "ran",)

    path = tmp_path / "m.zarr"
    write(path, values, zarr_format=version, chunks=(HEIGHT, WIDTH, 3))
    chunk = path / ("0.0.0" if version == 2 else "c/0/0/0")
    chunk.write_bytes(pickle.dumps(Code()))
    if version == 2:
        edit(path, ".zarray", compressor={"id": "pickle"})
    else:
        edit(path, "zarr.json", codecs=[{"name": "bytes"}, {"name": "numcodecs.pickle"}])
    with pytest.raises(FileError, match=r"codecs .*pickle"):
        MapFile.at(path, "opencv")
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
@pytest.mark.parametrize("name", ["zarr.json", "c/0/0/0", ""])
def test_pipes_in_a_map_are_refused(tmp_path, values, name):
    path = tmp_path / "m.zarr"
    if name:
        write(path, values)
        (path / name).unlink()
    os.mkfifo(path / name)
    with pytest.raises(FileError, match="named pipe" if name else "not a folder"):
        MapFile.at(path, "opencv").read(np.s_[0:16, 0:16])


@pytest.mark.parametrize("suffix", [".zarr", ".tif"])
def test_what_is_no_map_is_refused(tmp_path, suffix):
    (tmp_path / f"m{suffix}").write_bytes(b"x" * 100)
    with pytest.raises(FileError, match="damaged, or of a kind"):
        MapFile.at(tmp_path / f"m{suffix}", "opencv")


@pytest.mark.parametrize("compressor", ["zstd", "gzip", "blosc", "lz4", "zlib"])
def test_pieces_hold_no_more_than_their_pixels(compressor):
    data = numcodecs.get_codec({"id": compressor}).encode(np.zeros(100_000, np.uint8))
    check_frame(compressor, bytes(data), 100_000)
    with pytest.raises(ValueError, match="more than the 90,000 bytes"):
        check_frame(compressor, bytes(data), 90_000)
    with pytest.raises(ValueError, match="piece"):
        check_frame(compressor, b"\x78\x9c\xff", 90_000)


def test_several_streams_count_together():
    twice = zlib.compress(bytes(60_000)) * 2
    with pytest.raises(ValueError, match="more than"):
        check_frame("gzip", twice, 100_000)


def test_streams_without_end_are_refused():
    """Each costs as much as all that follow it."""
    with pytest.raises(ValueError, match="more than 100 streams"):
        check_frame("gzip", gzip.compress(b"") * 200_000, 1000)


@pytest.mark.parametrize("shards", [None, (128, 128, 3)])
def test_chunks_that_are_larger_than_they_declare_are_refused(tmp_path, shards):
    path = tmp_path / "m.zarr"
    write(path, np.ones((128, 128, 3), np.float32), chunks=(64, 64, 3), shards=shards)
    head = (path / "zarr.json").read_text()  # which then tells of half the pixels of a chunk
    half = head.replace(" 64", " 32")
    (path / "zarr.json").write_text(half.replace(" 128", " 64") if shards else half)
    window = np.s_[0:64, 0:64] if shards else np.s_[0:32, 0:32]
    with pytest.raises(FileError, match="more than the"):
        MapFile.at(path, "opencv").read(window)


def test_tiles_that_are_larger_than_they_declare_are_refused(tmp_path, values):
    path = tmp_path / "m.tif"
    tifffile.imwrite(path, values, photometric="rgb", tile=(16, 16), compression="zlib")
    with tifffile.TiffFile(path) as file:
        offset, length = (
            getattr(file.pages.first, n)[0] for n in ("dataoffsets", "databytecounts")
        )
    data = bytearray(path.read_bytes())
    bomb = zlib.compress(bytes(1_000_000))
    data[offset : offset + length] = bomb.ljust(length, b"\0")
    path.write_bytes(data)
    with pytest.raises(FileError, match="more than the 3,072 bytes"):
        MapFile.at(path, "opencv").read(np.s_[0:16, 0:16])


def test_chunks_larger_than_the_memory_are_refused(tmp_path, values, monkeypatch):
    write(tmp_path / "m.zarr", values)
    size = [1_000_000_000, 1_000_000_000, 3]
    grid = {"name": "regular", "configuration": {"chunk_shape": size}}
    edit(tmp_path / "m.zarr", "zarr.json", shape=size, chunk_grid=grid)
    monkeypatch.setattr(sources, "memory_available", lambda: 10**9)
    with pytest.raises(FileError, match="of memory to be read"):
        MapFile.at(tmp_path / "m.zarr", "opencv")


def test_maps_that_no_disk_holds_are_refused(tmp_path):
    with pytest.raises(InputError, match="is free"):
        check_disk(tmp_path, Layout.of(10**6, 10**6, 10**5), Smooth(), tmp_path / "work")


def test_what_lies_there_already_needs_no_place(tmp_path, monkeypatch):
    usage, layout = shutil.disk_usage(tmp_path)._replace(free=200_000), Layout.of(100, 50, 200)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    work = tmp_path / "work"
    with pytest.raises(InputError, match="needs about 0 MB"):
        check_disk(tmp_path, layout, Smooth(), work)  # 225,000 bytes
    work.mkdir()
    (work / "surface.0.0.npy").write_bytes(bytes(60_000))
    check_disk(tmp_path, layout, Smooth(), work)
    with pytest.raises(InputError, match="beside the"):
        check_disk(tmp_path, layout, Smooth(), work, mesh=True)


def test_what_is_damaged_in_the_place_of_a_result_is_not_ours(tmp_path):
    (tmp_path / "out.zarr").mkdir()
    (tmp_path / "out.zarr" / "zarr.json").write_text("[" * 2000)
    with pytest.raises(FileError, match="not the result of a map in blocks"):
        check_place(tmp_path / "out.zarr")


# Pieces


def test_pieces_that_take_much_of_the_memory_are_refused(tmp_path, values):
    write(tmp_path / "m.zarr", values, chunks=(40, 50, 3))  # 24,000 bytes
    write(tmp_path / "s.zarr", values, chunks=(16, 16, 3), shards=(48, 64, 3))  # 3,072 in a shard
    tifffile.imwrite(
        tmp_path / "m.tif", values, photometric="rgb", compression="zlib", rowsperstrip=37
    )
    tifffile.imwrite(tmp_path / "s.tif", values, photometric="rgb", compression="zlib")
    for name in ("m.zarr", "m.tif"):
        MapFile.at(tmp_path / name, "opencv", memory=4 * 24_000)
        with pytest.raises(FileError, match=r"pieces of \d+ x 50 pixels.*chunks of 512 x 512"):
            MapFile.at(tmp_path / name, "opencv", memory=4 * 22_000)
    MapFile.at(tmp_path / "s.zarr", "opencv", memory=4 * 3072)
    mask = np.ones((HEIGHT, WIDTH), np.uint16)
    write(tmp_path / "mask.zarr", mask, chunks=(37, 50))
    with pytest.raises(FileError, match=r"mask\.zarr is stored in pieces"):
        MapFile.at(tmp_path / "s.zarr", "opencv", tmp_path / "mask.zarr", memory=4 * 3072)


def test_of_a_plain_strip_only_some_rows_are_read(tmp_path, values, monkeypatch):
    monkeypatch.setattr(tiff_files, "STRIP_AT_A_TIME", 2000)  # bytes: three rows
    for options in ({"rowsperstrip": 20}, {"byteorder": ">"}, {}):
        tifffile.imwrite(tmp_path / "m.tif", values, photometric="rgb", **options)
        found = MapFile.at(tmp_path / "m.tif", "opencv", memory=4 * 2000)
        for window in WINDOWS:
            np.testing.assert_array_equal(found.read(window)[0], values[window])


def test_chunks_that_are_truncated_are_named(tmp_path, values):
    for compressors in (None, "auto"):
        write(tmp_path / "m.zarr", values, compressors=compressors)
        found = MapFile.at(tmp_path / "m.zarr", "opencv")
        chunk = tmp_path / "m.zarr" / "c" / "1" / "2" / "0"
        chunk.write_bytes(chunk.read_bytes()[:-50])
        with pytest.raises(FileError, match=r"the chunk c/1/2/0: "):
            found.read(np.s_[0:HEIGHT, 0:WIDTH])
    tifffile.imwrite(
        tmp_path / "m.tif", values, photometric="rgb", compression="zlib", rowsperstrip=8
    )
    found = MapFile.at(tmp_path / "m.tif", "opencv")
    with tifffile.TiffFile(tmp_path / "m.tif") as file:
        offset = file.pages.first.dataoffsets[3]
    data = bytearray((tmp_path / "m.tif").read_bytes())
    data[offset : offset + 40] = bytes(40)
    (tmp_path / "m.tif").write_bytes(data)
    with pytest.raises(FileError, match="piece 3 of the image"):
        found.read(np.s_[0:HEIGHT, 0:WIDTH])


# What is not read in blocks is told


def test_maps_that_are_not_there(tmp_path):
    for name in ("m.zarr", "m.tif", "m.png", "m.exr", "m"):
        with pytest.raises(FileError, match=rf"{name} does not exist"):
            MapFile.at(tmp_path / name, "opencv")


@pytest.mark.parametrize("kind", ["PNG", "NPY"])
def test_files_of_other_kinds(tmp_path, kind):
    path = tmp_path / f"m.{kind.lower()}"
    path.write_bytes(b"x")
    with pytest.raises(FileError, match=rf"a file of the kind {kind}.*a folder with -o .*convert"):
        MapFile.at(path, "opencv")


@pytest.mark.parametrize(("number", "name"), [(5, "LZW"), (7, "JPEG"), (50000, "ZSTD")])
def test_tiff_in_another_compression(tmp_path, values, number, name):
    tifffile.imwrite(
        tmp_path / "m.tif", values, photometric="rgb", tile=(16, 16), compression="zlib"
    )
    with tifffile.TiffFile(tmp_path / "m.tif", mode="r+b") as file:
        file.pages.first.tags["Compression"].overwrite(number)
    with pytest.raises(FileError, match=f"is compressed by {name}"):
        MapFile.at(tmp_path / "m.tif", "opencv")
