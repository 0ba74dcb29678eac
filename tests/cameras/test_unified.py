"""The unified camera: against OpenCV on a moved sphere, and the rim of the sphere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cameras.models import MODELS
from profiles import fewer_examples
from rayrelief.cameras.base import pixel_grid
from rayrelief.cameras.fisheye import Stereographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.unified import Unified
from rayrelief.conventions import FloatArray
from rayrelief.errors import CameraError


def ring(angles: FloatArray) -> FloatArray:
    return np.stack((np.sin(angles), np.zeros_like(angles), np.cos(angles)), axis=1)


@fewer_examples(2)
@given(st.data(), st.integers(0, 2**32 - 1))
def test_agrees_with_opencv_on_the_moved_sphere(data: st.DataObject, seed: int) -> None:
    cv2 = pytest.importorskip("cv2")
    camera = data.draw(MODELS["unified with distortion"])
    assert isinstance(camera, Unified)
    directions = np.random.default_rng(seed).standard_normal((500, 3))
    directions[0] = (0, 0, 1)
    pixels = camera.project(directions)
    seen = np.isfinite(pixels[:, 0])
    moved = directions / np.linalg.norm(directions, axis=1)[:, None] + (0, 0, camera.xi)
    central = (directions[:, 2] > 0) & (moved[:, 2] > 0.98 * np.linalg.norm(moved, axis=1))
    assert seen[central].all()
    lens = np.array([camera.k1, camera.k2, camera.p1, camera.p2])
    plane, _ = cv2.projectPoints(moved[seen], np.zeros(3), np.zeros(3), np.eye(3), lens)
    x, y = plane[:, 0].T
    u, v = camera.fx * x + camera.skew * y + camera.cx, camera.fy * y + camera.cy
    np.testing.assert_allclose(pixels[seen], np.stack((u, v), axis=1), rtol=1e-9, atol=1e-8)


@given(st.floats(1.001, 50))
def test_a_fisheye_ends_in_the_circle_where_it_folds(xi: float) -> None:
    camera = Unified(1, 1, 0, 0, xi)
    rim = 1 / math.sqrt(xi**2 - 1)
    rays = camera.directions(np.array([[rim * (1 - 1e-9), 0], [rim * (1 + 1e-9), 0]]))
    assert np.isfinite(rays).all(axis=1).tolist() == [True, False]
    angles = math.acos(-1 / xi) + np.array([-1e-6, 1e-6])
    assert np.isfinite(camera.project(ring(angles))).all(axis=1).tolist() == [True, False]
    assert camera.project(ring(angles))[0, 0] == pytest.approx(rim)


@given(st.floats(-0.99, 0.99))
def test_below_one_the_image_goes_to_infinity(xi: float) -> None:
    camera = Unified(1, 1, 0, 0, xi)
    angles = math.acos(-xi) + np.array([-1e-6, 1e-6])
    pixels = camera.project(ring(angles))
    assert np.isfinite(pixels).all(axis=1).tolist() == [True, False]
    assert pixels[0, 0] > 1e3
    far = np.array([[1e4, 0.0]])
    np.testing.assert_allclose(camera.project(camera.directions(far)), far, rtol=1e-9, atol=1e-9)


@given(st.floats(-0.999, -1e-6), st.integers(0, 2**32 - 1))
@example(-0.3, 0)
def test_an_offset_below_zero_sees_nothing_behind(xi: float, seed: int) -> None:
    """Not even on the mirror image of the cone where the image is infinite."""
    camera = Unified(300, 300, 320, 240, xi)
    angles = np.random.default_rng(seed).uniform(math.pi / 2, math.pi, 1000)
    steps = np.geomspace(1e-16, 1e-7, 50)
    mirrored = math.acos(xi) + np.concatenate((-steps, [0], steps))
    assert np.isnan(camera.project(ring(np.concatenate((angles, mirrored))))).all()
    points = np.array([[0.9539392, 0, -0.3], [1, 0, 0], [0, 0, -1]])
    assert np.isnan(camera.project(points)).all()


def test_zero_is_a_pinhole_and_one_is_stereographic() -> None:
    directions = ring(np.linspace(0, 3, 100))
    for xi, f, camera in ((0, 9, Pinhole(9, 9, 0, 0)), (1, 18, Stereographic(9, 9, 0, 0))):
        found = Unified(f, f, 0, 0, xi).project(directions)
        np.testing.assert_allclose(found, camera.project(directions), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("xi", [-0.999, 1e2, 4e5])
def test_extreme_offsets_go_there_and_back(xi: float) -> None:
    camera = Unified(200 * (1 + xi), 200 * (1 + xi), 320, 240, xi)
    grid = pixel_grid(480, 640)[::16, ::16]
    rays = camera.directions(grid)
    seen = np.isfinite(rays[..., 0])
    assert seen.any()
    np.testing.assert_allclose(camera.project(3 * rays)[seen], grid[seen], atol=1e-6)


@pytest.mark.parametrize("xi", [-1, -1.5, -0.9999])
def test_an_offset_that_leaves_nothing_to_see_is_refused(xi: float) -> None:
    with pytest.raises(CameraError, match=r"xi = .*-0\.999"):
        Unified(300, 300, 0, 0, xi)
