"""Rendering is exact for central cameras of any width, orthographic ones, and in blocks."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.base import Camera
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import CameraError, InputError
from rayrelief.synthetic import GALLERY, render
from rayrelief.synthetic.shapes import Box, Ellipsoid, Plane, Revolution, Shape, Sphere, Torus


@dataclass(frozen=True)
class Panorama(Camera):
    """Sees all directions but those of its first row, which have no ray."""

    height: int
    width: int

    def directions(self, pixels):
        longitude = (pixels[..., 0] + 0.5) / self.width * 2 * np.pi - np.pi
        latitude = (pixels[..., 1] + 0.5) / self.height * np.pi - np.pi / 2
        level = np.cos(latitude)
        rays = (level * np.sin(longitude), np.sin(latitude), level * np.cos(longitude))
        return np.where(pixels[..., 1:] > 0, np.stack(rays, axis=-1), np.nan)

    def project(self, points):
        raise NotImplementedError


class Scattered(Panorama):
    central = False


def test_plane_through_a_pinhole_in_closed_form():
    camera = Pinhole.from_fov(60.0, 20, 30)
    scene = render([Plane((0, 0, 2), (0.2, -0.3, -1.0))], camera, 20, 30, name="wall")
    assert scene.depth is not None
    rays = camera.rays(20, 30)
    np.testing.assert_allclose(scene.depth, 2 / (1 - rays @ (0.2, -0.3, 0.0)), rtol=1e-14)
    normal = np.array((0.2, -0.3, -1.0)) / np.linalg.norm((0.2, -0.3, -1.0))
    np.testing.assert_allclose(scene.normals, np.broadcast_to(normal, rays.shape), rtol=1e-14)
    assert (scene.name, scene.depth_kind, scene.camera) == ("wall", "z", camera)


def test_orthographic_sees_a_sphere_around_the_plane_z_0():
    camera = Orthographic(pixel_size=0.1, cx=10.0, cy=10.0)
    scene = render([Sphere((0, 0, 0), 0.95)], camera, 21, 21)
    assert scene.depth is not None
    x, y, _ = np.moveaxis(camera.origins(21, 21), -1, 0)
    square = 0.95**2 - x**2 - y**2
    np.testing.assert_array_equal(scene.mask, square > 0)
    front = -np.sqrt(square[scene.mask])
    np.testing.assert_allclose(scene.depth[scene.mask], front, rtol=1e-13)
    np.testing.assert_allclose(scene.normals[scene.mask][:, 2], front / 0.95, rtol=1e-13)
    assert scene.depth_kind == "z"


@pytest.mark.parametrize("name", ["ellipsoid_inside", "room"])
def test_a_camera_that_sees_all_around_gets_distances(name):
    camera = Panorama(40, 80)
    scene = GALLERY[name](40, 80, camera)
    assert scene.depth is not None
    assert scene.depth_kind == "distance"
    assert not scene.mask[0].any()
    assert scene.mask[1:].all()
    if name == "ellipsoid_inside":
        points = (camera.rays(40, 80) * scene.depth[..., None])[1:]
        unit = (points - (0.4, -0.2, 0.8)) / (2.6, 1.9, 3.2)
        np.testing.assert_allclose(np.linalg.norm(unit, axis=-1), 1.0, rtol=1e-12)


def test_blocks_of_rows_change_nothing(monkeypatch):
    whole = GALLERY["still_life"](24, 32)
    monkeypatch.setattr(sys.modules["rayrelief.synthetic.render"], "_BLOCK_PIXELS", 5 * 32)
    parts = GALLERY["still_life"](24, 32)
    np.testing.assert_array_equal(parts.depth, whole.depth)
    np.testing.assert_array_equal(parts.normals, whole.normals)


@dataclass(frozen=True)
class Unbounded:
    """A shape that does not tell where it is."""

    shape: Shape
    bounds: None = None

    def intersect(self, origins, directions, *, near=0.0):
        return self.shape.intersect(origins, directions, near=near)


CAMERAS = [
    Pinhole.from_fov(70.0, 21, 30),
    Pinhole(4000.0, 4000.0, -3000.0, 900.0),
    Orthographic(pixel_size=0.12, cx=15.0, cy=10.0),
    Panorama(21, 30),
]


def random_shapes(rng):
    """Shapes of many sizes all around the camera, some of which hold it."""
    shapes = []
    for kind in rng.integers(0, 6, size=rng.integers(1, 9)):
        size = np.exp(rng.normal(-0.5, 0.8))
        x, y, z = (float(value) for value in rng.normal((0.0, 0.0, 2.0), 2.0))
        a, b, c = (float(value) for value in rng.normal(size=3))
        axis = (a, b, c)
        shapes.append(
            (
                Sphere((x, y, z), size),
                Ellipsoid((x, y, z), (size, 0.4 * size, 1.5 * size), inside=bool(rng.integers(2))),
                Box((x, y, z), (x + size, y + 0.3, z + 0.7 * size), rotation=axis),
                Torus((x, y, z), axis, size, 0.3 * size),
                Revolution((x, y, z), axis, size, (0.2 * size**2, 0.3 * size)),
                Plane((x, y, z), axis),
            )[kind]
        )
    return shapes


@pytest.mark.parametrize("camera", CAMERAS, ids=["pinhole", "aside", "orthographic", "panorama"])
@given(seed=st.integers(0, 2**32 - 1))
def test_bounds_and_the_order_of_the_shapes_change_nothing(camera, seed):
    shapes = random_shapes(np.random.default_rng(seed))
    scene = render(shapes, camera, 21, 30)
    for others in ([Unbounded(shape) for shape in shapes], shapes[::-1]):
        other = render(others, camera, 21, 30)
        np.testing.assert_array_equal(other.depth, scene.depth)
        np.testing.assert_array_equal(other.normals, scene.normals)


def test_only_rays_that_can_meet_a_shape_are_intersected():
    camera = Pinhole.from_fov(60.0, 600, 800)
    rays = []

    class Counted(Sphere):
        def intersect(self, origins, directions, *, near=0.0):
            rays.append(len(directions))
            return super().intersect(origins, directions, near=near)

    scene = render([Counted((1.0, 0.5, 6.0), 0.2), Counted((1.0, 0.5, 9.0), 0.2)], camera, 600, 800)
    # The second one is hidden by the first.
    assert scene.mask.sum() <= sum(rays) < 1.05 * scene.mask.sum()


def test_nothing_in_view_is_an_empty_mask():
    scene = render([Sphere((0, 0, -5), 1.0)], Pinhole.from_fov(50.0, 8, 8), 8, 8)
    assert not scene.mask.any()
    assert scene.depth is not None
    assert np.isnan(scene.depth).all()


def test_no_shapes_and_scattered_cameras_are_refused():
    with pytest.raises(InputError, match="no shapes"):
        render([], Pinhole.from_fov(50.0, 8, 8), 8, 8)
    with pytest.raises(CameraError, match="no single centre"):
        render([Ellipsoid((0, 0, 0), (1, 1, 1))], Scattered(8, 8), 8, 8)
