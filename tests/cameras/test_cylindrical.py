"""The panorama on a cylinder: straight uprights, square pixels, and its seam."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.base import pixel_grid
from rayrelief.cameras.cylindrical import Cylindrical

HEIGHT, WIDTH = 60, 180
FULL = Cylindrical.full(HEIGHT, WIDTH)


@given(st.floats(-math.pi + 0.02, math.pi - 0.02), st.floats(-50, 50), st.floats(0.1, 100))
def test_azimuth_and_height_are_the_coordinates(azimuth: float, y: float, radius: float) -> None:
    point = [radius * math.sin(azimuth), radius * y, radius * math.cos(azimuth)]
    f = WIDTH / (2 * math.pi)
    expected = (89.5 + f * azimuth, 29.5 + f * y)
    np.testing.assert_allclose(FULL.project(point), expected, rtol=1e-12, atol=1e-11)


def test_every_pixel_of_a_full_panorama_comes_back_also_at_the_seam() -> None:
    rays = FULL.rays(HEIGHT, WIDTH)
    np.testing.assert_allclose(FULL.project(rays), pixel_grid(HEIGHT, WIDTH), atol=1e-9)


def test_pixels_are_square_and_the_turn_is_whole() -> None:
    assert FULL.fx == FULL.fy
    assert FULL.wraps(WIDTH)
    assert not FULL.wraps(WIDTH + 1)
    first, last = FULL.directions(np.array([[0, 10.0], [WIDTH, 10.0]]))
    np.testing.assert_allclose(first, last, atol=1e-14)


def test_straight_up_and_down_is_not_seen() -> None:
    assert np.isnan(FULL.project([[0, 1, 0], [0, -1, 0], [0, 0, 0]])).all()


@given(st.integers(-200, 200), st.integers(1, WIDTH))
def test_the_pixels_of_any_crop_come_back(left: int, width: int) -> None:
    part = FULL.crop(left, 10, width, 40)
    np.testing.assert_allclose(part.project(part.rays(40, width)), pixel_grid(40, width), atol=1e-9)
