"""The panorama of longitude and latitude: its axes, seam and poles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayrelief.cameras.base import pixel_grid
from rayrelief.cameras.equirectangular import Equirectangular

HEIGHT, WIDTH = 90, 180
FULL = Equirectangular.full(HEIGHT, WIDTH)


def test_the_axes_are_where_they_belong() -> None:
    forward, right, behind, left, down, up = FULL.project(
        [[0, 0, 1], [1, 0, 0], [0, 0, -1], [-1, 0, 0], [0, 1, 0], [0, -1, 0]]
    )
    np.testing.assert_allclose(forward, (89.5, 44.5))
    np.testing.assert_allclose(right, (134.5, 44.5))
    np.testing.assert_allclose(left, (44.5, 44.5))
    assert min(abs(behind[0] + 0.5), abs(behind[0] - 179.5)) < 1e-9
    assert (down[1], up[1]) == pytest.approx((89.5, -0.5))


def test_every_pixel_of_a_full_panorama_comes_back_also_at_the_seam() -> None:
    rays = FULL.rays(HEIGHT, WIDTH)
    np.testing.assert_allclose(FULL.project(rays), pixel_grid(HEIGHT, WIDTH), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(rays, axis=-1), 1, rtol=1e-14)


def test_agrees_with_colmap_all_around() -> None:
    pycolmap = pytest.importorskip("pycolmap")
    other = pycolmap.Camera(model="EQUIRECTANGULAR", width=WIDTH, height=HEIGHT, params=[180, 90])
    grid = pixel_grid(HEIGHT, WIDTH).reshape(-1, 2)
    expected = np.asarray(other.cam_ray_from_img(grid + 0.5))
    np.testing.assert_allclose(FULL.directions(grid), expected, atol=1e-12)


def test_a_full_panorama_wraps_and_a_part_of_it_does_not() -> None:
    assert FULL.wraps(WIDTH)
    assert not FULL.wraps(WIDTH - 1)
    assert FULL.resize(2 * WIDTH, 3 * HEIGHT).wraps(2 * WIDTH)
    assert not FULL.crop(0, 0, WIDTH // 2, HEIGHT).wraps(WIDTH // 2)
    before, after = FULL.directions(np.array([[-0.3, 20.0], [WIDTH - 0.3, 20.0]]))
    np.testing.assert_allclose(before, after, atol=1e-14)


@settings(deadline=None)
@given(st.integers(-200, 200), st.integers(1, WIDTH))
def test_the_pixels_of_any_crop_come_back(left: int, width: int) -> None:
    """Also of one across the seam, or a turn away: longitudes follow the image."""
    part = FULL.crop(left, 10, width, 40)
    np.testing.assert_allclose(part.project(part.rays(40, width)), pixel_grid(40, width), atol=1e-9)


@settings(deadline=None)
@given(st.floats(-math.pi, math.pi), st.sampled_from([-1, 1]))
def test_the_poles_are_part_of_the_image(longitude: float, pole: int) -> None:
    """With a row of pixels on each pole, which see one direction and are seen at any longitude."""
    f = (HEIGHT - 1) / math.pi
    camera = Equirectangular(f, f, 89.5, 44.5, size=(WIDTH, HEIGHT))
    row = 44.5 + pole * 44.5
    ray = camera.directions(np.array([89.5 + f * longitude, row]))
    np.testing.assert_allclose(ray, (0, pole, 0), atol=1e-15)
    for part in (camera, camera.crop(100, 0, 50, HEIGHT)):
        u, v = part.project([0, pole, 0])
        assert v == pytest.approx(row)
        assert part.size is not None
        assert 0 <= u <= part.size[0] - 1
    assert np.isnan(camera.directions(np.array([0, row + pole * 1e-6]))).all()


def test_a_panorama_without_a_size_is_centred_on_its_axis() -> None:
    camera = Equirectangular(10, 10, 0, 0)
    for longitude in (-3, 0, 3):
        point = [math.sin(longitude), 0, math.cos(longitude)]
        np.testing.assert_allclose(camera.project(point), (10 * longitude, 0), atol=1e-12)
