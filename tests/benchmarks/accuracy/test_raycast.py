"""Hits of rays against boxes in closed form, and against all triangles one by one."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trimesh.creation import box

import rayrelief
from benchmarks.accuracy.raycast import cast, render
from benchmarks.report import UnavailableError
from rayrelief.conventions import FloatArray
from rayrelief.errors import CameraError, InputError
from rayrelief.mesh import Mesh
from rayrelief.synthetic import render as render_shapes
from rayrelief.synthetic.shapes import Box

LOW, HIGH = (-0.9, -0.6, 2.1), (0.7, 0.5, 3.3)
HEIGHT, WIDTH = 60, 80
CAMERAS = {
    "pinhole": rayrelief.cameras.Pinhole(70.0, 71.0, 41.3, 28.7),
    "lens": rayrelief.cameras.BrownConrady(70.0, 71.0, 41.3, 28.7, k1=-0.25, k2=0.05, p1=1e-3),
}
RAYS = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).normal(size=(200, 3)) * [1, 1, 0.3] + [0, 0, 2]
)


def box_mesh(low: tuple[float, ...] = LOW, high: tuple[float, ...] = HIGH) -> Mesh:
    whole = box(bounds=[low, high])
    return Mesh(np.array(whole.vertices, dtype=np.float64), np.array(whole.faces, dtype=np.int32))


def soup(seed: int) -> Mesh:
    """Triangles anywhere before the camera and behind it."""
    corners = np.random.default_rng(seed).normal(size=(40, 3, 3)) * 2 + [0, 0, 2]
    faces = np.arange(120, dtype=np.int32).reshape(-1, 3)
    return Mesh(corners.reshape(-1, 3), faces)


def one_by_one(mesh: Mesh, ray: FloatArray) -> tuple[int, float, float]:
    """First triangle that a ray from zero meets, how far away, and how close it came to a rim."""
    first, nearest, margin = -1, np.inf, np.inf
    for index, (a, b, c) in enumerate(mesh.vertices[mesh.faces]):
        u, v, t = np.linalg.solve(np.stack((a - b, a - c, ray), axis=1), a)
        if t > -1e-3:
            margin = min(margin, abs(min(u, v, 1 - u - v)), abs(t))
        if min(u, v, 1 - u - v) >= 0 and 0 < t < nearest:
            first, nearest = index, t
    return first, nearest, margin


@pytest.mark.parametrize("camera", CAMERAS.values(), ids=CAMERAS)
def test_box_is_that_of_the_closed_form(camera: rayrelief.cameras.Camera) -> None:
    exact = render_shapes([Box(LOW, HIGH)], camera, HEIGHT, WIDTH)
    found = render(box_mesh(), camera, HEIGHT, WIDTH, "box")
    assert exact.depth is not None
    assert found.depth is not None
    assert 500 < exact.mask.sum() < HEIGHT * WIDTH
    np.testing.assert_array_equal(found.mask, exact.mask)
    np.testing.assert_allclose(found.depth, exact.depth, rtol=1e-13)
    np.testing.assert_allclose(found.normals, exact.normals, atol=1e-13)
    assert (found.depth_kind, found.name, found.camera) == ("z", "box", camera)


def test_room_around_the_camera_has_distances() -> None:
    camera = rayrelief.cameras.RayMap(np.random.default_rng(5).normal(size=(9, 11, 3)))
    low, high = (-1.0, -2.0, -3.0), (2.0, 1.5, 1.0)
    exact = render_shapes([Box(low, high, inside=True)], camera, 9, 11)
    found = render(box_mesh(low, high), camera, 9, 11)
    assert found.depth_kind == exact.depth_kind == "distance"
    assert found.mask.all()
    assert exact.depth is not None
    assert found.depth is not None
    np.testing.assert_allclose(found.depth, exact.depth, rtol=1e-13)
    np.testing.assert_allclose(found.normals, exact.normals, atol=1e-13)


@given(seed=st.integers(0, 2**32 - 1), rays=RAYS)
@settings(max_examples=10, deadline=None)
def test_first_hit_is_that_of_all_triangles_one_by_one(seed: int, rays: FloatArray) -> None:
    mesh = soup(seed)
    hits = cast(mesh, rays)
    for index in range(0, len(rays), 4):
        triangle, distance, margin = one_by_one(mesh, rays[index])
        if margin < 1e-3:
            continue  # single precision may see another triangle at a rim
        assert hits.triangles[index] == triangle
        if triangle >= 0:
            np.testing.assert_allclose(hits.distances[index], distance, rtol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), rays=RAYS)
@settings(max_examples=20, deadline=None)
def test_hits_lie_in_the_planes_of_their_triangles(seed: int, rays: FloatArray) -> None:
    mesh = soup(seed)
    hits = cast(mesh, rays)
    hit = hits.triangles >= 0
    corners = mesh.vertices[mesh.faces[hits.triangles[hit]]]
    normals, points = hits.normals[hit], hits.distances[hit, None] * rays[hit]
    slant = np.abs(np.einsum("ni,ni->n", normals, rays[hit])) / np.linalg.norm(rays[hit], axis=1)
    heights = np.einsum("ni,nki->nk", normals, corners - points[:, None])
    assert np.all(np.abs(heights) <= 1e-12 / slant[:, None])
    assert np.all(np.einsum("ni,ni->n", normals, rays[hit]) < 0)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=1e-14)
    assert np.isnan(hits.distances[~hit]).all()
    assert np.isnan(hits.normals[~hit]).all()


def test_another_origin_and_longer_rays() -> None:
    rays = CAMERAS["pinhole"].rays(HEIGHT, WIDTH).reshape(-1, 3)
    mesh, origin = box_mesh(), (0.5, -0.25, 8.0)
    here = cast(mesh, rays)
    there = cast(replace(mesh, vertices=mesh.vertices + origin), 4 * rays, origin)
    np.testing.assert_array_equal(there.triangles, here.triangles)
    np.testing.assert_allclose(there.distances, here.distances / 4, rtol=1e-13)


def test_rays_without_direction_and_things_behind_meet_nothing() -> None:
    hits = cast(box_mesh(), np.array([[np.nan, 0.0, 1.0], [0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]))
    assert [index >= 0 for index in hits.triangles] == [False, False, True]
    assert hits.distances[2] == pytest.approx(LOW[2], rel=1e-15)
    assert cast(box_mesh(), np.empty((0, 3))).triangles.size == 0


def test_what_cannot_be_cast_is_refused() -> None:
    points = replace(box_mesh(), faces=np.empty((0, 3), dtype=np.int32))
    with pytest.raises(InputError, match="has no faces"):
        render(points, CAMERAS["pinhole"], HEIGHT, WIDTH)
    with pytest.raises(CameraError, match="Orthographic has no single centre"):
        render(box_mesh(), rayrelief.cameras.Orthographic(), HEIGHT, WIDTH)


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trimesh.ray.ray_pyembree", None)
    with pytest.raises(UnavailableError, match="pip install embreex"):
        cast(box_mesh(), np.array([[0.0, 0.0, 1.0]]))
