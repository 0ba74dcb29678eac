"""The field-of-view fisheye: closed forms, COLMAP, and parameters out of their domain."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cameras.oracles import colmap_pixels, points_in_front
from rayrelief.cameras.field_of_view import FieldOfView
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import CameraError


@given(st.floats(0.1, 3.0), st.integers(0, 2**32 - 1))
def test_agrees_with_colmap_in_front(omega: float, seed: int) -> None:
    camera, points = FieldOfView(310, 305, 322, 241, omega), points_in_front(seed)
    # Next to the axis COLMAP takes the first terms of a series.
    points = points[np.hypot(points[:, 0], points[:, 1]) > 0.0101 * points[:, 2]]
    expected = colmap_pixels(camera, "FOV", points)
    np.testing.assert_allclose(camera.project(points), expected, rtol=1e-9, atol=1e-9)


@given(st.floats(0.01, 3.1))
def test_landmarks_of_the_angle(omega: float) -> None:
    """The unit square of the plane z = 1 keeps its width; 90 and 180 degrees follow."""
    camera = FieldOfView(1, 1, 0, 0, omega)
    assert camera.project([0.5, 0, 1])[0] == pytest.approx(0.5)
    assert camera.project([1, 0, 0])[0] == pytest.approx(math.pi / 2 / omega)
    assert camera.project([0, 0, -1])[0] == pytest.approx(math.pi / omega)
    rim = math.pi / omega
    rays = camera.directions(np.array([[rim * (1 - 1e-9), 0], [rim * (1 + 1e-9), 0]]))
    assert np.isfinite(rays).all(axis=1).tolist() == [True, False]


def test_a_small_omega_is_a_pinhole() -> None:
    points = points_in_front(3)
    expected = Pinhole(310, 305, 322, 241).project(points)
    for omega in (1e-9, 1e-7):
        found = FieldOfView(310, 305, 322, 241, omega).project(points)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("omega", [0, -1, math.pi, 60, 1e-12])
def test_an_angle_out_of_its_domain_is_refused(omega: float) -> None:
    with pytest.raises(CameraError, match=r"omega = .*1e-09.*pi"):
        FieldOfView(300, 300, 0, 0, omega)
