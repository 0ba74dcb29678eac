"""The division model: COLMAP's, past 90 degrees and up to its fold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cameras.oracles import colmap_pixels, points_in_front
from rayrelief.cameras.division import Division
from rayrelief.cameras.fisheye import Stereographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.conventions import FloatArray


def ring(angles: FloatArray) -> FloatArray:
    return np.stack((np.sin(angles), np.zeros_like(angles), np.cos(angles)), axis=1)


@given(st.floats(-2, 0.06), st.integers(0, 2**32 - 1))
def test_agrees_with_colmap_in_front(k: float, seed: int) -> None:
    camera, points = Division(310, 305, 322, 241, k), points_in_front(seed)
    seen = np.hypot(points[:, 0], points[:, 1]) * 2 * math.sqrt(max(k, 0)) < 0.99 * points[:, 2]
    expected = colmap_pixels(camera, "DIVISION", points)
    np.testing.assert_allclose(camera.project(points)[seen], expected[seen], rtol=1e-9, atol=1e-9)


@given(st.floats(0.001, 4))
def test_a_pincushion_distortion_folds_where_its_angle_is_largest(k: float) -> None:
    camera = Division(1, 1, 0, 0, k)
    angles = math.atan(1 / (2 * math.sqrt(k))) + np.array([-1e-6, 1e-6])
    assert np.isfinite(camera.project(ring(angles))).all(axis=1).tolist() == [True, False]
    radii = np.array([1 - 2e-4, 1 + 1e-9]) / math.sqrt(k)
    rays = camera.directions(np.stack((np.zeros(2), radii), axis=1))
    assert np.isfinite(rays).all(axis=1).tolist() == [True, False]
    # The radius is on the branch that starts at the principal point.
    inner = np.linspace(0, angles[0], 50)
    assert (np.diff(camera.project(ring(inner))[:, 0]) > 0).all()


@given(st.floats(-4, -0.001))
def test_a_barrel_distortion_never_folds(k: float) -> None:
    """90 degrees off the axis are at 1 + k r^2 = 0; the angle only nears 180."""
    camera = Division(1, 1, 0, 0, k)
    assert camera.project([1, 0, 0])[0] == pytest.approx(1 / math.sqrt(-k), rel=1e-14)
    angles = np.linspace(0, math.pi - 1e-6, 1000)
    assert (np.diff(camera.project(ring(angles))[:, 0]) > 0).all()
    far = np.array([[1e7, 0]])
    np.testing.assert_allclose(camera.project(camera.directions(far)), far, rtol=1e-12, atol=1e-9)
    assert np.isnan(camera.project([0, 0, -1])).all()


def test_minus_a_quarter_is_stereographic_and_zero_a_pinhole() -> None:
    directions = ring(np.linspace(0, 3, 100))
    for k, camera in ((-0.25, Stereographic(9, 9, 0, 0)), (0.0, Pinhole(9, 9, 0, 0))):
        found, expected = Division(9, 9, 0, 0, k).project(directions), camera.project(directions)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-9)


def test_the_smallest_coefficients_make_no_difference() -> None:
    directions = ring(np.linspace(0, 1.5, 100))
    expected = Pinhole(9, 9, 0, 0).project(directions)
    for k in (5e-324, -5e-324, 1e-30, -1e-30):
        np.testing.assert_allclose(
            Division(9, 9, 0, 0, k).project(directions), expected, rtol=1e-12, atol=1e-9
        )
