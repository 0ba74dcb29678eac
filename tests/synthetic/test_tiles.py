"""The window of a ball holds every pixel that sees it, and hardly more, for any camera."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.ray_map import RayMap
from rayrelief.synthetic.shapes import Ball
from rayrelief.synthetic.tiles import Tiles


def fisheye(height, width, degrees):
    """Rays at angles that grow with the distance from the middle; none beyond the last one."""
    v, u = np.mgrid[:height, :width] - np.array([(height - 1) / 2, (width - 1) / 2])[:, None, None]
    radius = np.hypot(u, v)
    angle = np.radians(degrees) * radius / width
    sideways = np.sinc(angle / np.pi) * np.radians(degrees) / width  # sin(angle) / radius
    rays = np.stack((sideways * u, sideways * v, np.cos(angle)), axis=-1)
    return np.where((radius <= width / 2)[..., None], rays, np.nan)


def picture(name, height, width):
    """Origins, rays, and the t from which on they see."""
    if name == "orthographic":
        camera = Orthographic(pixel_size=0.05, cx=width / 2, cy=height / 3)
        return camera.origins(height, width), camera.rays(height, width), -np.inf
    if name == "pinhole":
        return np.zeros(3), Pinhole.from_fov(75.0, height, width).rays(height, width), 0.0
    return np.zeros(3), RayMap(fisheye(height, width, 330.0)).rays(height, width), 0.0


sizes = st.integers(1, 90)


@pytest.mark.parametrize("name", ["pinhole", "orthographic", "fisheye"])
@given(height=sizes, width=sizes, seed=st.integers(0, 2**32 - 1))
def test_the_window_holds_every_pixel_that_sees_the_ball(name, height, width, seed):
    rng = np.random.default_rng(seed)
    x, y, z = (float(value) for value in rng.normal(0.0, 2.0, 3))
    ball = Ball((x, y, z), float(np.exp(rng.normal(-1.5, 1.5))))
    origins, rays, near = picture(name, height, width)
    window = Tiles.of(origins, rays, lines=near < 0).window(ball)
    _, exit_ = ball.chord(origins, rays)
    sees = exit_ > near
    sees[window] = False
    assert not sees.any()


@pytest.mark.parametrize("name", ["pinhole", "orthographic", "fisheye"])
def test_the_window_is_no_larger_than_tiles_require(name):
    origins, rays, near = picture(name, 400, 500)
    ball = Ball((0.9, -0.8, 3.0), 0.4)
    rows, columns = Tiles.of(origins, rays, lines=near < 0).window(ball)
    seen = np.nonzero(ball.chord(origins, rays)[1] > near)
    for span, pixels in zip((rows, columns), seen, strict=True):
        assert span.stop - span.start <= np.ptp(pixels) + 1 + 4 * 8


def test_what_is_behind_the_camera_has_no_window():
    rays = Pinhole.from_fov(60.0, 50, 70).rays(50, 70)
    rows, columns = Tiles.of(np.zeros(3), rays, lines=False).window(Ball((0.1, 0.0, -3.0), 0.5))
    assert rows.start == rows.stop
    assert columns.start == columns.stop
