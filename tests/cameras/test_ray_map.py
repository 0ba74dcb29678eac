"""Ray maps: any central camera, inverted numerically."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.base import depth_kind, pixel_grid
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.ray_map import RayMap
from rayrelief.errors import CameraError

SEED = st.integers(0, 2**32 - 1)


def fisheye(height: int, width: int, degrees: float) -> np.ndarray:
    """Equidistant fisheye with a field of view across the diagonal."""
    offset = pixel_grid(height, width) - ((width - 1) / 2, (height - 1) / 2)
    angle = np.linalg.norm(offset, axis=-1, keepdims=True)
    angle *= np.radians(degrees) / np.hypot(width, height)
    scale = np.radians(degrees) / np.hypot(width, height) * np.sinc(angle / np.pi)
    return np.concatenate((offset * scale, np.cos(angle)), axis=-1)


RAYS = st.one_of(
    st.builds(fisheye, st.integers(2, 40), st.integers(2, 40), st.floats(1, 300)),
    st.builds(
        lambda fx, fy, k1: BrownConrady(fx, fy, 17, 12, k1=k1).rays(24, 36),
        st.floats(8, 1e5),
        st.floats(8, 1e5),
        st.floats(-0.1, 0.3),
    ),
)


@given(RAYS)
def test_pixel_centres_survive_the_round_trip(rays):
    camera = RayMap(rays)
    pixels = pixel_grid(*rays.shape[:2])
    np.testing.assert_array_equal(camera.directions(pixels), camera.unit)
    projected = camera.project(3 * camera.unit)
    seen = np.isfinite(rays[..., 0])
    np.testing.assert_array_equal(np.isfinite(projected[..., 0]), seen)
    np.testing.assert_allclose(projected[seen], pixels[seen], atol=1e-6)


@given(RAYS, SEED)
def test_anything_between_pixel_centres_survives_the_round_trip(rays, seed):
    camera = RayMap(rays)
    limit = np.array(camera.resolution) - 1
    pixels = np.random.default_rng(seed).uniform(0, limit, (300, 2))
    directions = camera.directions(pixels)
    seen = np.isfinite(directions[:, 0])
    np.testing.assert_allclose(camera.project(directions[seen]), pixels[seen], atol=1e-6)


@given(SEED, st.floats(0.05, 0.95))
def test_missing_rays_disturb_nothing_else(seed, share):
    rng = np.random.default_rng(seed)
    rays = fisheye(20, 30, 200)
    missing = rng.random((20, 30)) < share
    missing[3, 4] = False
    rays[missing] = rng.choice([0.0, np.nan])
    camera = RayMap(rays)
    np.testing.assert_array_equal(np.isnan(camera.rays(20, 30)).all(axis=-1), missing)
    pixels = pixel_grid(20, 30)
    np.testing.assert_array_equal(camera.directions(pixels), camera.unit)
    projected = camera.project(camera.unit)
    np.testing.assert_allclose(projected[~missing], pixels[~missing], atol=1e-6)
    assert np.isnan(projected[missing]).all()


def test_holes_and_the_outside_are_not_seen():
    rays = Pinhole(50, 50, 15, 10).rays(21, 31)
    rays[10, 15] = np.nan
    camera = RayMap(rays)
    assert np.isnan(camera.directions(np.array([[14.5, 10.0], [-0.1, 5], [5, 20.1]]))).all()
    unseen: list[list[float]] = [
        [0.001, 0.001, 1],
        [-0.4, 0, 1],
        [0, 0, -1],
        [0, 0, 0],
        [np.nan, 0, 1],
        [np.inf, 0, 1],
    ]
    assert np.isnan(camera.project(unseen)).all()


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 5), (5, 1)])
def test_maps_without_a_cell_still_know_their_pixels(height, width):
    camera = RayMap(fisheye(height, width, 40))
    np.testing.assert_allclose(camera.project(camera.unit), pixel_grid(height, width))


def test_between_opposite_rays_nothing_is_seen():
    camera = RayMap([[[0, 0, 1], [1, 0, 0]], [[-1, 0, 0], [0, 0, -1]]])
    np.testing.assert_array_equal(camera.project(camera.unit), pixel_grid(2, 2))
    assert np.isnan(camera.project((0, 1, 0))).all()


@given(st.integers(2, 40), st.integers(2, 40), st.floats(1, 170))
def test_nothing_is_seen_behind_the_camera(height, width, degrees):
    camera = RayMap(fisheye(height, width, degrees))
    assert np.isnan(camera.project(-camera.unit)).all()


def test_interpolation_is_bilinear():
    rays = Pinhole(50, 60, 3, 2).rays(5, 7)
    camera = RayMap(rays)
    middle = camera.directions(np.array([2.5, 1.5]))
    np.testing.assert_allclose(middle, camera.unit[1:3, 2:4].mean(axis=(0, 1)), atol=1e-15)


def test_170_degrees_get_unit_rays_for_the_whole_image():
    rays = RayMap(fisheye(40, 50, 170)).rays(40, 50)
    assert depth_kind(rays) == "distance"
    np.testing.assert_allclose(np.linalg.norm(rays, axis=-1), 1, atol=1e-15)


def test_150_degrees_get_z_rays():
    rays = RayMap(fisheye(40, 50, 150)).rays(40, 50)
    assert depth_kind(rays) == "z"
    assert (rays[..., 2] == 1).all()


@given(st.floats(1e-300, 1e300))
def test_the_length_of_the_rays_does_not_matter(length):
    rays = fisheye(3, 4, 100)
    np.testing.assert_allclose(RayMap(length * rays).unit, rays, atol=1e-15)


def test_the_map_is_a_read_only_copy():
    rays = fisheye(3, 4, 100)
    camera = RayMap(rays)
    rays[:] = 0
    assert np.isfinite(camera.unit).all()
    with pytest.raises(ValueError, match="read-only"):
        camera.unit[0, 0] = 0
    camera.unit_rays(3, 4)[:] = 0  # the caller's own copy
    assert camera.resolution == (4, 3)
    assert repr(camera) == "RayMap(4x3 pixels, 100% with a ray)"


def test_another_image_size_is_refused():
    with pytest.raises(CameraError, match=r"for 4x3 pixels"):
        RayMap(fisheye(3, 4, 100)).rays(4, 3)


@pytest.mark.parametrize(
    ("rays", "words"),
    [
        (np.zeros((4, 5)), r"shape \(4, 5\); expected \(height, width, 3\)"),
        (np.zeros((3, 4, 5)), r"shape \(3, 4, 5\)"),
        (np.zeros((0, 5, 3)), r"shape \(0, 5, 3\)"),
        (np.zeros((2, 2, 3)), "without a single valid ray"),
        (np.full((2, 2, 3), np.nan), "without a single valid ray"),
        (np.full((2, 2, 3), None), "type object"),
        (np.ones((2, 2, 3), dtype=complex), "type complex128"),
        (np.ones((2, 2, 3), dtype=bool), "type bool"),
        ([[["a", "b", "c"]]], "type <U1"),
    ],
)
def test_anything_that_is_not_a_ray_map_is_refused(rays, words):
    with pytest.raises(CameraError, match=words):
        RayMap(rays)


@pytest.mark.parametrize(("seam", "wraps"), [(1.0, True), (0.9, False), (1.1, False)])
def test_a_panorama_wraps_where_its_seam_is_a_step_like_all_others(seam, wraps):
    azimuth = 2.0 * np.pi / (31.0 + seam) * np.arange(32)
    row = np.stack((np.sin(azimuth), np.zeros(32), np.cos(azimuth)), axis=-1)
    rays = row + np.linspace(-0.5, 0.5, 8)[:, None, None] * (0.0, 1.0, 0.0)
    assert RayMap(rays).wraps(32) is wraps
