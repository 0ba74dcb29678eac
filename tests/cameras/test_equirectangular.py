"""Panoramas of longitude and latitude: their axes, seams and poles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.base import pixel_grid
from rayrelief.cameras.cylindrical import Cylindrical
from rayrelief.cameras.equirectangular import Equirectangular, TransverseEquirectangular
from rayrelief.errors import CameraError

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


@given(st.integers(-200, 200), st.integers(1, WIDTH))
def test_the_pixels_of_any_crop_come_back(left: int, width: int) -> None:
    """Also of one across the seam, or a turn away: longitudes follow the image."""
    part = FULL.crop(left, 10, width, 40)
    np.testing.assert_allclose(part.project(part.rays(40, width)), pixel_grid(40, width), atol=1e-9)


@given(st.floats(-math.pi, math.pi), st.sampled_from([-1, 1]))
def test_the_poles_are_part_of_the_image(longitude: float, pole: int) -> None:
    """With a row of pixels on each pole, which see one direction and are seen at any longitude."""
    f = (HEIGHT - 1) / math.pi
    camera = Equirectangular(f, f, 88.5, 44.5, size=(WIDTH - 2, HEIGHT))
    row = 44.5 + pole * 44.5
    ray = camera.directions(np.array([88.5 + f * longitude, row]))
    np.testing.assert_allclose(ray, (0, pole, 0), atol=1e-15)
    for part in (camera, camera.crop(100, 0, 50, HEIGHT)):
        u, v = part.project([0, pole, 0])
        assert v == pytest.approx(row)
        assert part.size is not None
        assert 0 <= u <= part.size[0] - 1
    assert np.isnan(camera.directions(np.array([0, row + pole * 1e-6]))).all()


@given(st.floats(5, 500), st.floats(-300, 300), st.integers(1, 3500), st.floats(-2, 2))
def test_a_panorama_comes_back_or_is_refused(fx: float, cx: float, width: int, skew: float) -> None:
    """Its first and its last column see the same, or more, if they are a turn apart."""
    turn = 2 * math.pi * fx
    if width - 1 > turn - 0.01:
        words = rf"{width} pixels around the axis at .*; expected at most 360 degrees.*focal length"
        with pytest.raises(CameraError, match=words):
            Equirectangular(fx, 9.0, cx, 1.0, skew=skew, size=(width, 3))
        return
    camera = Equirectangular(fx, 9.0, cx, 1.0, skew=skew, size=(width, 3))
    pixels = camera.project(camera.unit_rays(3, width))
    np.testing.assert_allclose(pixels, pixel_grid(3, width), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", [Equirectangular, Cylindrical])
def test_a_column_that_is_seen_twice_is_refused(kind: type[Equirectangular | Cylindrical]) -> None:
    f = 180 / (2 * math.pi)
    assert kind(f, f, 89.5, 9, size=(180, 20)).wraps(180)
    with pytest.raises(CameraError, match=r"181 pixels.*362 degrees"):
        kind(f, f, 89.5, 9, size=(181, 20))  # columns at numpy.linspace(-pi, pi, 181)
    with pytest.raises(CameraError, match=r"300 pixels.*47\.7465"):
        FULL.crop(-60, 0, 300, HEIGHT)


def test_a_panorama_without_a_size_is_centred_on_its_axis() -> None:
    camera = Equirectangular(10, 10, 0, 0)
    for longitude in (-3, 0, 3):
        point = [math.sin(longitude), 0, math.cos(longitude)]
        np.testing.assert_allclose(camera.project(point), (10 * longitude, 0), atol=1e-12)


def test_a_transverse_panorama_has_its_poles_left_and_right() -> None:
    camera = TransverseEquirectangular(20, 30, 40, 60, size=(80, 120))
    points = [[0, 0, 1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [3, 4, 0]]
    quarter = math.pi / 2
    expected = [
        (40, 60),
        (40 + 20 * quarter, 59.5),  # a pole has every longitude, and gets that of the middle
        (40 - 20 * quarter, 59.5),
        (40, 60 + 30 * quarter),
        (40, 60 - 30 * quarter),
        (40 + 20 * math.asin(0.6), 60 + 30 * quarter),
    ]
    np.testing.assert_allclose(camera.project(points), expected, rtol=1e-14)
    rows = np.array([[40 + 20 * quarter, 7.0], [40 - 20 * quarter, 93.0], [40 + 20 * 1.58, 60.0]])
    right, left, beyond = camera.directions(rows)
    np.testing.assert_allclose((right, left), ((1, 0, 0), (-1, 0, 0)), rtol=0, atol=1e-15)
    assert np.isnan(beyond).all()


@given(st.floats(-200, 200), st.integers(0, 87), st.integers(1, 88))
def test_the_pixels_of_any_crop_of_a_transverse_panorama_come_back(
    cy: float, top: int, height: int
) -> None:
    """Rows are longitudes: they follow the image more than a turn away from its axis."""
    turn = TransverseEquirectangular(14, 88 / (2 * math.pi), 20, cy, size=(40, 88))
    height = min(height, 88 - top)
    part = turn.crop(0, top, 40, height)
    rays = part.unit_rays(height, 40)
    np.testing.assert_allclose(part.project(rays), pixel_grid(height, 40), atol=1e-9)
    assert turn.spans_a_turn
    assert part.spans_a_turn == (height == 88)
    assert not part.wraps(40)


@given(st.floats(5, 500), st.floats(-300, 300), st.integers(1, 3500), st.floats(-2, 2))
def test_a_transverse_panorama_comes_back_or_is_refused(
    fy: float, cy: float, height: int, skew: float
) -> None:
    """It is its rows that go around; skew takes those far from the axis past a pole."""
    if height - 1 > 2 * math.pi * fy - 0.01:
        words = (
            rf"{height} pixels around the axis at .*; expected at most 360 degrees.*focal length"
        )
        with pytest.raises(CameraError, match=words):
            TransverseEquirectangular(9.0, fy, 1.0, cy, skew=skew, size=(3, height))
        return
    camera = TransverseEquirectangular(9.0, fy, 1.0, cy, skew=skew, size=(3, height))
    pixels, grid = camera.project(camera.unit_rays(height, 3)), pixel_grid(height, 3)
    before_pole = math.pi / 2 - np.abs(grid[..., 0] - 1 - skew * (grid[..., 1] - cy) / fy) / 9
    expected = np.where(before_pole[..., None] < 0, np.nan, grid)
    clear = np.abs(before_pole) > 1e-6  # on a pole every longitude is right
    np.testing.assert_allclose(pixels[clear], expected[clear], rtol=0, atol=1e-6)


def test_columns_of_a_transverse_panorama_end_at_the_poles_instead_of_being_refused() -> None:
    camera = TransverseEquirectangular(10, 20, 99.5, 9.5, size=(200, 20))
    seen = np.isfinite(camera.rays(20, 200)).all(axis=2)
    assert seen.sum(axis=1).tolist() == [32] * 20  # pi times 10 pixels per radian, and one
