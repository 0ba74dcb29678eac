"""The distorting lens: its inverse is exact on the branch of the principal point, only there."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cameras.models import MODELS
from rayrelief.cameras.base import pixel_grid
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import CameraError

HEIGHT, WIDTH = 480, 640
STRONG_BARREL = BrownConrady(300, 300, 319.5, 239.5, k1=-0.3)

SEED = st.integers(0, 2**32 - 1)


@given(MODELS["Brown-Conrady"], SEED)
def test_agrees_with_opencv_where_seen(camera: IntrinsicCamera, seed: int) -> None:
    cv2 = pytest.importorskip("cv2")
    camera = replace(camera, skew=0.0)  # which OpenCV has not
    points = np.random.default_rng(seed).uniform((-2, -2, 1), (2, 2, 3), (200, 3))
    pixels = camera.project(points)
    seen = np.isfinite(pixels[:, 0])
    assume(seen.any())
    matrix = np.array([[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1]])
    names = [field.name for field in fields(BrownConrady) if not field.kw_only]
    lens = np.array([getattr(camera, name) for name in names[4:]])  # declared in OpenCV's order
    expected, _ = cv2.projectPoints(points[seen], np.zeros(3), np.zeros(3), matrix, lens)
    np.testing.assert_allclose(pixels[seen], expected[:, 0], rtol=1e-9, atol=1e-7)


@given(st.floats(-1.4, 1.4), st.floats(-3, 3))
def test_a_tilted_sensor_is_where_rays_meet_a_plane(angle: float, slope: float) -> None:
    """The ray (slope, 1) meets the line u (cos, sin) through (0, 1) at u = s / (cos - s sin)."""
    closing = math.cos(angle) - slope * math.sin(angle)
    assume(abs(closing) > 1e-6)
    expected = slope / closing if closing > 0 else math.nan  # else it meets the line behind
    _, v = BrownConrady(1, 1, 0, 0, tilt_x=angle).project([0, slope, 1])
    u, _ = BrownConrady(1, 1, 0, 0, tilt_y=angle).project([-slope, 0, 1])
    np.testing.assert_allclose((v, -u), expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(("tilt_x", "tilt_y"), [(math.pi / 2, 0.0), (0.0, -2.0)])
def test_a_sensor_that_faces_away_is_refused(tilt_x: float, tilt_y: float) -> None:
    with pytest.raises(CameraError, match=r"tilt_. = .*right angle"):
        BrownConrady(300, 300, 0, 0, tilt_x=tilt_x, tilt_y=tilt_y)


@given(st.floats(-0.6, -0.05), st.floats(100, 500))
def test_radial_pixels_beyond_the_critical_radius_have_no_ray(k1: float, f: float) -> None:
    """For k1 alone d(r + k1 r^3)/dr = 0 at r = 1/sqrt(-3 k1), which is distorted to 2/3 of it."""
    camera = BrownConrady(f, f, 319.5, 239.5, k1=k1)
    pixels = pixel_grid(HEIGHT, WIDTH)[::4, ::4]
    radius = np.linalg.norm(pixels - (319.5, 239.5), axis=-1)
    reachable = f * 2 / 3 / np.sqrt(-3 * k1)
    seen = np.isfinite(camera.directions(pixels)[..., 0])
    clear = np.abs(radius - reachable) > 1e-5
    np.testing.assert_array_equal(seen[clear], (radius < reachable)[clear])


def test_strong_barrel_is_exact_where_opencv_is_205_pixels_off() -> None:
    rays = STRONG_BARREL.rays(HEIGHT, WIDTH)
    seen = np.isfinite(rays[..., 0])
    error = np.abs(STRONG_BARREL.project(rays) - pixel_grid(HEIGHT, WIDTH))[seen]
    assert error.max() < 1e-9
    assert np.nanmax(np.hypot(rays[..., 0], rays[..., 1])) < 1 / np.sqrt(0.9)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1, 1e3))
def test_without_distortion_it_is_a_pinhole(x: float, y: float, z: float) -> None:
    intrinsics = (300.0, 320.0, 319.5, 239.5)
    pinhole, camera = Pinhole(*intrinsics), BrownConrady(*intrinsics)
    expected = pinhole.project([x, y, z])
    if not np.abs(expected).max() > 1e9:  # so grazing that the squares of x and y overflow
        np.testing.assert_allclose(camera.project([x, y, z]), expected, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(
        camera.rays(5, 6), pinhole.rays(5, 6), rtol=1e-12, err_msg="the rays differ"
    )


def test_grazing_points_and_points_behind_are_not_seen_and_not_warned_about() -> None:
    points = np.array([[1e300, 0, 1e-300], [1, 1, -1]])
    assert np.isnan(STRONG_BARREL.project(points)).all()
    assert np.isnan(STRONG_BARREL.directions(np.array([1e300, 0.0]))).all()


def test_any_leading_shape_is_kept() -> None:
    assert STRONG_BARREL.project([0, 0, 1]).tolist() == [319.5, 239.5]
    assert STRONG_BARREL.directions(np.zeros((2, 0, 5, 2))).shape == (2, 0, 5, 3)


def test_a_coefficient_that_is_not_a_number_is_named() -> None:
    with pytest.raises(CameraError, match="k2 = nan"):
        BrownConrady(300, 300, 0, 0, k2=np.nan, p1=np.inf)


def test_equal_parameters_make_equal_cameras() -> None:
    twin = BrownConrady(300, 300, 319.5, 239.5, k1=-0.3)
    twin.directions(np.zeros((1, 2)))  # caches must not take part
    assert twin == STRONG_BARREL
    assert hash(twin) == hash(STRONG_BARREL)


@pytest.mark.parametrize(
    "camera",
    [
        BrownConrady(300, 330, 301, 250, k3=-1.2e-07, k4=-1.2e-07, k6=-1.2e-07),
        BrownConrady(300, 330, 301, 250, p2=0.015625, k5=0.5),
    ],
    ids=["pole beside a fold", "flat maximum"],
)
def test_rare_lenses_give_no_warning(camera: BrownConrady) -> None:
    grid = pixel_grid(HEIGHT, WIDTH)[::40, ::40]
    assert np.isfinite(camera.directions(grid)).any()
