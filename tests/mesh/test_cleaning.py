"""Shreds and specks: what is no surface is told from what is."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.mesh.cleaning import shreds, specks, used_vertices
from rayrelief.surface import grid_faces

SEED = st.integers(0, 2**32 - 1)


def sheet(height, width, depth):
    """Vertices and faces of a depth (H, W) seen by parallel rays, without any cut."""
    v, u = np.indices((height, width)).astype(float)
    vertices = np.stack((u, v, np.broadcast_to(depth, (height, width))), axis=-1).reshape(-1, 3)
    inside, none = np.ones((height, width), bool), np.zeros((height, width), bool)
    return vertices, grid_faces(vertices, inside, none, none)


def facing(count):
    return np.tile((0.0, 0.0, -1.0), (count, 1))


def test_a_strip_beside_a_jump_is_a_shred_and_the_rest_is_not():
    vertices, faces = sheet(6, 8, np.where(np.arange(8) < 4, 0.0, 5.0))
    torn = np.zeros((6, 8), bool)
    torn[:, 3] = True
    found = shreds(vertices, faces, facing(48), torn.ravel())
    across = np.ptp(vertices[faces, 2], axis=1) > 0
    assert across.sum() == 2 * 5
    np.testing.assert_array_equal(found, across)
    nothing = shreds(vertices, faces, facing(48), np.zeros(48, bool))
    assert not nothing.any(), "without a jump beside it a steep face may be a crease"


@given(SEED)
def test_noise_of_the_normals_makes_no_shreds(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = sheet(12, 12, 0.0)
    normals = facing(144) + 0.2 * rng.normal(size=(144, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    assert shreds(vertices, faces, normals, np.ones(144, bool)).mean() < 0.05


@given(SEED, st.integers(2, 12), st.integers(2, 12), st.integers(1, 30))
def test_specks_are_the_small_parts_that_a_search_finds(seed, height, width, min_part):
    rng = np.random.default_rng(seed)
    vertices, faces = sheet(height, width, 0.0)
    faces = faces[rng.random(len(faces)) < 0.5]
    small, parts = specks(faces, len(vertices), min_part)
    neighbours = {v: {v} for v in range(len(vertices))}
    for face in faces.tolist():
        group = set().union(*(neighbours[v] for v in face))
        for v in group:
            neighbours[v] = group
    largest = max(len(group) for group in neighbours.values())
    expected = [len(neighbours[a]) < min(min_part, largest) for a in faces[:, 0].tolist()]
    assert small.tolist() == expected
    groups = {frozenset(group) for group in neighbours.values() if len(group) > 1}
    assert parts == sum(len(group) < min(min_part, largest) for group in groups)


@given(SEED)
def test_used_vertices_keep_every_triangle(seed):
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(20, 3))
    faces = rng.integers(0, 20, (rng.integers(0, 9), 3)).astype(np.int32)
    used, numbered = used_vertices(faces, 20)
    np.testing.assert_array_equal(vertices[used][numbered], vertices[faces])
    assert set(used.tolist()) == set(faces.ravel().tolist())
