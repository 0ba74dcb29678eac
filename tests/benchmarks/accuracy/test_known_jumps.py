"""The oracle: told the true discontinuities, the method returns the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.accuracy.known_jumps import KnownJumps
from profiles import fewer_examples
from rayrelief import integrate
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.ray_map import RayMap
from rayrelief.errors import InputError
from rayrelief.solvers import ConjugateGradient
from rayrelief.solvers.dense import Dense
from rayrelief.synthetic import gallery
from reference.random_maps import facing_normals, plane_depth, random_rays

SEED = st.integers(0, 2**32 - 1)
CONNECTIVITIES = [4, "diagonal", 8]


def piecewise_scene(seed):
    """Planes in random patches with random jumps, and random normals next to the jumps."""
    rng = np.random.default_rng(seed)
    height, width = 14, 15
    rays = random_rays(rng, height, width)
    v, u = np.indices((height, width))
    labels = (v > rng.integers(2, 12)).astype(int) + 2 * (u > rng.integers(2, 13))
    labels[(v - 7) ** 2 + (u - 7) ** 2 < rng.integers(4, 20)] = 4
    depth, normals = np.empty((height, width)), np.empty((height, width, 3))
    for label in range(5):
        normal = facing_normals(rng, np.array([0.0, 0.0, 1.0]), 0.3)
        here = labels == label
        depth[here] = plane_depth(normal, rays[here], -rng.uniform(1, 3))
        normals[here] = normal
    edge = np.zeros((height, width), dtype=bool)
    for axis in (0, 1):
        for shift in (1, -1):
            edge |= labels != np.roll(labels, shift, axis)
    normals[edge] = facing_normals(rng, rays)[edge]
    return RayMap(rays), normals, depth


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
@fewer_examples(6)
@given(seed=SEED)
def test_known_discontinuities_return_the_truth(connectivity, seed):
    camera, normals, depth = piecewise_scene(seed)
    method = KnownJumps(
        depth=depth, connectivity=connectivity, solver=Dense(), max_iterations=1, tolerance=None
    )
    result = integrate(normals, camera, method=method)
    expected = np.log(depth) - np.median(np.log(depth))
    found = np.log(result.depth)
    if connectivity == "diagonal":
        # The colours are aligned by a median over jumps: each is exact up to its own constant.
        for colour in (0, 1):
            here = np.indices(depth.shape).sum(axis=0) % 2 == colour
            ratio = found[here] - expected[here]
            np.testing.assert_allclose(ratio, ratio[0], atol=1e-9)
    else:
        np.testing.assert_allclose(found, expected, atol=1e-9)


@fewer_examples(6)
@given(SEED)
def test_known_discontinuities_hold_through_the_iterations(seed):
    camera, normals, depth = piecewise_scene(seed)
    solver = ConjugateGradient(rtol=1e-12)
    method = KnownJumps(depth=depth, solver=solver, max_iterations=10, tolerance=None)
    result = integrate(normals, camera, method=method, on_failure="return")
    np.testing.assert_allclose(
        np.log(result.depth), np.log(depth) - np.median(np.log(depth)), atol=1e-8
    )


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-12])
def test_known_discontinuities_between_plateaus_stay_finite(rtol):
    # Once the weights of the jumps vanish, nothing is left on the right-hand side.
    scene = gallery.steps(20, 24)
    assert scene.depth is not None
    solver = ConjugateGradient(rtol=rtol)
    method = KnownJumps(depth=scene.depth, solver=solver, max_iterations=8, tolerance=None)
    result = integrate(scene.normals, scene.camera, mask=scene.mask, method=method)
    expected = np.log(scene.depth) - np.median(np.log(scene.depth))
    np.testing.assert_allclose(np.log(result.depth), expected, atol=rtol)


def test_a_truth_of_another_size_is_refused():
    camera, normals, depth = piecewise_scene(1)
    with pytest.raises(InputError, match=r"\(13, 15\).*\(14, 15\)"):
        integrate(normals, camera, method=KnownJumps(depth=depth[1:]))


def test_a_known_jump_is_still_a_jump():
    depth = np.where(np.arange(12) < 6, 2.0, 3.0) * np.ones((8, 1))
    normals = np.tile([0.0, 0.0, -1.0], (8, 12, 1))
    method = KnownJumps(depth=depth, max_iterations=2)
    result = integrate(normals, Pinhole(60.0, 60.0, 6.0, 4.0), method=method)
    ratio = np.median(result.depth[:, 6:]) / np.median(result.depth[:, :6])
    assert ratio == pytest.approx(1.5, rel=1e-6)
    jumps = result.jumps.towards(1, 0)[:, 5] / np.median(result.depth[:, :6])
    np.testing.assert_allclose(jumps, -0.5, rtol=1e-2)
