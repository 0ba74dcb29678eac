"""Files that once hung, crashed or filled the memory, made by rule."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise

import numpy as np

from fuzz.seeds import Role, Seed, mat_file, npy_file, npz_file, photo
from rayrelief.io.png_chunks import join_chunks

LINE = b"1 PINHOLE 10 10 1 1 5 5\n"


def hostile_files() -> Iterator[Seed]:
    """All of them."""
    for name, data in _texts().items():
        yield Seed(name, data if isinstance(data, bytes) else data.encode(), "camera")
    roles: tuple[Role, ...] = ("normals", "mask", "camera", "depth")
    for name, data in _arrays().items():
        for role in roles[:2] if name.endswith((".png", ".tif")) else roles:
            if role != "depth" or not name.endswith((".mat", ".jpg", ".h5")):
                yield Seed(name, data, role)


def _texts() -> dict[str, str | bytes]:
    letters = "abcdefghij"
    bomb = "".join(
        f"{here}: &{here} [{','.join([f'*{before}'] * 10)}]\n" for before, here in pairwise(letters)
    )
    merges = "".join(
        f"a{i + 1}: &a{i + 1}\n  <<: [{', '.join([f'*a{i}'] * 30)}]\n  k{i}: 1\n" for i in range(6)
    )
    entities = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
    frames = [{"file_path": f"{i}"} for i in range(40_000)]
    pinhole = {"fl_x": 10.0, "fl_y": 10, "cx": 5, "cy": 5, "w": 10, "h": 10}
    matrix = [[1, 0, 1], [0, 1, 1], [0, 0, 1]]
    return {
        "self.yaml": "camera_matrix: &a [*a]\n",
        "aliases.yaml": "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + bomb + "camera_matrix: *j\n",
        "merges.yaml": "a0: &a0 {k: 1}\n" + merges,
        "sexagesimal.yaml": "k: " + ":".join(["59"] * 330_000) + "\n",
        "flat.yaml": "camera_matrix: [" + ",".join(["1"] * 600_000) + "]\n",
        "deep.yaml": "- " * 300_000,
        "brackets.yaml": "a: " + "[" * 300_000,
        "questions.yaml": "? " * 300_000,
        "digits.txt": "1" * 20_000_000,
        "lines.txt": "1\n" * 3_000_000,
        "words.txt": "1 " * 3_000_000,
        "commas.txt": "1," * 3_000_000,
        "cameras.txt": LINE * 200_000,
        "deep.json": '{"a":' + "[" * 100_000,
        "frames.json": json.dumps(pinhole | {"frames": frames}),
        "matrices.json": json.dumps({f"camera_matrix{i}": matrix for i in range(40_000)}),
        "number.json": '{"camera_matrix": ' + "1" * 5_000_000 + "}",
        "nested.xml": "<a>" * 200_000 + "</a>" * 200_000,
        "elements.xml": "<document>" + '<sensor id="1"/>' * 200_000 + "</document>",
        "entities.xml": f'<!DOCTYPE x [<!ENTITY e0 "x">{entities}]><a>&e9;</a>',
        "data.xml": "<opencv_storage><camera_matrix><rows>3</rows><cols>3</cols><data>"
        + "1 " * 2_000_000
        + "</data></camera_matrix></opencv_storage>",
        "list.cameramodel": "{'imagersize': [1,1], 'lensmodel': [" + "1," * 300_000 + "]}",
        "minus.cameramodel": "{'imagersize': [1,1], 'lensmodel': " + "-" * 190_000 + "1}",
        "large.json": json.dumps(pinhole | {"w": 10**12, "h": 10**12}),
        "wide.json": json.dumps(pinhole | {"w": 10**6, "h": 10**6, "k1": -0.1}),
        "escape.json": json.dumps({"camera_matrix": "\x1b[2J\x1b]0;title\x07"}),
    }


def _arrays() -> dict[str, bytes]:
    zeros = zlib.compress(bytes(100_000_000), 9)
    return {
        "negative.npy": _npy_with_shape("(-5, 4, 3)"),
        "absurd.npy": _npy_with_shape(f"({10**18}, {10**18}, 3)"),
        "longer.npy": _npy_with_shape("(100000, 10000, 3)"),
        "no_tuple.npy": _npy_with_shape("[1, 2"),
        "empty.npy": npy_file(np.zeros((0, 5, 4), np.uint8)),
        "bomb.npz": npz_file(normals=np.zeros((10_000, 10_000), np.uint8)),
        "opposite.npy": npy_file(np.array([[[0, 0, 1.0], [0, 0, -1.0]]] * 2)),
        "nested.mat": _mat_header() + _nested_elements(3000),
        "compressed_twice.mat": _mat_header() + _compressed(_compressed(b"")),
        "bomb.mat": _mat_header() + struct.pack("<II", 15, len(zeros)) + zeros,
        "short_stream.mat": _mat_header() + _stream(64, bytes(48)),
        "dense.mat": _mat_header() + _stream(2**31 - 1, bytes(48)),
        "python2.npy": _npy_with_shape("(2L, 2L, 3L)"),
        "version.mat": _mat_header()[:124]
        + b"\x00\x02IM"
        + mat_file({"a": np.eye(3)}, False)[128:],
        "size.jpg": _jpeg(65500, 65500),
        "flat.jpg": _jpeg(65500, 0),
        "sparse.h5": _sparse_hdf5(),
        "cell.mat": mat_file({"a": np.array([[1], "x"], dtype=object)}, True),
        "large.png": _png(30_000, 30_000),
        "larger.png": _png(2**31 - 1, 2**31 - 1),
        "short.tif": _short_tiff(),
    }


def _npy_with_shape(shape: str) -> bytes:
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + bytes(96)


def _mat_header() -> bytes:
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"


def _nested_elements(depth: int) -> bytes:
    data = b""
    for _ in range(depth):
        data = struct.pack("<II", 14, len(data)) + data
    return data


def _compressed(data: bytes) -> bytes:
    packed = zlib.compress(struct.pack("<II", 15, len(data)) + data)
    return struct.pack("<II", 15, len(packed)) + packed


def _stream(declared: int, rest: bytes) -> bytes:
    """Compressed matrix, shorter than declared, with more bytes after the end of its stream."""
    head = struct.pack("<II II II ii II 8s", 6, 8, 6, 0, 5, 8, 3, 3, 1, 7, b"normals")
    packed = zlib.compress(struct.pack("<II", 14, declared) + head) + rest
    return struct.pack("<II", 15, len(packed)) + packed


def _png(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 16, 6, 0, 0, 0)
    return join_chunks([(b"IHDR", head), (b"IDAT", zlib.compress(bytes(10_000))), (b"IEND", b"")])


def _jpeg(width: int, height: int) -> bytes:
    data = bytearray(photo(np.zeros((8, 8, 3), np.uint8)) if find_spec("PIL") else b"\xff\xd8\xff")
    start = data.find(b"\xff\xc0")
    data[start + 5 : start + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def _sparse_hdf5() -> bytes:
    """A file of 1 kB that declares 36 GB."""
    if not find_spec("h5py"):
        return b"\x89HDF\r\n\x1a\n"
    import h5py

    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        file.create_dataset("normals", (40_000, 40_000, 3), "f8", chunks=(64, 64, 3))
    return stream.getvalue()


def _short_tiff() -> bytes:
    """An image of 12 rows that holds six."""
    width, height, rows = 16, 12, 6
    tags = [(256, width), (257, height), (258, 8), (259, 1), (262, 2), (273, 8), (277, 3)]
    tags += [(278, height), (279, width * rows * 3)]
    pixels = bytes(range(256)) * 2
    data = pixels[: width * rows * 3]
    directory = struct.pack("<H", len(tags))
    directory += b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    return b"II*\x00" + struct.pack("<I", 8 + len(data)) + data + directory + bytes(4)
