"""What holds for every camera model, at random parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cameras.models import HEIGHT, MODELS, SLOW, WIDTH
from profiles import fewer_examples
from rayrelief.cameras.base import WIDEST_Z_RAY_DEGREES, depth_kind, pixel_grid
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.conventions import FloatArray

EVERY_MODEL = pytest.mark.parametrize("model", MODELS)
SEED = st.integers(0, 2**32 - 1)
GRID = pixel_grid(HEIGHT, WIDTH)
# Pixels. Where the image goes to infinity, the digits of a direction do not tell pixels apart.
FAR = 1e5
PANORAMAS = ("equirectangular", "transverse equirectangular", "cylindrical")
# Their lens has an axis of its own: the principal point does not see it, and the rim is around it.
TURNED = ("CAHVOR",)

Test = Callable[[str, IntrinsicCamera, int], None]


def for_random_cameras(test: Test) -> Callable[[str], None]:
    """Run a test of (name of the model, camera, seed) on every model at random parameters."""

    @EVERY_MODEL
    def run(model: str) -> None:
        @fewer_examples(7 if model in SLOW else 3)
        @given(MODELS[model], SEED)
        def check(camera: IntrinsicCamera, seed: int) -> None:
            test(model, camera, seed)

        check()

    run.__name__ = test.__name__
    return run


def unit(vectors: FloatArray) -> FloatArray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def random_directions(seed: int, count: int = 1000) -> FloatArray:
    return unit(np.random.default_rng(seed).standard_normal((count, 3)))


@for_random_cameras
def test_a_summary_has_every_number_in_use(model: str, camera: IntrinsicCamera, seed: int) -> None:
    words, size = camera.summary().split(", ")
    name, *numbers = words.split()
    shown = dict(zip(numbers[::2], map(float, numbers[1::2]), strict=True))
    assert (name, size) == (type(camera).__name__, f"{WIDTH}x{HEIGHT}")
    again = type(camera)(**shown, size=camera.size)
    for each in fields(camera):
        expected = getattr(camera, each.name)
        assert getattr(again, each.name) == pytest.approx(expected, rel=1e-5, abs=1e-300)


@for_random_cameras
def test_rays_project_back_to_their_pixels(model: str, camera: IntrinsicCamera, seed: int) -> None:
    rays = camera.directions(GRID)
    seen = np.isfinite(rays).all(axis=-1)
    lengths = np.random.default_rng(seed).uniform(0.01, 100, (HEIGHT, WIDTH, 1))
    for points in (rays, lengths * unit(rays)):
        np.testing.assert_allclose(camera.project(points)[seen], GRID[seen], rtol=0, atol=1e-6)


@for_random_cameras
def test_whatever_is_seen_has_its_ray(model: str, camera: IntrinsicCamera, seed: int) -> None:
    directions = random_directions(seed)
    pixels = camera.project(directions)
    directions = directions[np.abs(pixels).max(axis=1) < FAR]
    pixels = pixels[np.abs(pixels).max(axis=1) < FAR]
    found = unit(camera.directions(pixels))
    apart = np.linalg.norm(found - directions, axis=1)
    # At a fold the image is so flat that directions with the same pixel to nine digits differ.
    flat = (np.linalg.norm(camera.project(found) - pixels, axis=1) < 1e-8) & (apart < 1e-3)
    assert np.all((apart < 1e-6) | flat)


@for_random_cameras
def test_a_crop_sees_its_part_of_the_image(model: str, camera: IntrinsicCamera, seed: int) -> None:
    left, top = np.random.default_rng(seed).integers(0, (WIDTH - 1, HEIGHT - 1))
    part = camera.crop(int(left), int(top), WIDTH - int(left), HEIGHT - int(top))
    rays = unit(part.directions(pixel_grid(HEIGHT - int(top), WIDTH - int(left))))
    expected = unit(camera.directions(GRID))[top:, left:]
    np.testing.assert_allclose(rays, expected, rtol=0, atol=1e-6)


@for_random_cameras
def test_an_enlarged_image_sees_between_the_pixels(
    model: str, camera: IntrinsicCamera, seed: int
) -> None:
    fine = camera.resize(2 * WIDTH, 2 * HEIGHT)
    rays = unit(fine.directions(pixel_grid(2 * HEIGHT, 2 * WIDTH)))
    expected = unit(camera.directions(pixel_grid(2 * HEIGHT, 2 * WIDTH) / 2 - 0.25))
    np.testing.assert_allclose(rays, expected, rtol=0, atol=1e-6)


@for_random_cameras
def test_scaling_a_point_does_not_move_its_pixel(
    model: str, camera: IntrinsicCamera, seed: int
) -> None:
    directions = random_directions(seed)
    pixels = camera.project(directions)
    near = ~(np.abs(pixels).max(axis=1) >= FAR)
    for scale in (1e-100, 0.3, 7.0, 1e100):
        scaled = camera.project(scale * directions)
        np.testing.assert_allclose(scaled[near], pixels[near], rtol=0, atol=1e-6)


@for_random_cameras
def test_the_principal_point_sees_the_axis(model: str, camera: IntrinsicCamera, seed: int) -> None:
    if model in TURNED:
        return
    ray = camera.directions(np.array([camera.cx, camera.cy]))
    np.testing.assert_allclose(unit(ray), (0, 0, 1), rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        camera.project([0, 0, 1]), (camera.cx, camera.cy), rtol=1e-15, atol=1e-9
    )


@for_random_cameras
def test_the_rim_of_the_image_is_the_rim_of_what_is_seen(
    model: str, camera: IntrinsicCamera, seed: int
) -> None:
    """Follow a line of pixels to its end: rays go on just inside, and nothing is seen outside."""
    azimuth = np.random.default_rng(seed).uniform(0, 2 * math.pi)
    if model in PANORAMAS:  # whose rows end at the poles, and whose columns do not
        azimuth = math.copysign(math.pi / 2, azimuth - math.pi)
    if model == "transverse equirectangular":  # whose columns do
        azimuth += math.pi / 2
    centre, step = np.array([camera.cx, camera.cy]), np.array([np.cos(azimuth), np.sin(azimuth)])

    def ray_at(radius: float) -> FloatArray:
        return unit(camera.directions(centre + radius * step))

    if np.isfinite(ray_at(FAR)).all():
        return  # the image has no rim
    inner, outer = 0.0, FAR
    while outer - inner > 1e-12 * outer:
        middle = 0.5 * (inner + outer)
        inner, outer = (middle, outer) if np.isfinite(ray_at(middle)).all() else (inner, middle)
    assert inner > 1
    if model in TURNED and inner > 1e4:
        return  # a horizon, which is not told to the pixel, and not the rim of an image
    # Opposite to a lens axis that is not z, directions are known to rounding errors of z.
    inside = inner * (1 - (1e-6 if model in TURNED else 1e-9))
    back = camera.project(ray_at(inside)) - centre
    np.testing.assert_allclose(back, inside * step, rtol=0, atol=1e-6)
    if model in PANORAMAS or model in TURNED:
        return  # beyond a pole one is on the other side of it
    ray = ray_at(inner)
    angle = math.atan2(math.hypot(ray[0], ray[1]), ray[2])
    outward = np.array([*ray[:2] / math.hypot(ray[0], ray[1]), 0.0])
    for turn, seen in ((-1e-4, True), (1e-4, False)):
        turned = math.sin(angle + turn) * outward + math.cos(angle + turn) * np.array([0, 0, 1])
        if angle + turn < math.pi:  # past 180 degrees one is on the other side of the image
            assert np.isfinite(camera.project(turned)).all() == seen


@for_random_cameras
def test_fields_beyond_80_degrees_have_unit_rays(
    model: str, camera: IntrinsicCamera, seed: int
) -> None:
    unit_rays, rays = camera.unit_rays(HEIGHT, WIDTH), camera.rays(HEIGHT, WIDTH)
    wide = np.nanmin(unit_rays[..., 2]) < math.cos(math.radians(WIDEST_Z_RAY_DEGREES))
    assert depth_kind(rays) == ("distance" if wide else "z")
    expected = unit_rays if wide else unit_rays / unit_rays[..., 2:]
    np.testing.assert_allclose(rays, expected, rtol=1e-12, atol=1e-300)


@for_random_cameras
def test_what_is_nowhere_is_not_seen_and_not_warned_about(
    model: str, camera: IntrinsicCamera, seed: int
) -> None:
    nan, inf = math.nan, math.inf
    points: list[list[float]] = [[0, 0, 0], [nan, 0, 1], [0, nan, 1], [inf, 0, 1], [0, inf, inf]]
    assert np.isnan(camera.project(points)).all()
    assert np.isnan(camera.directions(np.array([[np.nan, 0.0], [0.0, np.nan]]))).any(axis=1).all()
    camera.directions(np.array([[1e100, 0.0], [0.0, -1e100], [1e100, 1e100]]))
    camera.project(1e300 * random_directions(seed, 50))
