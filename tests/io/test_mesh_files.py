"""Meshes to files, read back by trimesh or by hand."""

from __future__ import annotations

import json
import struct
from dataclasses import replace

import numpy as np
import pytest
import trimesh

from rayrelief.errors import FileError, InputError
from rayrelief.io import meshes
from rayrelief.io.meshes import SUFFIXES, write_mesh
from rayrelief.mesh import Mesh


def square(normals=True):
    """Two triangles that face the camera, in the OpenCV frame."""
    vertices = np.array([[0.0, 0, 5], [1, 0, 5.25], [0, 1, 5.5], [1, 1, 5.75]])
    faces = np.array([[0, 2, 1], [1, 2, 3]], dtype=np.int32)
    normal = np.array([0.25, 0.5, -1.0])
    facing = np.tile(normal / np.linalg.norm(normal), (4, 1))
    return Mesh(vertices, faces, facing if normals else None)


OPENGL = np.array([1.0, -1.0, -1.0])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip(tmp_path, suffix):
    mesh = square()
    path = tmp_path / "new" / f"m{suffix}"
    write_mesh(path, mesh)
    read = trimesh.load(path, process=False, force="mesh", maintain_order=True)
    signs = OPENGL if suffix == ".glb" else 1.0
    # Formats differ in how they number vertices: corners of triangles do not.
    np.testing.assert_allclose(read.triangles, mesh.vertices[mesh.faces] * signs, atol=1e-7)
    np.testing.assert_allclose(read.face_normals, mesh.normals[:2] * signs, atol=1e-6)
    if suffix != ".stl":
        np.testing.assert_allclose(read.vertex_normals, mesh.normals * signs, atol=1e-6)
    assert list(path.parent.iterdir()) == [path]


def test_glb_stands_upright_and_faces_the_viewer(tmp_path):
    write_mesh(tmp_path / "m.glb", square())
    data = (tmp_path / "m.glb").read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    tree = json.loads(data[20 : 20 + length])
    (part,) = tree["meshes"][0]["primitives"]
    position = tree["accessors"][part["attributes"]["POSITION"]]
    assert position["max"][1] == 0.0  # rows further down the image have a smaller y
    assert position["max"][2] == -5.0  # the surface lies in front of a viewer that looks along -z
    # What says nothing of it is metal.
    matt = tree["materials"][part["material"]]["pbrMetallicRoughness"]
    assert matt["metallicFactor"] == 0.0
    assert all(view["byteOffset"] % 4 == 0 for view in tree["bufferViews"])
    assert len(data) == struct.unpack_from("<I", data, 8)[0]


@pytest.mark.parametrize("normals", [True, False])
def test_ply_is_binary_and_has_normals_only_if_the_mesh_has(tmp_path, normals):
    write_mesh(tmp_path / "m.ply", square(normals))
    header = (tmp_path / "m.ply").read_bytes().split(b"end_header")[0]
    assert b"binary_little_endian" in header
    assert (b"property float nx" in header) == normals


@pytest.mark.parametrize("block", [1, 3, 100])
@pytest.mark.parametrize("normals", [True, False])
def test_ply_holds_the_bytes_that_trimesh_writes(tmp_path, monkeypatch, block, normals):
    monkeypatch.setattr(meshes, "BLOCK", block)
    mesh = square(normals)
    if mesh.normals is not None:
        mesh.normals[1] = np.nan  # a vertex without a face
    write_mesh(tmp_path / "m.ply", mesh)
    same = trimesh.Trimesh(mesh.vertices, mesh.faces, vertex_normals=mesh.normals, process=False)
    expected = same.export(file_type="ply")
    found = (tmp_path / "m.ply").read_bytes()
    data = found.partition(b"end_header\n")[2]
    assert data
    assert data == expected.partition(b"end_header\n")[2]
    fields = [line for line in expected.splitlines() if line.startswith((b"element", b"property"))]
    assert [line for line in found.splitlines() if line in fields] == fields


@pytest.mark.parametrize("suffix", [".ply", ".obj"])
@pytest.mark.parametrize("unit", [1e-9, 1 / 3, 1e9])
def test_no_digit_of_a_32_bit_float_is_lost_in_any_unit(tmp_path, suffix, unit):
    mesh = Mesh(unit * square().vertices, square().faces)
    write_mesh(tmp_path / f"m{suffix}", mesh)
    read = trimesh.load(tmp_path / f"m{suffix}", process=False, maintain_order=True)
    np.testing.assert_array_equal(read.vertices.astype(np.float32), mesh.vertices.astype("f4"))


