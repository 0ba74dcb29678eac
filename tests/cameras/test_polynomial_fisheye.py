"""The polynomial fisheye: closed forms, the gap of a bias, its rim, and Blender's own lens."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rayrelief.cameras.fisheye import Equidistant
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.polynomial_fisheye import PolynomialFisheye
from rayrelief.errors import CameraError

# That of a new camera in Blender, fitted to a lens of 50 mm before a sensor of 36 mm.
BLENDER = (
    *(1.1735143712967577e-05, 0.019988736953434998, 3.3525322965709175e-06),
    *(-3.099275275886036e-06, 2.6064646454854524e-08),
)


def off_axis(angle: float) -> list[float]:
    return [math.sin(angle), 0.0, math.cos(angle)]


def test_a_ray_is_the_polynomial_of_its_radius() -> None:
    camera = PolynomialFisheye(20, 10, 5, 6, 0.001, 0.05, 0.002, -0.0003, 0.00001)
    # 6 mm to the right and 8 mm down, that is 10 mm.
    ray = camera.directions(np.array([5 + 120.0, 6 + 80.0]))
    angle = 0.001 + 0.5 + 0.2 - 0.3 + 0.1
    expected = (0.6 * math.sin(angle), 0.8 * math.sin(angle), math.cos(angle))
    np.testing.assert_allclose(ray, expected, rtol=1e-14)
    np.testing.assert_allclose(camera.project(7 * ray), (125, 86), rtol=0, atol=1e-10)


def test_a_line_is_the_equidistant_fisheye() -> None:
    camera = PolynomialFisheye(30, 40, 5, 6, 0, 0.5, widest=2.5)
    same = Equidistant(60, 80, 5, 6, widest=2.5)
    pixels = np.random.default_rng(1).uniform(-200, 200, (500, 2))
    np.testing.assert_allclose(camera.directions(pixels), same.directions(pixels), atol=1e-14)
    points = np.random.default_rng(2).standard_normal((500, 3))
    np.testing.assert_allclose(camera.project(points), same.project(points), atol=1e-10)


def test_the_lens_of_a_new_camera_in_blender_is_nearly_a_pinhole() -> None:
    f = 960 / 36
    camera = PolynomialFisheye(f, f, 479.5, 269.5, *BLENDER, size=(960, 540))
    pinhole = Pinhole(50 * f, 50 * f, 479.5, 269.5, size=(960, 540))
    found, expected = camera.unit_rays(540, 960), pinhole.unit_rays(540, 960)
    assert np.abs(found - expected).max() < 2e-5  # 0.03 pixels


@pytest.mark.parametrize("bias", [1e-3, -1e-3])
def test_around_the_principal_point_a_bias_leaves_a_gap(bias: float) -> None:
    camera = PolynomialFisheye(100, 100, 0, 0, bias, 0.1)
    np.testing.assert_array_equal(camera.directions(np.zeros(2)), (0, 0, 1))
    np.testing.assert_array_equal(camera.project([0, 0, 3]), (0, 0))
    np.testing.assert_array_equal(camera.directions(np.array([1e-12, 0])), (0, 0, 1))
    pixels = np.array([[0.01, 0.0], [0.99, 0.0], [1.01, 0.0]])
    seen = np.isfinite(camera.directions(pixels)).all(axis=1)
    if bias > 0:  # the least angle that a pixel sees
        assert np.isnan(camera.project(off_axis(0.99 * bias))).all()
        assert camera.project(off_axis(1.01 * bias))[0] == pytest.approx(0.01)
        assert seen.tolist() == [True, True, True]
    else:  # the least radius that sees something
        assert camera.project(off_axis(1e-6))[0] == pytest.approx(1.001)
        assert seen.tolist() == [False, False, True]


def test_the_image_ends_where_the_angle_stops_to_rise() -> None:
    """Also if it rises again: t = r - r^2 / 4 has its maximum 1 at r = 2."""
    for quartic in (0.0, 0.004):
        camera = PolynomialFisheye(100, 100, 0, 0, 0, 1, -0.25, 0, quartic)
        flat = np.roots([4 * quartic, 0, -0.5, 1]) if quartic else np.array([2.0])
        rim = 100 * float(min(root.real for root in flat if root.real > 0))
        rays = camera.directions(np.array([[0.99 * rim, 0.0], [1.001 * rim, 0.0], [800.0, 0.0]]))
        assert np.isfinite(rays).all(axis=1).tolist() == [True, False, False]
        np.testing.assert_allclose(camera.project(rays[0]), (0.99 * rim, 0), atol=1e-6)
        assert np.isnan(camera.project(off_axis(1.2))).all()


def test_the_image_ends_where_the_angle_as_good_as_stops_to_rise() -> None:
    """The derivative 1 - r / 2 of t = r - r^2 / 4 is a thousandth of that in the middle at 1.998.

    Between there and its maximum a pixel sees what the next ones see, to 1e-6 radians.
    """
    camera = PolynomialFisheye(100, 100, 0, 0, 0, 1, -0.25)
    rays = camera.directions(np.array([[199.8 - 1e-6, 0.0], [199.8 + 1e-6, 0.0]]))
    assert np.isfinite(rays).all(axis=1).tolist() == [True, False]
    angles = 1 - 1e-6 + np.array([-1e-9, 1e-9])
    assert np.isfinite(camera.project([off_axis(t) for t in angles])).all(axis=1).tolist() == [
        True,
        False,
    ]


def test_the_image_ends_at_the_widest_angle() -> None:
    camera = PolynomialFisheye(100, 100, 0, 0, 0, 1, 0.5, widest=1.5)  # reached at r = 1
    rays = camera.directions(np.array([[100.0, 0.0], [100.0 + 1e-6, 0.0]]))
    np.testing.assert_allclose(rays[0], off_axis(1.5), rtol=0, atol=1e-12)
    assert np.isnan(rays[1]).all()
    assert camera.project(off_axis(1.5 - 1e-9))[0] == pytest.approx(100)
    assert np.isnan(camera.project(off_axis(1.5 + 1e-9))).all()


@pytest.mark.parametrize(
    ("lens", "words"),
    [
        ((0.0, 0.0), r"k1 = 0.0"),
        ((0.0, -0.02), "signs of all coefficients if they come from Blender"),
        ((math.nan, 1.0), "k0 = nan"),
        ((0.0, 1.0, math.inf), "k2 = inf"),
    ],
)
def test_lenses_that_cannot_be(lens: tuple[float, ...], words: str) -> None:
    with pytest.raises(CameraError, match=words):
        PolynomialFisheye(100, 100, 0, 0, *lens)
    with pytest.raises(CameraError, match=r"widest = 4; .* up to pi"):
        PolynomialFisheye(100, 100, 0, 0, 0, 1, widest=4)


@pytest.mark.parametrize("lens", [(2.0, 1.0), (0.0, 1e-9), (-1e300, 1.0), (0, 1.0, 1e300, -1e300)])
def test_lenses_of_any_numbers_warn_about_nothing(lens: tuple[float, ...]) -> None:
    camera = PolynomialFisheye(100, 100, 0, 0, *lens, widest=1)
    camera.directions(np.array([[0.0, 0.0], [3.0, 4.0], [1e100, 0.0]]))
    camera.project([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.1, 1.0]])
