"""Metashape's lenses: derivatives, folds in closed form, and the models that they contain."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cameras.models import MODELS
from profiles import fewer_examples
from rayrelief.cameras.base import pixel_grid
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.distortion import LensDistortion
from rayrelief.cameras.fisheye import Equisolid
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.metashape_lens import (
    MetashapeEquidistant,
    MetashapeEquisolid,
    MetashapeFrame,
    MetashapeLens,
)
from rayrelief.cameras.thin_prism_fisheye import ThinPrismFisheye
from rayrelief.conventions import FloatArray

INTRINSICS = (120.0, 130.0, 310.0, 250.0)
SEED = st.integers(0, 2**32 - 1)
LENSES = [MetashapeFrame, MetashapeEquidistant, MetashapeEquisolid]
RANDOM_LENS = MODELS["Metashape frame"] | MODELS["Metashape fisheye"]
# Its decentring grows so fast that it takes points half as far again as it would without.
GROWN = MetashapeFrame(100, 100, 0, 0, k1=-0.05, k4=-0.02, p1=0.02, p3=3)


def directions(seed: int, count: int = 500) -> FloatArray:
    """Unit vectors (count, 3) all around."""
    vectors = np.random.default_rng(seed).standard_normal((count, 3))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@fewer_examples(2)
@given(RANDOM_LENS, SEED)
def test_the_jacobian_is_the_derivative(camera: MetashapeLens, seed: int) -> None:
    distort = camera.distortion.distort
    x, y = np.random.default_rng(seed).uniform(-1, 1, (2, 100))
    step = 1e-5
    found = distort(x, y)
    for derivatives, before, after in (
        ((found.x_x, found.y_x), distort(x - step, y), distort(x + step, y)),
        ((found.x_y, found.y_y), distort(x, y - step), distort(x, y + step)),
    ):
        differences = np.stack((after.x - before.x, after.y - before.y)) / (2 * step)
        np.testing.assert_allclose(np.stack(derivatives), differences, rtol=0, atol=1e-7)
    determinant = found.x_x * found.y_y - found.x_y * found.y_x
    np.testing.assert_array_equal(found.determinant, determinant)


@fewer_examples(2)
@given(RANDOM_LENS, SEED)
@example(GROWN, 0)
def test_nothing_of_the_branch_is_distorted_beyond_its_reach(
    camera: MetashapeLens, seed: int
) -> None:
    distortion, rng = camera.distortion, np.random.default_rng(seed)
    radius = rng.uniform(0, min(distortion.branch.outer, 100), 1000)
    phi = rng.uniform(0, 2 * math.pi, 1000)
    seen = np.hypot(*distortion.distort_seen(radius * np.cos(phi), radius * np.sin(phi)))
    assert np.nanmax(seen) <= distortion.reach


def test_there_is_one_reach_whoever_computes_it() -> None:
    """A smaller one of the terms that do not grow would be cached for other threads to read."""
    distortion = GROWN.distortion
    assert vars(LensDistortion)["reach"].func(distortion) == distortion.reach


@fewer_examples(2)
@given(RANDOM_LENS, SEED)
def test_without_growth_the_models_are_known_ones(camera: MetashapeLens, seed: int) -> None:
    lens = replace(camera, p3=0.0, p4=0.0)
    known: IntrinsicCamera
    if isinstance(lens, MetashapeFrame):
        lens = replace(lens, k4=0.0)
        terms = (lens.k1, lens.k2, lens.p2, lens.p1, lens.k3)
        known = BrownConrady(lens.fx, lens.fy, lens.cx, lens.cy, *terms, skew=lens.skew)
    elif isinstance(lens, MetashapeEquidistant):
        terms = (lens.k1, lens.k2, lens.p2, lens.p1, lens.k3)
        known = ThinPrismFisheye(
            *(lens.fx, lens.fy, lens.cx, lens.cy, *terms), k4=lens.k4, skew=lens.skew
        )
    else:
        lens = MetashapeEquisolid(lens.fx, lens.fy, lens.cx, lens.cy, skew=lens.skew, p3=1, p4=1)
        known = Equisolid(lens.fx, lens.fy, lens.cx, lens.cy, skew=lens.skew)
    points, pixels = directions(seed), pixel_grid(36, 48)[::5, ::5]
    np.testing.assert_allclose(lens.project(points), known.project(points), rtol=1e-12, atol=1e-9)
    rays, expected = lens.directions(pixels), known.directions(pixels)
    np.testing.assert_array_equal(np.isfinite(rays), np.isfinite(expected))
    np.testing.assert_allclose(known.project(rays), known.project(expected), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "angle"),
    [
        (MetashapeFrame, math.pi / 4),
        (MetashapeEquidistant, 1.0),
        (MetashapeEquisolid, math.pi / 3),
    ],
)
def test_growing_decentring_folds_the_image(model: type[MetashapeLens], angle: float) -> None:
    """x - x^2 / 4 (1 + x^2 / 2) along the x axis ends at x = 1, at 0.625."""
    camera = model(100, 100, 0, 0, p1=-1 / 12, p3=0.5)
    pixels = np.array([[62.5 - 1e-6, 0], [62.5 + 1e-6, 0]])
    assert np.isfinite(camera.directions(pixels)).all(axis=1).tolist() == [True, False]
    angles = angle + np.array([-1e-9, 1e-9])
    points = np.stack((np.sin(angles), np.zeros(2), np.cos(angles)), axis=1)
    assert np.isfinite(camera.project(points)).all(axis=1).tolist() == [True, False]


@pytest.mark.parametrize("model", [MetashapeEquidistant, MetashapeEquisolid])
def test_fisheyes_see_nearly_everything_behind_them(model: type[MetashapeLens]) -> None:
    camera = model(*INTRINSICS, 0.01, 0.002, 3e-4, 1e-5, 1e-3, -2e-3, 0.1, -0.01)
    phi = np.linspace(0, 2 * math.pi, 50)
    t = math.radians(179)
    points = np.stack(
        (math.sin(t) * np.cos(phi), math.sin(t) * np.sin(phi), np.full(50, math.cos(t))), axis=1
    )
    np.testing.assert_allclose(camera.directions(camera.project(points)), points, rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", LENSES)
def test_decentring_acts_along_its_own_axis(model: type[MetashapeLens]) -> None:
    """P1 moves points of the y axis along x by P1 r^2 (1 + P3 r^2 + P4 r^4), and P2 others."""
    plane = np.array([[0.0, 0.5], [0.5, 0.0]])
    lens = model(100, 100, 0, 0, p3=2, p4=4)
    points = lens.ideal.from_plane(*plane.T)
    moved = 100 * 0.01 * 0.25 * (1 + 2 * 0.25 + 4 * 0.0625)
    along_x = replace(lens, p1=0.01).project(points[0])
    along_y = replace(lens, p2=0.01).project(points[1])
    np.testing.assert_allclose(along_x, (moved, 50), rtol=1e-14)
    np.testing.assert_allclose(along_y, (50, moved), rtol=1e-14)
