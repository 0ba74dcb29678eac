"""A camera looking at an image: what a pixel covers of a surface, in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.base import Camera
from rayrelief.cameras.cylindrical import Cylindrical
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.ray_map import RayMap
from rayrelief.cameras.view import View
from rayrelief.conventions import FloatArray

HEIGHT, WIDTH = 7, 12


def mean_of_neighbours(across: FloatArray, down: FloatArray, *, wraps: bool) -> FloatArray:
    """Mean step (H, W) to the neighbours, from the steps to the right of and below each pixel."""
    height, width = across.shape
    mean = np.empty((height, width))
    for v in range(height):
        for u in range(width):
            steps = [across[v, u]] if wraps or u < width - 1 else []
            steps += [across[v, u - 1]] if wraps or u > 0 else []
            steps += [down[v, u]] if v < height - 1 else []
            steps += [down[v - 1, u]] if v > 0 else []
            mean[v, u] = sum(steps) / len(steps)
    return mean


@given(st.floats(1, 1000), st.floats(1, 1000), st.floats(-20, 30), st.integers(0, 2**32 - 1))
def test_pixels_of_a_pinhole_are_the_depth_over_the_focal_length(
    fx: float, fy: float, cx: float, seed: int
) -> None:
    view = View.of(Pinhole(fx + 30, fy + 30, cx, 3), HEIGHT, WIDTH)
    depth = np.random.default_rng(seed).uniform(0.5, 9, (HEIGHT, WIDTH))
    across, down = (np.full((HEIGHT, WIDTH), 1 / f) for f in (fx + 30, fy + 30))
    expected = depth * mean_of_neighbours(across, down, wraps=False)
    np.testing.assert_allclose(view.footprint(depth), expected, rtol=1e-9)


@given(st.integers(-40, 40), st.integers(3, WIDTH))
def test_pixels_of_a_panorama_are_chords_of_its_circles_also_at_the_seam(
    left: int, width: int
) -> None:
    whole = Equirectangular.full(HEIGHT, WIDTH)
    view = View.of(whole.crop(left, 0, width, HEIGHT), HEIGHT, width)
    latitude = (np.arange(HEIGHT) - (HEIGHT - 1) / 2) * math.pi / HEIGHT
    circle = 2 * np.cos(latitude) * math.sin(math.pi / WIDTH)
    across = np.repeat(circle[:, None], width, axis=1)
    down = np.full((HEIGHT, width), 2 * math.sin(math.pi / HEIGHT / 2))
    depth = np.random.default_rng(width).uniform(0.5, 9, (HEIGHT, width))
    expected = depth * mean_of_neighbours(across, down, wraps=width == WIDTH)
    np.testing.assert_allclose(view.footprint(depth), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "camera",
    [Cylindrical.full(HEIGHT, WIDTH), RayMap(Equirectangular.full(HEIGHT, WIDTH).rays(7, 12))],
    ids=["cylindrical", "ray map"],
)
def test_columns_of_a_whole_turn_are_all_alike(camera: Camera) -> None:
    footprint = View.of(camera, HEIGHT, WIDTH).footprint(np.ones((HEIGHT, WIDTH)))
    np.testing.assert_allclose(footprint, footprint[:, [3]].repeat(WIDTH, axis=1), rtol=1e-12)


def test_pixels_without_a_ray_do_not_count() -> None:
    rays = Pinhole(20, 10, 5, 3).rays(HEIGHT, WIDTH)
    rays[2:5, 4] = np.nan
    footprint = View.of(RayMap(rays), HEIGHT, WIDTH).footprint(np.ones((HEIGHT, WIDTH)))
    fx, fy = 1 / 20, 1 / 10
    assert footprint[3, 8] == pytest.approx((2 * fx + 2 * fy) / 4, rel=1e-12)
    assert footprint[3, 5] == pytest.approx((fx + 2 * fy) / 3, rel=1e-12)  # one is to its left
    assert footprint[1, 4] == pytest.approx((2 * fx + fy) / 3, rel=1e-12)  # one is below
    assert footprint[3, 4] == 0


@pytest.mark.parametrize("shape", [(HEIGHT, WIDTH), (1, 1)])
def test_pixels_of_parallel_rays_have_one_size(shape: tuple[int, int]) -> None:
    footprint = View.of(Orthographic(0.25), *shape).footprint(np.full(shape, 3.0))
    np.testing.assert_array_equal(footprint, np.full(shape, 0.25))


def test_a_lone_pixel_has_no_neighbour_to_be_measured_by() -> None:
    np.testing.assert_array_equal(View.of(Pinhole(9, 9, 0, 0), 1, 1).footprint(np.ones((1, 1))), 0)
