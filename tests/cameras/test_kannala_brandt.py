"""The fisheye with a polynomial: against OpenCV, COLMAP and its closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cameras.models import MODELS
from cameras.oracles import colmap_pixels, points_in_front
from rayrelief.cameras.base import pixel_grid
from rayrelief.cameras.fisheye import Equidistant
from rayrelief.cameras.kannala_brandt import KannalaBrandt

# A GoPro-like lens: 190 degrees across a 1000 pixel wide image.
WIDE = KannalaBrandt(300, 301, 499.5, 379.5, 0.02, -0.006, 0.003, -0.0008)


@given(st.data(), st.integers(0, 2**32 - 1))
def test_agrees_with_opencv_in_front(data: st.DataObject, seed: int) -> None:
    cv2 = pytest.importorskip("cv2")
    camera = data.draw(MODELS["Kannala-Brandt"])
    assert isinstance(camera, KannalaBrandt)
    points = points_in_front(seed)
    pixels = camera.project(points)
    seen = np.isfinite(pixels[:, 0])
    matrix = np.array([[camera.fx, camera.skew, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1]])
    lens = np.array([camera.k1, camera.k2, camera.k3, camera.k4])
    expected, _ = cv2.fisheye.projectPoints(
        points[:, None], np.zeros((3, 1)), np.zeros((3, 1)), matrix, lens, alpha=0.0
    )
    # OpenCV's own skew is alpha fx y; its matrix has none.
    expected = expected[:, 0] + camera.skew * (expected[:, :1, 1] - camera.cy) / camera.fy * (1, 0)
    np.testing.assert_allclose(pixels[seen], expected[seen], rtol=1e-10, atol=1e-8)
    assert seen[np.hypot(points[:, 0], points[:, 1]) < 0.3 * points[:, 2]].all()


def test_agrees_with_colmap_in_front() -> None:
    points = points_in_front(1)
    expected = colmap_pixels(WIDE, "OPENCV_FISHEYE", points)
    np.testing.assert_allclose(WIDE.project(points), expected, rtol=1e-12, atol=1e-9)


@given(st.floats(-0.9, -0.04))
def test_one_coefficient_folds_at_its_closed_form(k1: float) -> None:
    """For k1 alone r' = 1 + 3 k1 t^2 vanishes at t = 1/sqrt(-3 k1), where r = 2/3 t."""
    camera = KannalaBrandt(100, 100, 0, 0, k1)
    end = 1 / math.sqrt(-3 * k1)
    assert camera.profile.end == pytest.approx(end, rel=1e-14)
    radii = 100 * 2 / 3 * end * np.array([1 - 1e-9, 1 + 1e-9])
    rays = camera.directions(np.stack((radii, np.zeros(2)), axis=1))
    assert np.isfinite(rays).all(axis=1).tolist() == [True, False]
    angles = end * np.array([1 - 1e-9, 1 + 1e-9])
    points = np.stack((np.sin(angles), np.zeros(2), np.cos(angles)), axis=1)
    assert np.isfinite(camera.project(points)).all(axis=1).tolist() == [True, False]


def test_a_lens_that_rises_throughout_sees_the_whole_sphere() -> None:
    camera = KannalaBrandt(50, 50, 0, 0, 0.1, 0.01)
    reach = math.pi + 0.1 * math.pi**3 + 0.01 * math.pi**5
    assert camera.profile.end == math.pi
    np.testing.assert_allclose(camera.project([0, 0, -1]), (50 * reach, 0), rtol=1e-14, atol=1e-9)
    ray = camera.directions(np.array([0, 50 * reach]))
    np.testing.assert_allclose(ray, (0, 0, -1), atol=1e-15)


def test_a_lens_past_90_degrees_is_exact_where_colmap_points_forward() -> None:
    angle = 1.9
    pixel = WIDE.project([math.sin(angle), 0, math.cos(angle)])
    expected = angle + 0.02 * angle**3 - 0.006 * angle**5 + 0.003 * angle**7 - 0.0008 * angle**9
    assert pixel[0] == pytest.approx(499.5 + 300 * expected, rel=1e-14)
    ray = WIDE.directions(pixel)
    np.testing.assert_allclose(ray, (math.sin(angle), 0, math.cos(angle)), atol=1e-12)
    rays = WIDE.rays(760, 1000)
    seen = np.isfinite(rays[..., 0])
    error = np.abs(WIDE.project(rays) - pixel_grid(760, 1000))[seen]
    assert error.max() < 1e-9


def test_without_coefficients_it_is_equidistant() -> None:
    grid = pixel_grid(760, 1000)[::20, ::20]
    camera, ideal = KannalaBrandt(150, 160, 480, 390), Equidistant(150, 160, 480, 390)
    np.testing.assert_allclose(camera.directions(grid), ideal.directions(grid), atol=1e-14)


def test_caches_take_no_part_in_equality() -> None:
    twin = KannalaBrandt(300, 301, 499.5, 379.5, 0.02, -0.006, 0.003, -0.0008)
    twin.directions(np.zeros((1, 2)))
    assert twin == WIDE
    assert hash(twin) == hash(WIDE)
