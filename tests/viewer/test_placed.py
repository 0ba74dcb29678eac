"""A result in the space of the page, and where a click meets it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from rayrelief.cameras import Equirectangular, Orthographic, Pinhole
from rayrelief.errors import InputError
from rayrelief.mesh.base import Faces
from rayrelief.viewer.finished import Finished
from rayrelief.viewer.layers import Layers
from rayrelief.viewer.page.picking import first_hit
from rayrelief.viewer.page.server import serve
from rayrelief.viewer.placed import Placed

CAMERAS = [Pinhole(40.0, 40.0, 15.5, 11.5), Orthographic(0.1), Equirectangular.full(24, 32)]


@pytest.fixture(params=CAMERAS, ids=lambda camera: type(camera).__name__)
def placed(request, tmp_path):
    v, u = np.indices((24, 32))
    depth = 3.0 + 0.01 * u - 0.02 * v
    return Placed.of(Finished("a", tmp_path, depth, request.param, Layers()))


def test_a_placed_surface_has_radius_one_around_the_origin(placed):
    shown = placed.shown
    points = placed.to_page(shown.view.points(shown.depth)).reshape(-1, 3)
    low, high = np.percentile(points, (1, 99), axis=0)
    np.testing.assert_allclose(low, -high, atol=1e-9)
    assert np.linalg.norm(high) == pytest.approx(1)


def test_the_drawn_mesh_lies_on_the_placed_surface(placed):
    mesh, _ = placed.mesh(2.0)
    u, v = mesh.known_pixels().T
    points = placed.shown.view.points(placed.shown.depth)[v, u]
    np.testing.assert_allclose(mesh.vertices * placed.radius + placed.middle, points, atol=1e-9)


def test_the_camera_stands_on_the_side_that_it_saw(placed):
    mesh, _ = placed.mesh(2.0)
    place, field = placed.camera_place
    towards = place - placed.to_page(mesh.vertices * placed.radius + placed.middle)
    normals = mesh.normals * (1, -1, -1)
    assert (np.einsum("ij,ij->i", towards, normals) > 0).mean() > 0.99
    assert 0 < field < np.pi
    assert np.isfinite(placed.outline).all()


def test_lengths_are_those_of_the_depth(placed):
    first, second = placed.shown.view.points(placed.shown.depth)[[3, 20], [4, 25]]
    on_page = np.linalg.norm(placed.to_page(first) - placed.to_page(second))
    assert float(placed.length(on_page)) == pytest.approx(np.linalg.norm(first - second), rel=1e-3)


VERTICES = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, -1), (1, 0, -1), (0, 1, -1)], float)
FACES: Faces = np.array([(0, 1, 2), (3, 4, 5)], dtype=np.int32)
DOWN = np.array([0.0, 0.0, -2.0])


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ((0.25, 0.25, 1), (0.25, 0.25, 0)),
        ((0.25, 0.25, -0.5), (0.25, 0.25, -1)),
        ((0.6, 0.6, 1), None),
        ((0.25, 0.25, -2), None),
    ],
    ids=["the first of two", "from between them", "beside", "behind"],
)
def test_first_hit(origin, expected):
    hit = first_hit(VERTICES, FACES, np.array(origin, float), DOWN)
    assert hit is None if expected is None else hit == pytest.approx(expected, abs=1e-12)


def test_without_the_library_one_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with (
        pytest.raises(InputError, match=r"viser.*extra viewer.*pip install"),
        serve(
            [],
            host="127.0.0.1",
            port=0,
            largest_upload=1,
            examine=lambda *_: ("", None),
            write=lambda *_: None,
        ),
    ):
        pass


def test_a_long_and_thin_picture_fits_into_a_texture(tmp_path):
    depth, camera = np.full((41, 8192), 3.0), Orthographic(0.1)
    placed = Placed.of(Finished("a", tmp_path, depth, camera, Layers()))
    data = placed.glb(placed.mesh(2.0)[0], np.zeros((41, 8192, 3), np.uint8))
    header = data[data.index(b"IHDR") + 4 :]
    assert (int.from_bytes(header[:4]), int.from_bytes(header[4:8])) == (2048, 10)
