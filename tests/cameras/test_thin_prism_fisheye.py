"""Fisheyes with prism terms: against COLMAP in front, and by invariants all around."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cameras.models import MODELS
from cameras.oracles import colmap_pixels
from profiles import fewer_examples
from rayrelief.cameras.base import pixel_grid
from rayrelief.cameras.fisheye import Equidistant
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.thin_prism_fisheye import RadTanThinPrismFisheye, ThinPrismFisheye
from rayrelief.conventions import FloatArray

HEIGHT, WIDTH = 480, 640
INTRINSICS = (120.0, 130.0, 310.0, 250.0)
SEED = st.integers(0, 2**32 - 1)
P = st.floats(-0.01, 0.01) | st.just(0.0)


def k(bound: float) -> st.SearchStrategy[float]:
    return st.floats(-bound, bound)


def directions_within(angle: float, seed: int, count: int = 1000) -> FloatArray:
    """Unit vectors (count, 3) up to an angle off the axis."""
    rng = np.random.default_rng(seed)
    t, phi = rng.uniform(0, angle, count), rng.uniform(0, 2 * math.pi, count)
    return np.stack((np.sin(t) * np.cos(phi), np.sin(t) * np.sin(phi), np.cos(t)), axis=1)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("thin prism fisheye", "THIN_PRISM_FISHEYE"),
        ("rad-tan thin prism fisheye", "RAD_TAN_THIN_PRISM_FISHEYE"),
    ],
)
@fewer_examples(3)
@given(data=st.data(), seed=SEED)
def test_agrees_with_colmap_in_front(model: str, name: str, data: st.DataObject, seed: int) -> None:
    camera = replace(data.draw(MODELS[model]), skew=0.0)  # which COLMAP has not
    points = 3 * directions_within(1.5, seed)
    pixels = camera.project(points)
    seen = np.isfinite(pixels[:, 0])
    expected = colmap_pixels(camera, name, points)
    np.testing.assert_allclose(pixels[seen], expected[seen], rtol=1e-10, atol=1e-9)
    assert seen[points[:, 2] > 3 * math.cos(0.29)].all()


@given(k(0.1), k(0.02), k(0.005), k(5e-4), SEED)
def test_radial_terms_alone_are_those_of_kannala_and_brandt(
    k1: float, k2: float, k3: float, k4: float, seed: int
) -> None:
    """Over the whole sphere, with the same end where the image would fold over."""
    points = directions_within(math.pi, seed)
    pixels = pixel_grid(HEIGHT, WIDTH)[::16, ::16]
    expected = KannalaBrandt(*INTRINSICS, k1, k2, k3, k4)
    clear = np.abs(np.arccos(points[:, 2]) - expected.profile.end) > 1e-9
    for camera in (
        ThinPrismFisheye(*INTRINSICS, k1, k2, 0, 0, k3, k4),
        RadTanThinPrismFisheye(*INTRINSICS, k1, k2, k3, k4),
    ):
        found = camera.project(points[clear])
        np.testing.assert_allclose(found, expected.project(points[clear]), rtol=1e-11, atol=1e-9)
        rays, true = camera.directions(pixels), expected.directions(pixels)
        np.testing.assert_array_equal(np.isfinite(rays), np.isfinite(true))
        np.testing.assert_allclose(
            expected.project(rays), expected.project(true), rtol=0, atol=1e-6
        )


@fewer_examples(2)
@given(P, P, P, P, SEED)
def test_without_radial_terms_both_models_are_one(
    p1: float, p2: float, s1: float, s2: float, seed: int
) -> None:
    thin = ThinPrismFisheye(*INTRINSICS, p1=p1, p2=p2, s1=s1, s2=s2)
    rad_tan = RadTanThinPrismFisheye(*INTRINSICS, p0=p2, p1=p1, s0=s1, s2=s2)
    points = directions_within(math.pi, seed)
    np.testing.assert_allclose(thin.project(points), rad_tan.project(points), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("model", [ThinPrismFisheye, RadTanThinPrismFisheye])
def test_without_distortion_it_is_equidistant_up_to_straight_behind(
    model: type[Equidistant],
) -> None:
    points = np.vstack((directions_within(math.pi, 3), [[0, 0, -1], [1e-12, 0, -1], [0, 0, 1]]))
    camera, ideal = model(*INTRINSICS), Equidistant(*INTRINSICS)
    np.testing.assert_allclose(camera.project(points), ideal.project(points), rtol=1e-14, atol=1e-9)
    rim = INTRINSICS[2] + INTRINSICS[0] * math.pi * np.array([-1 - 1e-6, -1, 1, 1 + 1e-6])
    rays = camera.directions(np.stack((rim, np.full(4, INTRINSICS[3])), axis=1))
    assert np.isfinite(rays).all(axis=1).tolist() == [False, True, True, False]
    np.testing.assert_allclose(rays[1:3], [[0, 0, -1]] * 2, rtol=0, atol=1e-12)


def test_the_image_of_a_prism_ends_at_its_fold() -> None:
    """x = t + s t^2 along the x axis ends at t = -1 / (2 s), at half of it."""
    camera = ThinPrismFisheye(100, 100, 0, 0, s1=-0.25)
    pixels = np.array([[100 - 1e-6, 0], [100 + 1e-6, 0]])
    assert np.isfinite(camera.directions(pixels)).all(axis=1).tolist() == [True, False]
    angles = 2 + np.array([-1e-9, 1e-9])
    points = np.stack((np.sin(angles), np.zeros(2), np.cos(angles)), axis=1)
    assert np.isfinite(camera.project(points)).all(axis=1).tolist() == [True, False]
