"""Meshes of strangers."""

from __future__ import annotations

import struct

import pytest

from rayrelief.errors import FileError
from rayrelief.io.mesh_reading import read_triangles


def test_a_glb_without_accessors_is_damaged(tmp_path):
    text = (
        b'{"asset":{"version":"2.0"},"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}]}  '
    )
    text += b" " * (-len(text) % 4)
    head = struct.pack("<4sIIII", b"glTF", 2, 20 + len(text), len(text), 0x4E4F534A)
    path = tmp_path / "mesh.glb"
    path.write_bytes(head + text)
    with pytest.raises(FileError, match="damaged"):
        read_triangles(path)
