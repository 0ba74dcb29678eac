"""Meshes of strangers."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest

from rayrelief import write_mesh
from rayrelief.errors import FileError
from rayrelief.io.mesh_reading import read_triangles
from rayrelief.mesh import Mesh


def test_triangles_of_stl_files_share_their_vertices(tmp_path):
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.5]])
    faces = np.array([[0, 1, 2], [2, 1, 3]], np.int32)
    write_mesh(tmp_path / "mesh.stl", Mesh(vertices, faces))
    mesh = read_triangles(tmp_path / "mesh.stl")
    assert len(mesh.vertices) == 4
    np.testing.assert_array_equal(mesh.vertices[mesh.faces], vertices[faces])


def test_a_glb_without_accessors_is_damaged(tmp_path):
    text = (
        b'{"asset":{"version":"2.0"},"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}]}  '
    )
    with pytest.raises(FileError, match="damaged"):
        read_triangles(glb(tmp_path, text))


def glb(folder, text, content=b""):
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    chunks += struct.pack("<II", len(content), 0x004E4942) + content if content else b""
    path = folder / "mesh.glb"
    path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks)
    return path


@pytest.mark.parametrize(
    ("part", "times"),
    [
        *(("nodes", 4), ("nodes", 50), ("parents", 50), ("primitives", 50), ("meshes", 50)),
        *(
            ("accessors", 50),
            ("bufferViews", 50),
            ("bare accessor", 1),
            ("count", -1),
            ("byteLength", -1),
        ),
    ],
)
def test_a_glb_that_uses_its_parts_again_and_again_is_refused(tmp_path, part, times):
    """A small file would take the memory of a large one."""
    corners = np.random.default_rng(0).random((3000, 3)).astype(np.float32)
    tree: dict[str, Any] = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3000, "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteLength": corners.nbytes}],
        "buffers": [{"byteLength": corners.nbytes}],
    }
    if part == "bare accessor":
        tree["accessors"] += [{"componentType": 5126, "count": 10**6, "type": "MAT4"}]
    elif times < 0:  # which would mean all that there is
        tree["accessors" if part == "count" else "bufferViews"][0][part] = times
    elif part == "parents":
        tree["nodes"] += [{"children": [0]}] * times
        tree["scenes"] = [{"nodes": list(range(1, times + 1))}]
    elif part == "primitives":
        tree["meshes"][0]["primitives"] *= times
    else:
        tree[part] *= times
        tree["scenes"] = [{"nodes": list(range(len(tree["nodes"])))}]
    path = glb(tmp_path, json.dumps(tree).encode(), corners.tobytes())
    if times == 4:
        assert len(read_triangles(path).faces) == 4 * 1000
    else:
        with pytest.raises(FileError, match=r"times as large as the file|no counts"):
            read_triangles(path)
