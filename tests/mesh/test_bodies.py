"""Borders and what closes them: every edge of a body has two faces, in opposite directions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.mesh.borders import border, is_closed, is_oriented, pinched
from rayrelief.mesh.closing import closed, without_pinches
from rayrelief.surface import grid_faces
from reference.random_maps import random_mask

SEED = st.integers(0, 2**32 - 1)


def sheet(inside):
    v, u = np.indices(inside.shape).astype(float)
    vertices = np.stack((u, v, np.zeros(inside.shape)), axis=-1)[inside]
    none = np.zeros(inside.shape, bool)
    return vertices, grid_faces(vertices, inside, none, none)


def directed(faces):
    return [(f[i], f[(i + 1) % 3]) for f in faces.tolist() for i in range(3)]


@given(SEED, st.integers(2, 9), st.integers(2, 9))
def test_a_border_is_what_only_one_face_has(seed, height, width):
    inside = random_mask(np.random.default_rng(seed), height, width, density=0.7)
    vertices, faces = sheet(inside)
    edges = directed(faces)
    expected = {edge for edge in edges if edge[::-1] not in edges}
    assert set(map(tuple, border(faces, len(vertices)).tolist())) == expected
    assert is_oriented(faces, len(vertices)) == (max(Counter(edges).values(), default=1) == 1)


@given(SEED, st.integers(2, 12), st.integers(2, 12))
def test_every_sheet_without_pinches_closes_to_a_body_of_its_area_times_the_height(
    seed, height, width
):
    inside = random_mask(np.random.default_rng(seed), height, width, density=0.7)
    vertices, faces = sheet(inside)
    faces = without_pinches(faces, len(vertices), 1)
    assert not pinched(faces, len(vertices)).any()
    body, shell = closed(vertices, vertices + np.array([0.0, 0.0, 2.0]), faces)
    assert is_closed(shell, len(body))
    a, b, c = body[shell].transpose(1, 0, 2)
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6
    assert volume == pytest.approx(2.0 * len(faces) / 2)


def test_parts_that_touch_in_a_point_are_pinched():
    inside = np.zeros((5, 5), bool)
    inside[(1, 2, 2, 2, 3), (1, 1, 2, 3, 3)] = True
    vertices, faces = sheet(inside)
    assert pinched(faces, len(vertices)).any()
    assert not pinched(without_pinches(faces, len(vertices), 1), len(vertices)).any()


@pytest.mark.parametrize(
    ("faces", "oriented"),
    [
        ([[0, 1, 2], [0, 2, 3]], True),
        ([[0, 1, 2], [0, 3, 2]], False),
        ([[0, 1, 2], [0, 1, 3]], False),
    ],
)
def test_faces_that_wind_the_same_way_along_an_edge_are_not_oriented(faces, oriented):
    assert is_oriented(np.array(faces, dtype=np.int32), 4) == oriented
