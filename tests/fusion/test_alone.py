"""Components of which one depth is known, or none, keep their shape."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rayrelief import DepthPrior, Ordered, integrate
from rayrelief.cameras import Orthographic
from rayrelief.methods import Support
from rayrelief.synthetic.gallery import overlapping_spheres, plane, sphere
from reference.known_depths import METHODS, fit_of, some_depths, true_depth


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("camera", [None, Orthographic(0.03)], ids=["central", "orthographic"])
def test_one_known_depth_gives_the_scale(method, camera):
    scene = plane(20, 24, camera)
    known = some_depths(scene, 1)
    result = integrate(scene.normals, scene.camera, method=method, prior=DepthPrior(known))
    assert_allclose(result.depth, true_depth(scene), rtol=1e-4)
    assert result.components.free == 0


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("camera", [None, Orthographic(0.03)], ids=["central", "orthographic"])
@pytest.mark.parametrize("others", [0, 3], ids=["alone", "beside a component with three"])
def test_one_known_depth_leaves_the_shape(method, camera, others):
    scene = overlapping_spheres(60, 80, camera)
    mask = scene.mask & (np.arange(80) != 40)
    left, right = (np.flatnonzero(mask & side) for side in (np.arange(80) < 40, np.arange(80) > 40))
    pixel, *beside = left[len(left) // 2], *right[:: len(right) // 4][1:][:others]
    known = np.full(mask.shape, np.nan)
    known.flat[[pixel, *beside]] = true_depth(scene).flat[[pixel, *beside]]
    free, held = (
        integrate(scene.normals, scene.camera, mask=mask, method=method, prior=prior)
        for prior in (None, DepthPrior(known))
    )
    own = free.components.labels == free.components.labels.flat[pixel]
    shapes = (each.depth[own] for each in (free, held))
    one, other = shapes if camera is not None else map(np.log, shapes)
    assert_allclose(other - one, (other - one)[0], atol=1e-12)
    assert fit_of(held).residual.flat[pixel] == pytest.approx(0, abs=1e-12)
    assert held.components.free == free.components.count - 1 - bool(others)
    if isinstance(method, Ordered):
        assert held.support[held.segments.flat[pixel]] is Support.KNOWN
        pairs = set(zip(free.segments[own].tolist(), held.segments[own].tolist(), strict=True))
        assert len(pairs) == len(np.unique(free.segments[own])) == len({b for _, b in pairs})
        assert len(held.support) == held.segments.max() + 1


def test_a_component_that_keeps_its_shape_keeps_all_that_was_decided_of_it():
    scene = overlapping_spheres(60, 80)
    mask = scene.mask & (np.arange(80) != 40)
    left = np.flatnonzero(mask & (np.arange(80) < 40))
    known = np.full(mask.shape, np.nan)
    known.flat[left[len(left) // 2]] = 5.0
    known[:, 41:] = np.where(mask, true_depth(scene), np.nan)[:, 41:]
    free, held = (
        integrate(scene.normals, scene.camera, mask=mask, prior=prior)
        for prior in (None, DepthPrior(known))
    )
    own = free.components.labels == free.components.labels.flat[left[0]]
    for one, other in ((free.cuts, held.cuts), (free.weights, held.weights)):
        np.testing.assert_array_equal(one.values[..., own], other.values[..., own])


@pytest.mark.parametrize(
    "camera", [None, Orthographic(0.1, 19.5, 14.5)], ids=["central", "orthographic"]
)
def test_components_without_a_known_depth_stand_where_the_others_do(camera):
    scene = sphere(30, 40, camera)
    mask = scene.mask & (np.arange(40) != 20)
    prior = DepthPrior.at([(10, 15, 1500.0)], 30, 40)
    result = integrate(scene.normals, scene.camera, mask=mask, prior=prior)
    held = result.components.labels == result.components.labels[15, 10]
    here, there = (np.median(result.depth[side]) for side in (held, ~held & mask))
    assert there == pytest.approx(here, rel=1e-4)
    assert "1 separate component without a known depth" in str(result.status)
    kind = "depth" if camera is None else "height"
    assert f"it has the median {kind} of the others" in str(result.status)
