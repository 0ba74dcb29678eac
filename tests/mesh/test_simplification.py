"""Distances to meshes, and fewer faces within one."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from trimesh.proximity import closest_point_naive

import rayrelief
from profiles import fewer_examples
from rayrelief.cameras import Orthographic
from rayrelief.errors import InputError
from rayrelief.io.meshes import write_mesh
from rayrelief.mesh import Mesh, distance
from rayrelief.mesh.borders import is_closed
from rayrelief.mesh.closing import closed
from rayrelief.mesh.distance import farthest
from rayrelief.mesh.quads import quads_of
from rayrelief.mesh.seams import without_seam
from rayrelief.mesh.simplification import _as_files_tell_apart
from rayrelief.surface import grid_mesh
from rayrelief.synthetic import GALLERY
from rayrelief.synthetic.gallery import plane

SEED = st.integers(0, 2**32 - 1)


def bumpy(side=40, height=1.0):
    """Smooth sheet with pixels, in the unit of a pixel."""
    v, u = np.indices((side, side)).astype(float)
    depth = 10 + height * np.sin(u / 6) * np.cos(v / 5)
    inside, none = np.ones((side, side), bool), np.zeros((side, side), bool)
    mesh = grid_mesh(np.stack((u, v, depth), axis=-1), inside, none, none)
    pixels = np.argwhere(inside)[:, ::-1].astype(np.int32)
    return Mesh(mesh.vertices, mesh.faces, mesh.normals, pixels=pixels)


@fewer_examples(20)
@given(SEED, st.integers(1, 30), st.integers(1, 20), st.floats(0.1, 5))
def test_the_farthest_point_is_that_of_all_pairs(seed, face_count, point_count, limit):
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(3 * face_count, 3))
    faces = np.arange(3 * face_count, dtype=np.int32).reshape(-1, 3)
    points = 2 * rng.normal(size=(point_count, 3))
    naive = trimesh.Trimesh(vertices, faces, process=False)
    expected = closest_point_naive(naive, points)[1].max()
    found = farthest(points, vertices, faces, limit)
    assert found == pytest.approx(expected) if expected < limit else np.isinf(found)


def test_no_cell_holds_a_whole_row_of_a_flat_base(monkeypatch):
    looked_at = []

    def watched(points, vertices, faces, grid, limit, starts, held):
        looked_at.append(np.diff(starts).max())
        return 0.0

    monkeypatch.setattr(distance, "_farthest", watched)
    mesh = bumpy()
    for sides in np.eye(3, dtype=int)[[[0, 1, 2], [1, 2, 0], [2, 0, 1]]]:
        vertices = mesh.vertices * (1.0, 0.5, 0.0) @ sides
        vertices[:5] += 30 * sides[2]  # deeper than the shorter side of the base
        farthest(vertices, vertices, mesh.faces, 0.01)
    assert max(looked_at) < 40


def test_a_triangle_without_an_area_is_its_longest_edge():
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [3, 0, 0]])
    points = np.array([[2.0, 1, 0]])
    assert farthest(points, vertices, np.array([[0, 1, 2]], np.int32), 5.0) == pytest.approx(1)


@pytest.mark.parametrize("bound", [0.01, 0.03, 0.3])
@pytest.mark.parametrize("solid", [False, True])
def test_fewer_faces_stay_within_the_error(bound, solid):
    pytest.importorskip("fast_simplification")
    mesh = bumpy()
    if solid:
        back = mesh.vertices * (1, 1, 0) + (0, 0, 14)
        mesh = Mesh(*closed(mesh.vertices, back, mesh.faces), solid=True)
    fewer = mesh.simplified(bound)
    assert len(fewer.faces) < (0.7 if bound > 0.01 else 1) * len(mesh.faces)
    assert is_closed(fewer.faces, len(fewer.vertices)) == solid
    there = trimesh.Trimesh(fewer.vertices, fewer.faces, process=False)
    back_again = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    some = np.random.default_rng(0).choice(len(mesh.vertices), 150)
    assert closest_point_naive(there, mesh.vertices[some])[1].max() <= bound
    assert closest_point_naive(back_again, fewer.vertices[:150])[1].max() <= bound
    if not solid:
        assert fewer.normals is not None
        np.testing.assert_allclose(np.linalg.norm(fewer.normals, axis=1), 1)
        pixels = fewer.known_pixels()
        assert np.abs(pixels - fewer.vertices[:, :2]).max() < 1, "the pixel next to each vertex"


def test_points_alone_stay_as_they_are():
    pytest.importorskip("fast_simplification")
    mesh = bumpy(4)
    points = replace(mesh, faces=mesh.faces[:0])
    assert points.simplified(0.1) is points


@pytest.mark.parametrize("unit", [1e-3, 25.4, 1e6])
def test_the_unit_of_a_mesh_does_not_matter(unit):
    pytest.importorskip("fast_simplification")
    mesh = bumpy()
    in_other_unit = replace(mesh, vertices=unit * mesh.vertices)
    expected, found = mesh.simplified(0.03), in_other_unit.simplified(0.03 * unit)
    assert len(expected.faces) < 0.5 * len(mesh.faces)
    assert len(found.faces) == pytest.approx(len(expected.faces), rel=0.02)


@pytest.mark.parametrize(("apart", "joined"), [(0.0, True), (1.5, True), (4.0, False)])
def test_vertices_that_32_bits_do_not_tell_apart_are_one(apart, joined):
    body = trimesh.creation.box().subdivide().subdivide()
    vertices, faces = np.array(body.vertices) + 1.0, np.array(body.faces, np.int32)
    a, b = faces[0, :2]
    vertices[b] = vertices[a] + [0.0, 0.0, apart * np.finfo(np.float32).eps * 1.5]
    found, left = _as_files_tell_apart(vertices, faces)
    assert len(vertices) - len(found) == (1 if joined else 0)
    assert len(faces) - len(left) == (2 if joined else 0)


@pytest.mark.parametrize("name", ["sphere", "steps"])
@pytest.mark.parametrize("suffix", [".stl", ".ply", ".glb"])
def test_a_body_whose_edges_shrink_to_nothing_is_watertight_in_files(suffix, name, tmp_path):
    pytest.importorskip("fast_simplification")
    scene = GALLERY[name](24, 24, Orthographic(1 / 12))
    method = rayrelief.Smooth()
    result = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask, method=method)
    body = result.solid()
    fewer = body.simplified(0.1)
    assert len(fewer.faces) < 0.6 * len(body.faces)
    there = trimesh.Trimesh(fewer.vertices, fewer.faces, process=False)
    assert closest_point_naive(there, body.vertices)[1].max() <= 0.1
    write_mesh(tmp_path / f"m{suffix}", fewer)
    written = trimesh.load(tmp_path / f"m{suffix}", force="mesh")
    written.merge_vertices()
    assert written.is_watertight


@pytest.mark.parametrize("solid", [False, True])
def test_large_faces_of_a_flat_picture_keep_their_places_in_it(solid):
    pytest.importorskip("fast_simplification")
    scene = plane(24, 32, Orthographic(0.1))
    result = rayrelief.integrate(scene.normals, scene.camera, method=rayrelief.Smooth())
    mesh = result.solid() if solid else result.mesh()
    fewer = mesh.simplified(1e-3)
    # How large faces become where all are as flat hangs on the last digits: one from side to side.
    corners = np.argsort(fewer.known_pixels()[:, 0], kind="stable")[
        [0, len(fewer.vertices) // 2, -1]
    ]
    large = replace(fewer, faces=corners[None].astype(np.int32))
    large = large.coloured(np.zeros((24, 32, 3), np.uint8), (24, 32))
    assert large.texture is not None
    across = large.texture.places[large.faces, 0]
    assert np.ptp(across) > 0.5
    written = without_seam(large)
    assert written.texture is not None
    np.testing.assert_array_equal(written.texture.places[written.faces, 0], across)


def test_a_tighter_error_leaves_more_faces():
    pytest.importorskip("fast_simplification")
    counts = [len(bumpy().simplified(bound).faces) for bound in (0.003, 0.03, 0.3)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 4 * counts[-1]


def test_an_error_that_is_none_is_refused():
    with pytest.raises(InputError, match="max_error is 0"):
        bumpy().simplified(0)


def test_without_the_library_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fast_simplification", None)
    with pytest.raises(InputError, match="pip install"):
        bumpy().simplified(0.1)


def test_quads_of_a_simplified_mesh_are_blocks_of_pixels():
    fewer = replace(bumpy(height=0.2), wraps=False).simplified(0.01)
    quads, triangles = quads_of(fewer)
    assert 2 * len(quads) + len(triangles) == len(fewer.faces)
    assert (np.ptp(fewer.known_pixels()[quads], axis=1) == 1).all()
