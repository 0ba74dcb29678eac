"""Triangles look at the camera, leave out what is missing, and cross no cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief import surface
from rayrelief.surface import grid_faces, grid_mesh, mean_angle, vertex_normals
from reference.random_maps import random_mask, random_rays

SEED = st.integers(0, 2**32 - 1)


def no_cuts(shape):
    return np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)


def pixels_of_faces(mesh, inside):
    """(F, 3, 2) pixels (v, u) of the corners of each face."""
    return np.argwhere(inside)[mesh.faces]


def brute_force(inside, cut_right, cut_down):
    """For each 2x2 block: how many triangles it can hold at most."""
    height, width = inside.shape
    counts = {}
    for v in range(height - 1):
        for u in range(width - 1):
            corners = [inside[v, u], inside[v, u + 1], inside[v + 1, u], inside[v + 1, u + 1]]
            top, bottom = cut_right[v, u], cut_right[v + 1, u]
            left, right = cut_down[v, u], cut_down[v, u + 1]
            # The triangle without a corner has the two sides that do not meet there.
            sides = [(bottom, right), (bottom, left), (top, right), (top, left)]
            possible = [
                all(corners[i] for i in range(4) if i != missing) and not any(sides[missing])
                for missing in range(4)
            ]
            whole = all(corners) and not (top or bottom or left or right)
            counts[v, u] = 2 if whole else int(any(possible))
    return counts


@given(SEED, st.integers(1, 8), st.integers(1, 8), st.booleans(), st.booleans())
def test_faces_are_oriented_towards_the_camera(seed, height, width, unit, rough):
    rng = np.random.default_rng(seed)
    rays = random_rays(rng, height, width, unit=unit)
    inside = random_mask(rng, height, width, density=0.8)
    depth = rng.uniform(1, 4, (height, width)) if rough else np.ones((height, width))
    mesh = grid_mesh(depth[..., None] * rays, inside, *no_cuts(inside.shape))
    first, second, third = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    assert (np.sum(np.cross(second - first, third - first) * first, axis=-1) < 0).all()
    touched = np.unique(mesh.faces)
    assert mesh.normals is not None
    if not rough:
        assert (np.sum(mesh.normals[touched] * mesh.vertices[touched], axis=-1) < 0).all()
    np.testing.assert_allclose(np.linalg.norm(mesh.normals[touched], axis=-1), 1)
    alone = np.setdiff1d(np.arange(len(mesh.vertices)), touched)
    assert np.isnan(mesh.normals[alone]).all()


@given(SEED, st.integers(1, 7), st.integers(1, 7), st.floats(0, 1), st.floats(0, 0.5))
def test_every_block_holds_as_many_faces_as_it_can(seed, height, width, density, cut_density):
    rng = np.random.default_rng(seed)
    inside = random_mask(rng, height, width, density=density)
    cut_right, cut_down = rng.random((2, height, width)) < cut_density
    points = rng.normal(size=(height, width, 3))
    mesh = grid_mesh(points, inside, cut_right, cut_down)
    np.testing.assert_array_equal(mesh.vertices, points[inside])

    found = dict.fromkeys(brute_force(inside, cut_right, cut_down), 0)
    for face in pixels_of_faces(mesh, inside):
        block = face.min(axis=0)
        assert (face.max(axis=0) - block == 1).all(), "a face lies in one block"
        assert len(np.unique(face, axis=0)) == 3
        found[tuple(block.tolist())] += 1
        for a in face:
            for b in face:
                assert not (np.array_equal(b - a, (0, 1)) and cut_right[tuple(a)])
                assert not (np.array_equal(b - a, (1, 0)) and cut_down[tuple(a)])
    assert found == brute_force(inside, cut_right, cut_down)


@given(SEED, st.integers(2, 7), st.integers(3, 7), st.floats(0, 0.5), st.booleans())
def test_no_face_has_a_diagonal_that_is_cut(seed, height, width, density, wraps):
    rng = np.random.default_rng(seed)
    inside = random_mask(rng, height, width, density=0.9)
    cut_right, cut_down, *across = rng.random((4, height, width)) < density
    vertices = rng.normal(size=(np.count_nonzero(inside), 3))
    cuts = vertices, inside, cut_right, cut_down
    faces = grid_faces(*cuts, cut_diagonals=np.array(across), wraps=wraps)
    for face in np.argwhere(inside)[faces]:
        for a in face:
            for b in face:
                down, right = b - a
                right = (right + 1) % width - 1 if wraps else right
                if down == 1 and right != 0:
                    falling = right == 1
                    assert not across[0 if falling else 1][a[0], a[1] if falling else b[1]]
    none = np.zeros((2, height, width), dtype=bool)
    np.testing.assert_array_equal(
        grid_faces(*cuts, cut_diagonals=none, wraps=wraps), grid_faces(*cuts, wraps=wraps)
    )


@pytest.mark.parametrize("missing", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_one_missing_corner_leaves_one_triangle(missing):
    inside = np.ones((2, 2), dtype=bool)
    inside[missing] = False
    rays = random_rays(np.random.default_rng(1), 2, 2)
    mesh = grid_mesh(rays, inside, *no_cuts((2, 2)))
    assert sorted(mesh.faces.ravel().tolist()) == [0, 1, 2]


@pytest.mark.parametrize("diagonal", [((0, 0), (1, 1)), ((0, 1), (1, 0))])
def test_a_whole_block_is_split_along_its_shorter_diagonal(diagonal):
    points = np.array([[[0.0, 0, 1], [1, 0, 1]], [[0, 1, 1], [1, 1, 1]]])
    for pixel in diagonal:
        points[pixel][:2] += 0.2 * (0.5 - points[pixel][:2])  # pulls the ends together
    mesh = grid_mesh(points, np.ones((2, 2), dtype=bool), *no_cuts((2, 2)))
    shared = set(mesh.faces[0].tolist()) & set(mesh.faces[1].tolist())
    assert shared == {2 * v + u for v, u in diagonal}


def test_a_plane_has_one_normal():
    rays = random_rays(np.random.default_rng(3), 8, 9)
    normal = np.array([0.3, -0.2, -1.0]) / np.linalg.norm([0.3, -0.2, -1.0])
    points = rays / -(rays @ normal)[..., None]
    mesh = grid_mesh(points, np.ones((8, 9), dtype=bool), *no_cuts((8, 9)))
    assert mesh.normals is not None
    np.testing.assert_allclose(mesh.normals, np.tile(normal, (72, 1)), atol=1e-12)


def test_normals_are_weighted_by_area():
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 3]])
    faces = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)
    expected = np.array([3.0, 0, 1]) / np.sqrt(10)  # areas 1/2 towards z and 3/2 towards x
    np.testing.assert_allclose(vertex_normals(vertices, faces)[0], expected)


@given(SEED, st.integers(1, 30), st.integers(0, 60))
def test_normals_are_those_of_a_sum_over_the_faces_around(seed, vertex_count, face_count):
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(vertex_count, 3))
    faces = rng.integers(0, vertex_count, (face_count, 3)).astype(np.int32)
    total = np.zeros((vertex_count, 3))
    for i, j, k in faces:
        for vertex in (i, j, k):
            total[vertex] += np.cross(vertices[j] - vertices[i], vertices[k] - vertices[i])
    length = np.linalg.norm(total, axis=1, keepdims=True)
    expected = np.where(length > 0, total / np.where(length > 0, length, 1), np.nan)
    np.testing.assert_array_equal(vertex_normals(vertices, faces), expected)


@pytest.mark.parametrize("degrees", [0.0, 1e-7, 1.0, 90.0, 179.9999999, 180.0])
def test_mean_angle_is_accurate_for_every_angle(degrees):
    first = np.array([[0.0, 0, -1], [np.nan, 0, 0], [1, 0, 0]])
    turn = np.radians(degrees)
    second = np.array([[np.sin(turn), 0, -np.cos(turn)], [0, 0, 1], [np.nan, 0, 0]])
    assert mean_angle(first, second) == pytest.approx(degrees, rel=1e-8, abs=1e-13)


def test_mean_angle_of_nothing_is_not_a_number():
    assert np.isnan(mean_angle(np.full((2, 3), np.nan), np.ones((2, 3))))


@given(SEED, st.integers(1, 40), st.integers(1, 50))
def test_the_mean_angle_does_not_depend_on_the_blocks(seed, count, block):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, count, 3))
    first[rng.random(count) < 0.2] = np.nan
    whole = mean_angle(first, second)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surface, "VECTORS_AT_A_TIME", block)
        np.testing.assert_array_equal(mean_angle(first, second), whole)
    cosine = np.sum(first * second, axis=1) / np.linalg.norm(first, axis=1)
    angles = np.degrees(np.arccos(cosine / np.linalg.norm(second, axis=1)))
    if np.isfinite(angles).any():
        assert whole == pytest.approx(np.nanmean(angles), rel=1e-6)