def test_points_without_faces(tmp_path):
    mesh = Mesh(square().vertices, np.zeros((0, 3), np.int32))
    write_mesh(tmp_path / "m.ply", mesh)
    np.testing.assert_array_equal(trimesh.load(tmp_path / "m.ply").vertices, mesh.vertices)
    write_mesh(tmp_path / "m.obj", mesh)
    lines = (tmp_path / "m.obj").read_text().splitlines()
    vertices = [[float(x) for x in line.split()[1:]] for line in lines if line.startswith("v ")]
    np.testing.assert_array_equal(vertices, mesh.vertices)
    assert not any(line.startswith("f") for line in lines)
    for suffix in (".stl", ".glb"):
        with pytest.raises(InputError, match=r"no faces.*\.ply or \.obj"):
            write_mesh(tmp_path / f"m{suffix}", mesh)


def test_refusals_leave_no_file(tmp_path):
    with pytest.raises(FileError, match=r"\.ply, \.obj, \.glb, \.stl"):
        write_mesh(tmp_path / "m.fbx", square())
    nothing = Mesh(np.zeros((0, 3)), np.zeros((0, 3), np.int32))
    with pytest.raises(InputError, match="no vertices"):
        write_mesh(tmp_path / "m.ply", nothing)
    holes = Mesh(np.full((4, 3), np.nan), square().faces)
    with pytest.raises(InputError, match="not finite"):
        write_mesh(tmp_path / "m.ply", holes)
    assert list(tmp_path.iterdir()) == []


PICTURE = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 128, 0]]], np.uint8)


def coloured_square():
    mesh = square()
    pixels = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], np.int32)
    return replace(mesh, pixels=pixels).coloured(PICTURE, (2, 2))


@pytest.mark.parametrize("suffix", [".ply", ".obj", ".glb"])
def test_colours_come_back(tmp_path, suffix):
    if suffix == ".glb":
        pytest.importorskip("PIL", reason="trimesh reads pictures by Pillow")
    write_mesh(tmp_path / f"m{suffix}", coloured_square())
    read = trimesh.load(tmp_path / f"m{suffix}", process=False, force="mesh", maintain_order=True)
    visual = read.visual.to_color() if suffix == ".glb" else read.visual
    signs = OPENGL if suffix == ".glb" else 1.0
    colours = {
        tuple(vertex): tuple(colour[:3])
        for vertex, colour in zip(
            (read.vertices * signs).tolist(), visual.vertex_colors.tolist(), strict=True
        )
    }
    expected = zip(square().vertices.tolist(), PICTURE.reshape(-1, 3).tolist(), strict=True)
    assert colours == {tuple(vertex): tuple(colour) for vertex, colour in expected}


def test_glb_holds_the_whole_picture_upright(tmp_path):
    pytest.importorskip("PIL", reason="trimesh reads pictures by Pillow")
    larger = PICTURE.repeat(8, axis=0).repeat(8, axis=1)
    mesh = coloured_square()
    write_mesh(tmp_path / "m.glb", mesh.coloured(larger, (2, 2)))
    read = trimesh.load(tmp_path / "m.glb", force="mesh")
    np.testing.assert_array_equal(
        np.asarray(read.visual.material.baseColorTexture)[..., :3], larger
    )
    # trimesh counts from the lower left corner: rows further down the image have a smaller v.
    down = read.visual.uv[:, 1] - read.vertices[:, 1] / 2
    np.testing.assert_allclose(down, down[0], atol=1e-6)


def test_glb_is_in_metres_if_the_unit_is_known(tmp_path):
    write_mesh(tmp_path / "m.glb", replace(square(), unit="mm"))
    read = trimesh.load(tmp_path / "m.glb", force="mesh")
    np.testing.assert_allclose(read.extents, np.ptp(square().vertices, axis=0) / 1000, rtol=1e-6)
    write_mesh(tmp_path / "m.ply", replace(square(), unit="mm"))
    np.testing.assert_array_equal(trimesh.load(tmp_path / "m.ply").extents, [1, 1, 0.75])


def test_points_that_had_faces_keep_their_normals(tmp_path):
    mesh = replace(coloured_square(), faces=square().faces[:0])
    write_mesh(tmp_path / "m.ply", mesh)
    names = (tmp_path / "m.ply").read_bytes().split(b"end_header")[0]
    assert b"property float nx" in names
    assert b"element face" not in names
    read = trimesh.load(tmp_path / "m.ply")
    np.testing.assert_array_equal(read.vertices, mesh.vertices)
    np.testing.assert_array_equal(read.colors[:, :3], PICTURE.reshape(-1, 3))


def test_quads_are_one_face_for_two_triangles(tmp_path):
    write_mesh(tmp_path / "m.obj", coloured_square(), quads=True)
    (face,) = [x for x in (tmp_path / "m.obj").read_text().splitlines() if x.startswith("f ")]
    ring = [int(corner.split("/")[0]) for corner in face.split()[1:]]
    start = ring.index(1)
    assert ring[start:] + ring[:start] == [1, 3, 4, 2], "counter-clockwise seen from the camera"
    with pytest.raises(FileError, match=r"\.obj"):
        write_mesh(tmp_path / "m.ply", coloured_square(), quads=True)
