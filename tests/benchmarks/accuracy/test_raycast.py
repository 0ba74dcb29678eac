"""Maps of boxes as the closed form gives them, and of triangles as each on its own gives them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from trimesh.creation import box

import rayrelief
from benchmarks.accuracy.raycast import render
from benchmarks.report import UnavailableError
from rayrelief.synthetic import render as render_shapes
from rayrelief.synthetic.shapes import Box

LOW, HIGH = (-0.9, -0.6, 2.1), (0.7, 0.5, 3.3)
RAYS = np.random.default_rng(5).normal(size=(9, 11, 3))
CAMERAS = {
    "pinhole": rayrelief.Pinhole(70.0, 71.0, 41.3, 28.7),
    "lens": rayrelief.BrownConrady(70.0, 71.0, 41.3, 28.7, k1=-0.25, k2=0.05, p1=1e-3),
}


def box_mesh(low: tuple[float, ...] = LOW, high: tuple[float, ...] = HIGH) -> rayrelief.Mesh:
    whole = box(bounds=[low, high])
    vertices, faces = np.array(whole.vertices, np.float64), np.array(whole.faces, np.int32)
    return rayrelief.Mesh(vertices, faces)


def assert_same(found: rayrelief.Scene, exact: rayrelief.Scene) -> None:
    np.testing.assert_array_equal(found.mask, exact.mask)
    np.testing.assert_allclose(found.depth, exact.depth, rtol=1e-13)
    np.testing.assert_allclose(found.normals, exact.normals, atol=1e-13)
    assert (found.depth_kind, found.camera) == (exact.depth_kind, exact.camera)


@pytest.mark.parametrize("camera", CAMERAS.values(), ids=CAMERAS)
def test_box_is_that_of_the_closed_form(camera):
    exact = render_shapes([Box(LOW, HIGH)], camera, 60, 80)
    assert 500 < exact.mask.sum() < 60 * 80
    assert_same(render(box_mesh(), camera, 60, 80), exact)


def test_room_around_the_camera_has_distances():
    low, high = (-1.0, -2.0, -3.0), (2.0, 1.5, 1.0)
    camera = rayrelief.RayMap(RAYS)
    exact = render_shapes([Box(low, high, inside=True)], camera, 9, 11)
    assert exact.depth_kind == "distance"
    assert_same(render(box_mesh(low, high), camera, 9, 11), exact)


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "trimesh.ray.ray_pyembree", None)
    with pytest.raises(UnavailableError, match="pip install embreex"):
        render(box_mesh(), CAMERAS["pinhole"], 5, 6)
