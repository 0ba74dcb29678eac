"""The double sphere camera: its formula, the exact rim, and the cameras that it contains."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.double_sphere import DoubleSphere
from rayrelief.cameras.extended_unified import ExtendedUnified
from rayrelief.cameras.unified import Unified
from rayrelief.conventions import FloatArray
from rayrelief.errors import CameraError

XI = st.floats(-0.9, 0.9)
ALPHA = st.floats(0, 1)
SEED = st.integers(0, 2**32 - 1)


def radius(xi: float, alpha: float, angles: FloatArray) -> FloatArray:
    """The paper's projection on the plane, whether valid or not; infinite at its pole."""
    s, z = np.sin(angles), np.cos(angles)
    d2 = np.hypot(s, xi + z)
    with np.errstate(divide="ignore"):
        return s / (alpha * d2 + (1 - alpha) * (xi + z))


def seen_up_to(xi: float, alpha: float) -> float:
    """Where the radius stops to rise or to be positive: brute force over the angle."""
    angles = np.linspace(0, math.pi, 200_001)
    radii = radius(xi, alpha, angles)
    stops = np.flatnonzero((np.diff(radii) <= 0) | (radii[1:] < 0))
    return angles[stops[0]] if stops.size else math.pi


@given(XI, ALPHA, SEED)
def test_follows_its_formula_where_it_is_seen(xi: float, alpha: float, seed: int) -> None:
    angles = np.random.default_rng(seed).uniform(0, math.pi, 500)
    points = np.stack((np.zeros_like(angles), np.sin(angles), np.cos(angles)), axis=1)
    pixels = DoubleSphere(100, 110, 3, 4, xi, alpha).project(points)
    seen = np.isfinite(pixels[:, 0])
    expected = 4 + 110 * radius(xi, alpha, angles)
    near = seen & (np.abs(expected) < 1e5)
    np.testing.assert_allclose(pixels[near, 1], expected[near], rtol=1e-7, atol=1e-9)
    assert seen[angles < 0.99 * seen_up_to(xi, alpha) - 1e-3].all()
    assert not seen[angles > 1.01 * seen_up_to(xi, alpha) + 1e-3].any()


@given(XI, ALPHA)
def test_the_rim_is_that_of_the_second_sphere(xi: float, alpha: float) -> None:
    """From the second centre, at height -xi, a ray down to cos = -w1 meets the first sphere."""
    w1 = alpha / (1 - alpha) if alpha <= 0.5 else (1 - alpha) / alpha
    z = xi * (w1**2 - 1) - w1 * math.sqrt(1 - xi**2 * (1 - w1**2))
    angles = math.acos(max(z, -1)) + np.array([-1e-5, 1e-5])
    points = np.stack((np.sin(angles), np.zeros(2), np.cos(angles)), axis=1)
    seen = np.isfinite(DoubleSphere(1, 1, 0, 0, xi, alpha).project(points)[:, 0])
    assert seen[0]
    assert not seen[1] or angles[1] >= math.pi


@given(XI, st.floats(0.51, 1))
def test_the_image_ends_in_the_circle_where_it_folds(xi: float, alpha: float) -> None:
    camera = DoubleSphere(1, 1, 0, 0, xi, alpha)
    rim = 1 / math.sqrt(2 * alpha - 1)
    pixels = np.array([[rim * (1 - 1e-9), 0], [rim * (1 + 1e-9), 0]])
    rays = camera.directions(pixels)
    assert np.isfinite(rays).all(axis=1).tolist() == [True, False]
    np.testing.assert_allclose(camera.project(rays[:1]), pixels[:1], rtol=1e-9, atol=1e-9)


@given(XI, ALPHA, SEED)
def test_one_sphere_is_the_unified_camera(xi: float, alpha: float, seed: int) -> None:
    directions = np.random.default_rng(seed).standard_normal((200, 3))
    for found, expected in (
        (DoubleSphere(9, 9, 0, 0, xi, 0.0), Unified(9, 9, 0, 0, xi)),
        (DoubleSphere(9, 9, 0, 0, 0.0, alpha), ExtendedUnified(9, 9, 0, 0, alpha, 1.0)),
    ):
        pixels = expected.project(directions)
        near = ~(np.abs(pixels).max(axis=1) > 1e5)
        np.testing.assert_allclose(
            found.project(directions)[near], pixels[near], rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize(
    ("xi", "alpha", "message"),
    [
        (-1, 0.5, r"xi = -1; expected a number from -0\.999 to 0\.999"),
        (1.2, 0.5, r"xi = 1\.2"),
        (0.1, -0.1, r"alpha = -0\.1; expected a number from 0 to 1"),
        (0.1, 1.5, r"alpha = 1\.5"),
    ],
)
def test_parameters_out_of_their_domain_are_refused(xi: float, alpha: float, message: str) -> None:
    with pytest.raises(CameraError, match=message):
        DoubleSphere(300, 300, 0, 0, xi, alpha)
