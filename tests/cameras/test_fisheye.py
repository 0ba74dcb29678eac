"""The ideal fisheyes: their closed forms, all around the sphere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cameras.oracles import colmap_pixels, points_in_front
from rayrelief.cameras.fisheye import Equidistant, Equisolid, Stereographic
from rayrelief.cameras.radial import RadialCamera

RADII = {
    Equidistant: lambda t: t,
    Equisolid: lambda t: 2 * math.sin(t / 2),
    Stereographic: lambda t: 2 * math.tan(t / 2),
}


@pytest.mark.parametrize("model", RADII)
@settings(deadline=None)
@given(angle=st.floats(0, 3.14), azimuth=st.floats(0, 6.28))
def test_the_radius_is_that_of_the_angle(
    model: type[RadialCamera], angle: float, azimuth: float
) -> None:
    across = np.array([math.cos(azimuth), math.sin(azimuth)])
    point = [*(math.sin(angle) * across), math.cos(angle)]
    expected = (3.0, 4.0) + RADII[model](angle) * across * (100, 110)
    np.testing.assert_allclose(
        model(100, 110, 3, 4).project(point), expected, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ("model", "reach"), [(Equidistant, math.pi), (Equisolid, 2.0)], ids=["equidistant", "equisolid"]
)
def test_the_image_ends_in_a_circle_that_sees_straight_behind(
    model: type[RadialCamera], reach: float
) -> None:
    camera = model(10, 10, 0, 0)
    rim = np.array([[10 * reach, 0], [0, -10 * reach]])
    np.testing.assert_allclose(camera.directions(rim), [[0, 0, -1]] * 2, atol=1e-7)
    assert np.isnan(camera.directions((1 + 1e-9) * rim)).all()
    np.testing.assert_allclose(camera.project([0, 0, -1]), rim[0], rtol=1e-15)


def test_a_stereographic_image_has_no_end_and_does_not_show_the_axis_behind() -> None:
    camera = Stereographic(10, 10, 0, 0)
    pixels = np.array([[1e9, 0], [0, 1e12]])
    np.testing.assert_allclose(camera.project(camera.directions(pixels)), pixels, rtol=1e-12)
    assert np.isnan(camera.project([0, 0, -1])).all()


def test_equidistant_agrees_with_colmap_in_front() -> None:
    camera, points = Equidistant(310, 305, 322, 241), points_in_front(2)
    expected = colmap_pixels(camera, "FISHEYE", points)
    np.testing.assert_allclose(camera.project(points), expected, rtol=1e-12)
