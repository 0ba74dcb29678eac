"""Textures, quads, seams and units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.errors import InputError
from rayrelief.mesh import Mesh
from rayrelief.mesh.quads import quads_of
from rayrelief.mesh.seams import without_seam
from rayrelief.mesh.units import in_unit
from rayrelief.surface import grid_mesh
from reference.random_maps import random_mask

SEED = st.integers(0, 2**32 - 1)


def pixel_mesh(inside, *, wraps=False, cut=None):
    v, u = np.indices(inside.shape).astype(float)
    angle = 2 * np.pi * u / inside.shape[1]
    points = (
        np.stack((np.sin(angle), v, np.cos(angle)), axis=-1)
        if wraps
        else np.stack((u, v, 0 * u), -1)
    )
    cut = np.zeros(inside.shape, bool) if cut is None else cut
    mesh = grid_mesh(points, inside, cut, cut, wraps=wraps)
    return replace(mesh, pixels=np.argwhere(inside)[:, ::-1].astype(np.int32))


@given(SEED, st.integers(2, 9), st.integers(4, 9), st.booleans())
def test_quads_and_the_triangles_that_are_left_are_the_same_surface(seed, height, width, wraps):
    rng = np.random.default_rng(seed)
    inside = random_mask(rng, height, width, density=0.8)
    mesh = pixel_mesh(inside, wraps=wraps, cut=rng.random(inside.shape) < 0.1)
    quads, triangles = quads_of(mesh)
    assert 2 * len(quads) + len(triangles) == len(mesh.faces)
    edges = {(f[i - 1], f[i]) for f in mesh.faces.tolist() for i in range(3)}
    rings = [
        (f[i - 1], f[i]) for f in [*quads.tolist(), *triangles.tolist()] for i in range(len(f))
    ]
    assert len(rings) == len(set(rings))
    assert set(rings) <= edges
    diagonals = edges - set(rings)
    assert len(diagonals) == 2 * len(quads)
    assert all(edge[::-1] in diagonals for edge in diagonals)
    columns = mesh.known_pixels()[quads, 0]
    blocks = {tuple(sorted(row)) for row in columns.tolist()}
    assert all(len(set(block)) == 2 for block in blocks)


@given(SEED, st.integers(1, 4))
def test_vertices_have_the_colours_of_their_pixels_in_a_picture_of_any_size(seed, factor):
    rng = np.random.default_rng(seed)
    inside = random_mask(rng, 5, 7, density=0.8)
    picture = rng.integers(0, 256, (5, 7, 3)).astype(np.uint8)
    larger = picture.repeat(factor, axis=0).repeat(factor, axis=1)
    texture = pixel_mesh(inside).coloured(larger, (5, 7)).texture
    assert texture is not None
    np.testing.assert_array_equal(texture.colours(), picture[inside])


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (np.zeros((5, 7), np.uint8), "RGB"),
        (np.zeros((5, 7, 3)), "8 bits"),
        (np.zeros((7, 5, 3), np.uint8), "5x7 pixels for a map of 7x5"),
    ],
)
def test_a_picture_that_does_not_fit_is_refused(picture, message):
    with pytest.raises(InputError, match=message):
        pixel_mesh(np.ones((5, 7), bool)).coloured(picture, (5, 7))


def test_a_mesh_from_elsewhere_has_no_pixels():
    with pytest.raises(InputError, match="does not know the pixels"):
        Mesh(np.eye(3), np.array([[0, 1, 2]], np.int32)).coloured(
            np.zeros((1, 1, 3), np.uint8), (1, 1)
        )


def test_no_face_of_a_panorama_reaches_over_its_picture():
    mesh = pixel_mesh(np.ones((3, 8), bool), wraps=True)
    coloured = mesh.coloured(np.zeros((3, 8, 3), np.uint8), (3, 8))
    cut_open = without_seam(coloured)
    assert cut_open.texture is not None
    across = cut_open.texture.places[cut_open.faces, 0]
    assert np.ptp(across, axis=1).max() < 0.2
    np.testing.assert_array_equal(cut_open.vertices[cut_open.faces], mesh.vertices[mesh.faces])
    assert len(cut_open.vertices) == len(mesh.vertices) + 3


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [("3mm", "mm", 3), ("3", "cm", 3), ("1in", "mm", 25.4), ("10 cm", "m", 0.1), ("1e1", None, 10)],
)
def test_lengths_in_words(text, unit, expected):
    assert in_unit(text, unit) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "mm", "-3mm", "0", "3 km", "nan", "1e999", "3mm4"])
def test_what_is_no_length_is_refused(text):
    with pytest.raises(InputError, match="length"):
        in_unit(text, "mm")


def test_a_length_in_millimetres_needs_a_size_in_millimetres():
    with pytest.raises(InputError, match="--width"):
        in_unit("3mm", None)
