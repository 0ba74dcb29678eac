"""CAHVOR and central CAHVORE: JPL's formulas, lenses that are other models, folds, and errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cameras.oracles import points_in_front
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.cahvor import Cahvor
from rayrelief.cameras.fisheye import Equisolid, Stereographic
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.conventions import FloatArray
from rayrelief.errors import CameraError

CORE = (500.0, 510.0, 320.0, 240.0)
AXIS: dict[str, Any] = {"alpha": 0.05, "beta": -0.03}
SEEDS = st.integers(0, 2**32 - 1)


def pinhole_pixels(points: FloatArray) -> FloatArray:
    return points[:, :2] / points[:, 2:] * CORE[:2] + CORE[2:]


def unit(vectors: FloatArray) -> FloatArray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def lens_axis(alpha: float, beta: float) -> FloatArray:
    return np.array(
        [math.sin(alpha) * math.cos(beta), math.sin(beta), math.cos(alpha) * math.cos(beta)]
    )


@given(
    SEEDS,
    st.floats(-0.2, 0.2),
    st.floats(-0.2, 0.2),
    *(st.floats(0, bound) for bound in (0.1, 0.3, 0.1)),
)
def test_cahvor_as_jpl_defines_it(
    seed: int, alpha: float, beta: float, r0: float, r1: float, r2: float
) -> None:
    """Points p go to p + mu (p - (p.o) o), mu a polynomial of tau = |p|^2 / (p.o)^2 - 1."""
    points, axis = points_in_front(seed), lens_axis(alpha, beta)
    omega = points @ axis
    tau = np.sum(points * points, axis=1) / omega**2 - 1
    mu = r0 + r1 * tau + r2 * tau**2
    bent = points + mu[:, None] * (points - omega[:, None] * axis)
    seen = (omega > 0) & (bent[:, 2] > 0)
    found = Cahvor(*CORE, alpha, beta, r0, r1, r2).project(points)
    expected = pinhole_pixels(bent)
    np.testing.assert_allclose(found[seen], expected[seen], rtol=1e-10, atol=1e-9)
    assert np.isnan(found[~seen]).all()


@pytest.mark.parametrize("linearity", [0.34, 1e-3, 0.0, 1e-17, -0.6])
def test_cahvore_as_jpl_defines_it(linearity: float) -> None:
    """With a pupil that does not move, theta is the angle off the axis of the lens."""
    points, axis = points_in_front(17), lens_axis(**AXIS)
    zeta = points @ axis
    across = points - zeta[:, None] * axis
    length = np.linalg.norm(across, axis=1)
    theta = np.arctan2(length, zeta)
    bend = math.tan if linearity > 0 else math.sin
    chi = np.array([bend(linearity * t) / linearity for t in theta]) if linearity else theta
    mu = 0.02 + 0.1 * chi**2 + 0.03 * chi**4
    bent = (length / chi)[:, None] * axis + (1 + mu)[:, None] * across
    camera = Cahvor(*CORE, **AXIS, r0=0.02, r1=0.1, r2=0.03, linearity=linearity)
    np.testing.assert_allclose(camera.project(points), pinhole_pixels(bent), rtol=1e-10)


@pytest.mark.parametrize(
    ("camera", "same"),
    [
        (Cahvor(*CORE, **AXIS), Pinhole(*CORE)),
        (Cahvor(*CORE, r1=-0.2, r2=0.05), BrownConrady(*CORE, -0.2, 0.05)),
        (Cahvor(*CORE, r0=0.25, r1=0.1), BrownConrady(625, 637.5, 320, 240, 0.08)),
        (Cahvor(*CORE, r1=0.1, r2=-0.01, linearity=0.0), KannalaBrandt(*CORE, 0.1, -0.01)),
        (Cahvor(*CORE, linearity=0.5), Stereographic(*CORE)),
        (Cahvor(*CORE, linearity=-0.5), Equisolid(*CORE)),
    ],
)
def test_lenses_that_are_other_models(camera: Cahvor, same: IntrinsicCamera) -> None:
    points = points_in_front(5) * (1, 1, 0.5)
    if camera.linearity != 1:
        points *= np.random.default_rng(6).choice([-1, 1], (len(points), 1))
    np.testing.assert_allclose(camera.project(points), same.project(points), rtol=1e-9, atol=1e-9)
    pixels = np.random.default_rng(7).uniform(0, 640, (300, 2))
    rays, expected = unit(camera.directions(pixels)), unit(same.directions(pixels))
    np.testing.assert_allclose(rays, expected, rtol=0, atol=1e-12)


def test_the_axis_of_the_lens_is_where_it_points_to() -> None:
    camera = Cahvor(*CORE, alpha=0.1, beta=0.2, r0=0.1, r1=0.3, linearity=0.4)
    axis = lens_axis(0.1, 0.2)
    pixel = (500 * math.tan(0.1) + 320, 510 * math.tan(0.2) / math.cos(0.1) + 240)
    np.testing.assert_allclose(camera.project(axis), pixel, rtol=1e-14)
    np.testing.assert_allclose(camera.directions(np.array(pixel)), axis, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("lens", "widest"),
    [
        # A cubic of chi folds where its derivative 1 + r0 + 3 r1 chi^2 vanishes.
        ({"r1": -0.3}, math.atan(math.sqrt(1 / 0.9))),
        ({"r0": 0.2, "r1": -0.3}, math.atan(math.sqrt(1.2 / 0.9))),
        ({"r1": -0.2, "linearity": 0.0}, math.sqrt(1 / 0.6)),
        ({"linearity": -0.8}, math.pi / 2 / 0.8),
        ({"linearity": 0.8, "r1": -0.01}, math.atan(0.8 * math.sqrt(1 / 0.03)) / 0.8),
    ],
)
def test_the_field_ends_all_around_the_axis_of_the_lens(
    lens: dict[str, Any], widest: float
) -> None:
    camera = Cahvor(100, 100, 0, 0, **AXIS, **lens)
    across, down, axis = camera.axes
    np.testing.assert_allclose(axis, lens_axis(**AXIS), rtol=1e-15)
    azimuth = np.linspace(0, 2 * math.pi, 12)[:, None]
    outward = np.cos(azimuth) * across + np.sin(azimuth) * down
    for angle, seen in ((widest - 1e-4, True), (widest + 1e-4, False)):
        directions = math.cos(angle) * axis + math.sin(angle) * outward
        pixels = camera.project(directions)
        assert np.isfinite(pixels).all() == seen
        if seen:
            rays = unit(camera.directions(pixels))
            np.testing.assert_allclose(rays, directions, rtol=0, atol=1e-6)


@pytest.mark.parametrize("linearity", [0.1, 0.0, 1e-17, -0.1])
def test_no_direction_is_further_off_the_axis_than_straight_behind(linearity: float) -> None:
    """Chi goes on rising there; the angle would come around to directions that were seen."""
    camera = Cahvor(*CORE, linearity=linearity)
    bend = math.tan if linearity > 0 else math.sin
    behind = bend(linearity * math.pi) / linearity if abs(linearity) > 1e-15 else math.pi
    across, along = camera.direction_at(behind * np.array([1 - 1e-9, 1 + 1e-14, 1 + 1e-9]))
    assert np.isfinite(across).tolist() == np.isfinite(along).tolist() == [True, True, False]
    assert 0 < across[1] < 1e-13  # still to the same side
    assert along[1] == -1


def test_an_equidistant_lens_sees_behind_the_camera() -> None:
    camera = Cahvor(100, 100, 0, 0, linearity=0.0)
    ray = camera.directions(np.array([200.0, 0.0]))
    np.testing.assert_allclose(ray, (math.sin(2), 0, math.cos(2)), rtol=1e-14)
    assert np.isnan(camera.directions(np.array([100 * math.pi + 1e-6, 0.0]))).all()


@pytest.mark.parametrize(
    ("lens", "words"),
    [
        ({"alpha": 2.0}, "alpha = 2.0; .* below a right angle"),
        ({"beta": -math.pi / 2}, "beta = -1.57.* below a right angle"),
        ({"r0": -1.0}, r"r0 = -1.0; expected a number >= -0.999"),
        ({"r1": math.nan}, "r1 = nan"),
        ({"linearity": math.inf}, "linearity = inf"),
    ],
)
def test_lenses_that_cannot_be(lens: dict[str, Any], words: str) -> None:
    with pytest.raises(CameraError, match=words):
        Cahvor(*CORE, **lens)
