"""Known depths that do not fit the normals are told, and others are not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rayrelief
from rayrelief import DepthPrior, Ordered, RayPlane, integrate
from rayrelief.cameras import Orthographic
from rayrelief.errors import IntegrationWarning
from rayrelief.synthetic.gallery import tori
from reference.known_depths import some_depths, true_depth


def test_known_depths_of_something_else_are_told():
    scene = rayrelief.synthetic.GALLERY["tori"](120, 160)
    z = true_depth(scene)
    noise = np.random.default_rng(0).uniform(0.5, 1.5, size=z.shape)
    for depth, told in ((noise, "another map"), (1 / z, "disparities")):
        with pytest.warns(IntegrationWarning, match=told):
            integrate(scene.normals, scene.camera, mask=scene.mask, prior=DepthPrior(depth))
    result = integrate(scene.normals, scene.camera, mask=scene.mask, prior=DepthPrior(z))
    assert result.prior is not None
    assert result.prior.agreement > 0.95
    assert result.prior.numbers()["agreement"] == result.prior.agreement
    assert not any("rank" in note for note in result.status.notes)


@pytest.mark.parametrize("relief", [0.0, 0.9])
def test_noise_that_hides_a_relief_says_nothing_against_known_depths(relief):
    v, u = np.mgrid[:100, :120]
    z = relief * np.sin(v / 9) * np.cos(u / 11)
    down, right = np.gradient(z)
    normals = np.stack((right, down, -np.ones_like(z)), axis=-1)
    depths = 100 + z + 4 * np.random.default_rng(0).normal(size=z.shape)
    for depth in (depths, np.full(z.shape, 100.0), 100 + 6.5 * np.rint(z / 6.5)):
        assert not any(
            "rank" in note
            for note in integrate(normals, Orthographic(), prior=DepthPrior(depth)).status.notes
        )


def told_of(scene, depth, **settings):
    """What is warned of with known depths."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", IntegrationWarning)
        prior = DepthPrior(depth)
        integrate(scene.normals, scene.camera, mask=scene.mask, prior=prior, **settings)
    return " ".join(str(each.message) for each in caught)


@pytest.mark.parametrize(
    "camera", [None, Orthographic(0.02, 79.5, 59.5)], ids=["central", "orthographic"]
)
@pytest.mark.parametrize(("scale", "shift"), [(1.0, -0.9), (0.02, 5.0)])
def test_a_relative_depth_is_told(camera, scale, shift):
    scene = rayrelief.synthetic.GALLERY["tori"](120, 160, camera)
    z = true_depth(scene)
    relative = (scale if camera is None else 5 * scale) * (z + shift * np.nanmin(z))
    assert "relative depth, known only up to scale and shift" in told_of(scene, relative)


def quarter(scene, wrong, seed=0):
    """True depths, a quarter of them replaced."""
    chosen = np.random.default_rng(seed).random(scene.mask.shape) < 0.25
    return np.where(chosen, wrong, true_depth(scene))


@pytest.mark.parametrize("name", ["still_life", "tori", "room"])
def test_wrong_noisy_coarse_and_rounded_depths_are_none_that_is_relative(name):
    scene = rayrelief.synthetic.GALLERY[name](120, 160)
    z, rng = true_depth(scene), np.random.default_rng(0)
    blocks = 1 + 0.03 * rng.normal(size=(15, 20))
    step = (np.nanmax(z) - np.nanmin(z)) / 12
    for depth in (
        quarter(scene, 1.3 * z),
        quarter(scene, rng.uniform(np.nanmin(z), np.nanmax(z), z.shape)),
        z * np.kron(blocks, np.ones((8, 8))),
        z * (1 + 0.1 * rng.normal(size=z.shape)),
        step * np.rint(z / step),
        np.where(scene.mask, np.nanmedian(z), np.nan),
    ):
        assert told_of(scene, depth) == ""


@pytest.mark.parametrize("method", [RayPlane(), Ordered()], ids=["RayPlane", "Ordered"])
def test_points_that_contradict_each_other_are_told(method):
    scene = tori(60, 80)
    good, pixels = some_depths(scene, 8), np.flatnonzero(scene.mask)
    bad = np.full(scene.mask.shape, np.nan)
    beside = pixels[len(pixels) // 2 + np.arange(2)]
    bad.flat[beside] = true_depth(scene).flat[beside] * (1.0, 2.0)
    assert "contradict the surface of the normals, or each other" in told_of(
        scene, bad, method=method
    )
    good.flat[np.flatnonzero(np.isfinite(good))[:2]] *= (1.9, 0.4)
    assert told_of(scene, good, method=method) == ""
