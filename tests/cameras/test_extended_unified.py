"""The extended unified camera: its formula, COLMAP, and the unified camera that it extends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cameras.oracles import colmap_pixels, points_in_front
from rayrelief.cameras.extended_unified import ExtendedUnified
from rayrelief.cameras.unified import Unified
from rayrelief.errors import CameraError

ALPHA = st.floats(0, 1)
BETA = st.floats(0.1, 10)


@given(ALPHA, BETA, st.integers(0, 2**32 - 1))
def test_follows_its_formula_wherever_it_is_valid(alpha: float, beta: float, seed: int) -> None:
    """Usenko et al., "The Double Sphere Camera Model", section 3 B: valid for z > -w d."""
    points = np.random.default_rng(seed).standard_normal((500, 3))
    x, y, z = points.T
    d = np.sqrt(beta * (x**2 + y**2) + z**2)
    w = alpha / (1 - alpha) if alpha <= 0.5 else (1 - alpha) / alpha
    pixels = ExtendedUnified(100, 110, 3, 4, alpha, beta).project(points)
    valid = z > -w * d
    clear = np.abs(z + w * d) > 1e-9  # of the rim
    np.testing.assert_array_equal(np.isfinite(pixels[clear, 0]), valid[clear])
    known = clear & valid
    expected = points[:, :2] / (alpha * d + (1 - alpha) * z)[:, None] * (100, 110) + (3, 4)
    np.testing.assert_allclose(pixels[known], expected[known], rtol=1e-6, atol=1e-6)


@given(ALPHA, BETA, st.integers(0, 2**32 - 1))
def test_agrees_with_colmap_in_front(alpha: float, beta: float, seed: int) -> None:
    camera, points = ExtendedUnified(310, 305, 322, 241, alpha, beta), points_in_front(seed)
    expected = colmap_pixels(camera, "EUCM", points)
    np.testing.assert_allclose(camera.project(points), expected, rtol=1e-11, atol=1e-9)


@given(st.floats(0.5, 1, exclude_min=True), BETA)
def test_the_image_ends_in_the_circle_where_it_folds(alpha: float, beta: float) -> None:
    camera = ExtendedUnified(1, 1, 0, 0, alpha, beta)
    rim = 1 / math.sqrt(beta * (2 * alpha - 1))
    pixels = np.array([[rim * (1 - 1e-9), 0], [rim * (1 + 1e-9), 0]])
    rays = camera.directions(pixels)
    assert np.isfinite(rays).all(axis=1).tolist() == [True, False]
    np.testing.assert_allclose(camera.project(rays[:1]), pixels[:1], rtol=1e-9, atol=1e-9)


@given(st.floats(0, 5), st.integers(0, 2**32 - 1))
def test_a_sphere_is_the_unified_camera(xi: float, seed: int) -> None:
    directions = np.random.default_rng(seed).standard_normal((200, 3))
    alpha = xi / (1 + xi)
    camera = ExtendedUnified(100 / (1 + xi), 100 / (1 + xi), 3, 4, alpha, 1.0)
    expected = Unified(100, 100, 3, 4, xi).project(directions)
    np.testing.assert_allclose(camera.project(directions), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("alpha", "beta", "message"),
    [
        (-0.1, 1, "alpha = -0.1; expected a number from 0 to 1"),
        (1.1, 1, "alpha = 1.1"),
        (0.5, 0, "beta = 0; expected a number from 1e-06"),
        (0.5, -1, "beta = -1"),
        (0.5, 1e9, r"beta = 1000000000\.0"),
    ],
)
def test_parameters_out_of_their_domain_are_refused(
    alpha: float, beta: float, message: str
) -> None:
    with pytest.raises(CameraError, match=message):
        ExtendedUnified(300, 300, 0, 0, alpha, beta)
