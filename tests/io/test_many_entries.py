"""Files of very many entries are refused before a library reads them, however small each one is.

Some libraries take the square of their number: 6 MB of channels or of materials took over a minute.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from fuzz.seeds import mat_file
from rayrelief.errors import FileError
from rayrelief.io.arrays import read_array
from rayrelief.io.exr import write_exr
from rayrelief.io.mesh_reading import read_triangles
from rayrelief.io.png_chunks import join_chunks, split_chunks
from rayrelief.io.reports import read_report
from rayrelief.large.zarr_files import read_head

MANY = 10_001
PIXEL = np.ones((1, 1, 3), np.uint8)


def encoded(suffix: str) -> bytes:
    return bytes(cv2.imencode(suffix, PIXEL)[1])


def exr(folder: Path, old: bytes, new: bytes) -> bytes:
    write_exr(folder / "one.exr", dict.fromkeys("RGB", PIXEL[..., 0]))
    data = (folder / "one.exr").read_bytes()
    assert old in data
    return data.replace(old, new, 1)


def exr_attributes(folder: Path) -> bytes:
    more = b"".join(b"a%d\0string\0\1\0\0\0a" % number for number in range(MANY))
    return exr(folder, b"channels\0", more + b"channels\0")


def exr_channels(folder: Path) -> bytes:
    listed = b"".join(b"%d\0" % number + bytes(16) for number in range(MANY)) + b"\0"
    size = struct.pack("<I", len(listed))
    return exr(folder, b"channels\0", b"channels\0chlist\0" + size + listed + b"channels\0")


def exr_parts(folder: Path) -> bytes:
    several = exr(folder, b"\x02\0\0\0", b"\x02\x10\0\0")
    return several[:8] + b"a\0string\0\0\0\0\0\0" * MANY


def archive(large: bool) -> Callable[[Path], bytes]:
    def make(_: Path) -> bytes:
        member = struct.pack("<4s24xH16x", b"PK\x01\x02", 4)
        members = b"".join(member + b"%04x" % number for number in range(MANY))
        sizes = (len(members), 4)
        before = b""
        if large:
            before = struct.pack("<4sQ12x4Q", b"PK\x06\x06", 44, MANY, MANY, *sizes)
            before += struct.pack("<4s4xQI", b"PK\x06\x07", 4 + len(members), 1)
            sizes = (46, 4)  # of which nothing is believed then
        end = struct.pack("<4s4xHHII2x", b"PK\x05\x06", MANY, MANY, *sizes)
        return b"PK\x03\x04" + members + before + end

    return make


def mat(_: Path) -> bytes:
    data = mat_file({"a": 1.0}, compressed=False)
    return data[:128] + data[128:] * MANY


def hdf5(folder: Path) -> bytes:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "many.h5", "w") as file:
        for number in range(MANY):
            file.create_group(str(number))
    return (folder / "many.h5").read_bytes()


def png(_: Path) -> bytes:
    head, *rest = split_chunks(encoded(".png"))
    return join_chunks([head, *[(b"tEXt", b"a\0b")] * (MANY + 200), *rest])


def jpeg(piece: bytes) -> Callable[[Path], bytes]:
    return lambda _: encoded(".jpg")[:2] + piece * MANY + encoded(".jpg")[2:]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        pytest.param("a.exr", exr_attributes, id="attributes of EXR"),
        pytest.param("a.exr", exr_channels, id="channels of EXR"),
        pytest.param("a.exr", exr_parts, id="parts of EXR"),
        pytest.param("a.npz", archive(large=False), id="members of an archive"),
        pytest.param("a.npz", archive(large=True), id="members of a large archive"),
        pytest.param("a.mat", mat, id="variables of MATLAB"),
        pytest.param("a.h5", hdf5, id="groups of HDF5"),
        pytest.param("a.png", png, id="chunks of PNG"),
        pytest.param("a.jpg", jpeg(b"\xff\xfe\0\2"), id="segments of JPEG"),
        pytest.param("a.jpg", jpeg(b"\xff"), id="fill bytes of JPEG"),
    ],
)
def test_an_image_of_very_many_entries_is_refused(tmp_path, name, make):
    (tmp_path / name).write_bytes(make(tmp_path))
    with pytest.raises(FileError, match=r"\d,\d{3} [a-z ]+, at most 10,\d{3} are read"):
        read_array(tmp_path / name)


def test_groups_deep_in_each_other_are_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("/".join("g" * 102), data=1.0)
    with pytest.raises(FileError, match="101 groups in each other, at most 100 are read"):
        read_array(tmp_path / "a.h5")


def glb(tree: dict[str, object]) -> bytes:
    text = json.dumps(tree).encode()
    head = struct.pack("<4sII", b"glTF", 2, 20 + len(text))
    return head + struct.pack("<I4s", len(text), b"JSON") + text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.obj", b"v 0 0 1\nv 1 0 1\nv 0 1 1\n" + b"usemtl a\nf 1 2 3\n" * 1001),
        ("a.stl", b"solid a\nendsolid a\n" * 1001),
        ("a.glb", glb({"nodes": [{"children": [number + 1]} for number in range(1001)]})),
        ("b.glb", glb({"meshes": [{"primitives": []}] * 1001})),
        ("c.glb", glb({"x": [{}] * 1_000_001})),
    ],
)
def test_a_file_of_very_many_meshes_is_refused(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FileError, match=r"(meshes|parts), at most 1,000(,000)? are read"):
        read_triangles(tmp_path / name)


def test_json_of_very_many_parts_is_not_parsed(tmp_path):
    report = {"rayrelief": "0", "components": [1] * 1_000_000}
    (tmp_path / "report.json").write_text(json.dumps(report))
    assert read_report(tmp_path / "report.json") == report
    (tmp_path / "report.json").write_text(json.dumps(report | {"x": [{}] * 1_000_000}))
    assert read_report(tmp_path / "report.json") is None
    (tmp_path / "zarr.json").write_text(json.dumps({"x": [{}] * 1_000_000}))
    with pytest.raises(ValueError, match="at most 1,000,000 are read"):
        read_head(tmp_path)
