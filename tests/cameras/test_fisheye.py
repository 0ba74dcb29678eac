"""The ideal fisheyes: their closed forms, all around the sphere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cameras.oracles import colmap_pixels, points_in_front
from rayrelief.cameras.fisheye import Equidistant, Equisolid, IdealFisheye, Stereographic
from rayrelief.errors import CameraError

RADII = {
    Equidistant: lambda t: t,
    Equisolid: lambda t: 2 * math.sin(t / 2),
    Stereographic: lambda t: 2 * math.tan(t / 2),
}


@pytest.mark.parametrize("model", RADII)
@given(angle=st.floats(0, 3.14), azimuth=st.floats(0, 6.28))
def test_the_radius_is_that_of_the_angle(
    model: type[IdealFisheye], angle: float, azimuth: float
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
    model: type[IdealFisheye], reach: float
) -> None:
    camera = model(10, 10, 0, 0)
    rim = np.array([[10 * reach, 0], [0, -10 * reach]])
    np.testing.assert_allclose(camera.directions(rim), [[0, 0, -1]] * 2, atol=1e-7)
    assert np.isnan(camera.directions((1 + 1e-9) * rim)).all()
    np.testing.assert_allclose(camera.project([0, 0, -1]), rim[0], rtol=1e-15, atol=1e-9)


def test_a_stereographic_image_has_no_end_and_does_not_show_the_axis_behind() -> None:
    camera = Stereographic(10, 10, 0, 0)
    pixels = np.array([[1e9, 0], [0, 1e12]])
    np.testing.assert_allclose(
        camera.project(camera.directions(pixels)), pixels, rtol=1e-12, atol=1e-9
    )
    assert np.isnan(camera.project([0, 0, -1])).all()


@pytest.mark.parametrize("model", RADII)
@given(widest=st.floats(0.01, 3.1), azimuth=st.floats(0, 6.28))
def test_an_image_circle_that_ends_earlier_ends_both_rays_and_projections(
    model: type[IdealFisheye], widest: float, azimuth: float
) -> None:
    camera = model(100, 100, 3, 4, widest=widest)
    across = np.array([math.cos(azimuth), math.sin(azimuth)])
    for inside in (True, False):
        angle = widest * (1 - 1e-6 if inside else 1 + 1e-6)
        point = [*(math.sin(angle) * across), math.cos(angle)]
        pixel = (3.0, 4.0) + 100 * RADII[model](angle) * across
        assert np.isfinite(camera.project(point)).all() == inside
        assert np.isfinite(camera.directions(pixel)).all() == inside


@pytest.mark.parametrize("model", RADII)
@given(widest=st.floats(1e-6, math.pi))
def test_the_image_circle_itself_is_seen(model: type[IdealFisheye], widest: float) -> None:
    camera = model(100, 100, 0, 0, widest=widest)
    rim = np.array([100 * RADII[model](widest), 0.0])
    again = camera.project(camera.directions(rim))
    if model is not Stereographic or rim[0] < 1e9:  # else it lies straight behind
        np.testing.assert_allclose(again, rim, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("widest", [0.0, -1.0, 3.1416, 180.0])
def test_an_image_circle_that_cannot_be_is_refused(widest: float) -> None:
    with pytest.raises(CameraError, match=r"widest = .*pi"):
        Equisolid(100, 100, 0, 0, widest=widest)


def test_equidistant_agrees_with_colmap_in_front() -> None:
    camera, points = Equidistant(310, 305, 322, 241), points_in_front(2)
    expected = colmap_pixels(camera, "FISHEYE", points)
    np.testing.assert_allclose(camera.project(points), expected, rtol=1e-12, atol=1e-9)
