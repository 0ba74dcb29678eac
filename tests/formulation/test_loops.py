"""Loops: closed on surfaces, and open by what a jump grows along its border."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rayrelief.cameras.orthographic import Orthographic
from rayrelief.formulation.loops import AGREEING
from rayrelief.integration import integrate
from rayrelief.methods.ordered.recipe import Ordered
from rayrelief.methods.recipes import Smooth
from rayrelief.preprocess import Preprocessing
from rayrelief.problem import assemble
from rayrelief.synthetic import with_extended_errors, with_outliers, with_rotation_noise
from rayrelief.synthetic.gallery import crowd

HEIGHT, WIDTH, PLANK = 60, 64, 16
SLOPE = 0.25


def planks():
    """Normals and depth of planks side by side, every other one sloping the other way."""
    slope = np.where(np.arange(WIDTH) // PLANK % 2, SLOPE, -SLOPE)
    depth = slope * np.arange(HEIGHT)[:, None]
    normals = np.stack((np.zeros(WIDTH), slope, -np.ones(WIDTH)), axis=-1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    return np.tile(normals, (HEIGHT, 1, 1)), depth


def half_widths(normals, row) -> Any:
    """Half-widths (H, W) of the edges towards an even direction, as an image."""
    problem = assemble(normals, Orthographic(1.0), method=Ordered(noise=0.0))
    equations: Any = problem.equations
    return equations.graph.scatter(equations.half_width[row])


def test_a_jump_grows_by_the_difference_of_the_slopes():
    across = half_widths(planks()[0], 0)
    border = np.zeros((HEIGHT, WIDTH), dtype=bool)
    # At the ends of a border too few loops agree.
    border[AGREEING : HEIGHT - AGREEING, PLANK - 1 : WIDTH - 1 : PLANK] = True
    np.testing.assert_allclose(across[border], 2 * SLOPE, rtol=1e-5)
    np.testing.assert_allclose(across[~border], 0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("row", "turned", "begins", "last", "behind"),
    [(2, False, 0, -1, 0), (3, False, 1, 0, 0), (2, True, 0, -1, 0), (3, True, 0, -1, 1)],
    ids=["falling", "rising", "falling, turned", "rising, turned"],
)
def test_a_diagonal_crosses_a_border_where_both_ways_around_do(row, turned, begins, last, behind):
    normals = planks()[0]
    if turned:
        normals = normals.swapaxes(0, 1)[..., [1, 0, 2]]
    grown = half_widths(normals, row) > 1.9 * SLOPE
    border = np.zeros((HEIGHT, WIDTH), dtype=bool)
    along = slice(AGREEING + begins, HEIGHT - AGREEING + last)
    border[along, PLANK - 1 + behind : WIDTH - 1 + behind : PLANK] = True
    np.testing.assert_array_equal(grown, border.T if turned else border)


def test_a_single_wrong_normal_is_no_border():
    slopes = np.zeros((11, 13, 3))
    slopes[5, 6, :2] = 0.4, -0.7
    normals = slopes - [0.0, 0.0, 1.0]
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    graph = assemble(normals, Orthographic(1.0), method=Ordered(noise=0.0)).graph
    beside = np.zeros((11, 13), dtype=bool)
    beside[4:7, 5:8] = True
    for row in range(len(graph.steps) // 2):
        assert not half_widths(normals, row)[~beside].any()


@pytest.mark.parametrize("turned", [False, True])
def test_planks_side_by_side_are_not_flattened(turned):
    normals, depth = planks()
    if turned:
        normals, depth = normals.swapaxes(0, 1)[..., [1, 0, 2]], depth.T
    axis = 1 if turned else 0
    for method, flattens in ((Ordered(), False), (Smooth(), True)):
        result = integrate(normals, Orthographic(1.0), method=method)
        # No edge says how far apart two planks are, so only steps along them compare.
        error = np.abs(np.diff(result.depth - depth, axis=axis))
        assert (error.max() > 1e-3) == flattens


def noise_of(scene, normals):
    """The noise that is estimated of normals of a scene, in degrees."""
    method = Ordered(preprocessing=Preprocessing("average"))
    equations: Any = assemble(normals, scene.camera, mask=scene.mask, method=method).equations
    return np.degrees(equations.noise)


def test_outliers_are_no_errors_that_extend():
    scene = crowd(120, 160)
    noisy = with_rotation_noise(scene.normals, 1.0, np.random.default_rng(0))
    wrong = with_outliers(noisy, 0.12, np.random.default_rng(1))
    assert noise_of(scene, wrong) < 1.6 * noise_of(scene, noisy)


def test_errors_that_extend_count_as_noise():
    scene = crowd(120, 160)
    extended = with_extended_errors(scene.normals, 3.0, 6.0, np.random.default_rng(0))
    assert noise_of(scene, extended) > 6.0 > 1.0 > noise_of(scene, scene.normals)


@pytest.mark.parametrize("degrees", [0.0, 2.0])
def test_jumps_all_over_are_no_errors_that_extend(degrees):
    scene = crowd(160, 200, across=12)
    normals = with_rotation_noise(scene.normals, degrees, np.random.default_rng(0))
    assert noise_of(scene, normals) == pytest.approx(degrees / np.sqrt(3), rel=0.5, abs=0.1)
