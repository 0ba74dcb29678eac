"""Cameras of a part of an image and of a scaled one: pixels keep what they see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rayrelief.cameras.base import Camera, pixel_grid
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.fisheye import Equidistant
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.ray_map import RayMap
from rayrelief.conventions import FloatArray
from rayrelief.errors import CameraError

WIDTH, HEIGHT = 40, 30
LENS = BrownConrady(50, 55, 18, 16, k1=-0.2, p1=0.01, size=(WIDTH, HEIGHT))
PARALLEL = Orthographic(0.3, 12.5, 7.25, size=(WIDTH, HEIGHT))
SEED = st.integers(0, 2**32 - 1)


@st.composite
def parts(draw: st.DrawFn) -> tuple[int, int, int, int]:
    """(left, top, width, height) of a part of the image, off its diagonal."""
    left, top = draw(st.integers(0, WIDTH - 1)), draw(st.integers(0, HEIGHT - 1))
    assume(left != top)
    return left, top, draw(st.integers(1, WIDTH - left)), draw(st.integers(1, HEIGHT - top))


def test_fold_is_searched_once():
    lens = replace(LENS)  # what others have found of LENS may be forgotten by now
    branch = lens.distortion.branch
    cut, scaled = lens.crop(3, 2, 20, 10), lens.resize(80, 60)
    assert isinstance(cut, BrownConrady)
    assert isinstance(scaled, BrownConrady)
    assert cut.distortion.branch is branch
    assert scaled.distortion.branch is branch


def unit(vectors: FloatArray) -> FloatArray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def mean_of_blocks(array: FloatArray) -> FloatArray:
    """Means (H / 2, W / 2, 3) of blocks of 2 x 2 pixels of an array (H, W, 3)."""
    height, width, _ = array.shape
    return array.reshape(height // 2, 2, width // 2, 2, 3).mean(axis=(1, 3))


@given(parts(), SEED)
def test_a_crop_of_a_ray_map_has_the_rays_of_its_part(
    part: tuple[int, int, int, int], seed: int
) -> None:
    left, top, width, height = part
    rays = np.random.default_rng(seed).standard_normal((HEIGHT, WIDTH, 3))
    rays[top + 1 :, left] = np.nan
    cropped = RayMap(rays).crop(*part)
    expected = RayMap(rays).unit[top : top + height, left : left + width]
    np.testing.assert_allclose(cropped.unit_rays(height, width), expected, rtol=0, atol=1e-15)


@given(parts(), SEED)
def test_a_crop_of_a_ray_map_moves_pixels_by_its_corner(
    part: tuple[int, int, int, int], seed: int
) -> None:
    left, top, width, height = part
    assume(width > 1 and height > 1)
    whole = RayMap(LENS.unit_rays(HEIGHT, WIDTH))
    inside = np.random.default_rng(seed).uniform(0, (width - 1, height - 1), (50, 2))
    points = whole.directions(inside + np.array([left, top]))
    np.testing.assert_allclose(whole.crop(*part).project(points), inside, rtol=0, atol=1e-6)


@given(parts())
def test_a_crop_of_parallel_rays_starts_where_its_part_does(
    part: tuple[int, int, int, int],
) -> None:
    left, top, width, height = part
    cropped = PARALLEL.crop(*part)
    expected = PARALLEL.origins(HEIGHT, WIDTH)[top : top + height, left : left + width]
    np.testing.assert_allclose(cropped.origins(height, width), expected, rtol=0, atol=1e-12)
    assert cropped.resolution == (width, height)


def test_half_a_ray_map_sees_the_middle_of_every_four_pixels() -> None:
    rays = RayMap(LENS.unit_rays(HEIGHT, WIDTH))
    half = rays.resize(WIDTH // 2, HEIGHT // 2)
    np.testing.assert_allclose(half.unit, unit(mean_of_blocks(rays.unit)), rtol=0, atol=1e-15)


def test_a_doubled_ray_map_sees_a_quarter_pixel_beside_its_pixels() -> None:
    rays = RayMap(LENS.unit_rays(HEIGHT, WIDTH))
    double = rays.resize(2 * WIDTH, 2 * HEIGHT)
    expected = unit(rays.directions(pixel_grid(2 * HEIGHT, 2 * WIDTH) / 2 - 0.25))
    inner = slice(1, -1)  # what lies outside of the outermost centres is not interpolated
    np.testing.assert_allclose(
        double.unit[inner, inner], expected[inner, inner], rtol=0, atol=1e-15
    )
    assert np.isfinite(double.unit).all()


@pytest.mark.parametrize(
    "camera",
    [LENS, Pinhole(50, 60, 22, 9, size=LENS.size), Equidistant(50, 45, 15, 12, size=LENS.size)],
    ids=["lens", "pinhole", "fisheye"],
)
@given(width=st.integers(5, 3 * WIDTH), height=st.integers(5, 3 * HEIGHT))
def test_a_scaled_ray_map_is_that_of_the_scaled_camera(
    camera: IntrinsicCamera, width: int, height: int
) -> None:
    """Up to the error of the interpolation, which is of second order in the angle of a pixel."""
    rays = RayMap(camera.unit_rays(HEIGHT, WIDTH)).resize(width, height)
    expected = camera.resize(width, height).unit_rays(height, width)
    apart = np.linalg.norm(rays.unit - expected, axis=-1)
    assert apart.max() < 1 / min(camera.fx, camera.fy) ** 2


@given(st.floats(0.01, 100), st.floats(-50, 90), st.floats(-50, 90))
def test_scaled_parallel_rays_start_in_the_middle_of_every_four(
    pixel_size: float, cx: float, cy: float
) -> None:
    camera = Orthographic(pixel_size, cx, cy, size=(WIDTH, HEIGHT))
    half, double = camera.resize(WIDTH // 2, HEIGHT // 2), camera.resize(2 * WIDTH, 2 * HEIGHT)
    origins = camera.origins(HEIGHT, WIDTH)
    for coarse, fine in (
        (half.origins(HEIGHT // 2, WIDTH // 2), origins),
        (origins, double.origins(2 * HEIGHT, 2 * WIDTH)),
    ):
        np.testing.assert_allclose(coarse, mean_of_blocks(fine), rtol=0, atol=1e-10 * pixel_size)


ALL_KINDS = pytest.mark.parametrize(
    "camera",
    [LENS, PARALLEL, RayMap(LENS.unit_rays(HEIGHT, WIDTH))],
    ids=["lens", "parallel", "ray map"],
)


@ALL_KINDS
@pytest.mark.parametrize(
    "part",
    [
        (-1, 0, 5, 5),
        (0, -1, 5, 5),
        (WIDTH - 4, 0, 5, 5),
        (0, HEIGHT - 4, 5, 5),
        (0, 0, WIDTH, HEIGHT + 1),
        (3, 2, 0, 5),
        (3, 2, 5, -1),
        (0.5, 0, 5, 5),
        (0, 0, 5, 5.0),
    ],
    ids=str,
)
def test_a_crop_that_is_no_part_of_the_image_is_refused(
    camera: Camera, part: tuple[Any, Any, Any, Any]
) -> None:
    with pytest.raises(CameraError, match=r"crop.*40x30"):
        camera.crop(*part)


@ALL_KINDS
@pytest.mark.parametrize("size", [(0, 5), (5, 0), (-40, -30), (20.0, 15), (20, 15.5)], ids=str)
def test_a_size_that_no_image_has_is_refused(camera: Camera, size: tuple[Any, Any]) -> None:
    with pytest.raises(CameraError, match="two integers >= 1"):
        camera.resize(*size)


def test_a_crop_without_a_ray_is_refused() -> None:
    rays = LENS.unit_rays(HEIGHT, WIDTH)
    rays[:, :10] = np.nan
    with pytest.raises(CameraError, match="without a single valid ray"):
        RayMap(rays).crop(0, 3, 10, 5)


def test_parallel_rays_are_scaled_evenly_and_from_a_known_size() -> None:
    with pytest.raises(CameraError, match=r"40x30.*20x30"):
        PARALLEL.resize(20, 30)
    with pytest.raises(CameraError, match=r"size.*Orthographic"):
        Orthographic(0.3).resize(20, 15)
