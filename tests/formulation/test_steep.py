"""Steep normals: no steeper than the noise can tell."""

from __future__ import annotations

import numpy as np
import pytest

import rayrelief
from rayrelief import Ordered
from rayrelief.cameras import Pinhole
from rayrelief.evaluation.metrics import error_map
from rayrelief.formulation.steep import LARGEST, less_steep
from rayrelief.laws.ordered import with_intervals
from rayrelief.preprocess import Preprocessing
from rayrelief.problem import assemble
from rayrelief.synthetic import with_rotation_noise
from rayrelief.synthetic.gallery import vase

NOISE = 0.1


def unit(vectors):
    """Vectors (..., 3) of unit length."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("noise", [NOISE, 2.0])
def test_normals_face_the_camera_by_the_noise_and_turn_no_other_way(parallel, noise):
    rng = np.random.default_rng(0)
    rays = np.tile([0.0, 0.0, 1.0], (500, 1)) if parallel else unit(rng.normal(size=(500, 3)))
    normals = unit(rng.normal(size=(500, 3)) - rays)  # most face the camera
    before = normals.copy()
    before.flags.writeable = False
    found, count = less_steep(before, None if parallel else rays, noise)
    facing, was = (-np.sum(each * rays, axis=-1) for each in (found, normals))
    least = min(noise, LARGEST)
    steep = (was > 0) & (was < least)
    assert 0 < np.count_nonzero(steep) == count < 500
    np.testing.assert_allclose(facing[steep], least)
    np.testing.assert_array_equal(found[~steep], normals[~steep])
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 1.0)
    # They are turned in the plane of normal and ray.
    np.testing.assert_allclose(np.sum(np.cross(normals, found) * rays, axis=-1), 0.0, atol=1e-12)
    np.testing.assert_array_equal(before, normals)


def test_where_most_normals_are_steep_none_is_turned():
    normals = unit(np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 1.0, 0.05])
    found, count = less_steep(normals.copy(), None, NOISE)
    assert count == 0
    np.testing.assert_array_equal(found, normals)


@pytest.mark.parametrize("seed", range(3))
def test_a_noisy_rim_stays_near(seed):
    scene = vase(120, 160)
    noisy = with_rotation_noise(scene.normals, 5.0, np.random.default_rng(seed))
    result = rayrelief.integrate(noisy, scene.camera, mask=scene.mask, method=Ordered())
    assert scene.depth is not None
    errors = error_map(result.depth, scene.depth, "scale")
    assert np.nanmax(np.abs(errors)) < 1.0


@pytest.mark.parametrize("seed", range(3))
def test_edges_with_just_one_turned_end_stay_possible(seed):
    rng = np.random.default_rng(seed)
    camera = Pinhole(50.0, 50.0, 31.5, 23.5)
    rays = unit(camera.rays(48, 64))
    # Seen edge-on from both sides, beside others that are not.
    edge_on = unit(np.cross(rays, rng.normal(size=rays.shape)))
    depths = rng.choice((-0.008, 0.008, 0.3), size=(48, 64, 1), p=(0.4, 0.15, 0.45))
    normals = edge_on - depths * rays
    method = Ordered(noise=8.0, preprocessing=Preprocessing("keep"))
    equations = with_intervals(assemble(unit(normals), camera, method=method).equations)
    assert np.isfinite(equations.offset).all()
