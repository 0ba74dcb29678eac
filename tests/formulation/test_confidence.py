"""Confidence scales the say of normals, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rayrelief import BiNI, Ordered, RayPlane, Smooth, integrate
from rayrelief.cameras import Orthographic
from rayrelief.errors import InputError
from rayrelief.synthetic.gallery import overlapping_spheres, plane, sphere

METHODS = [RayPlane(), BiNI(), Smooth(), Ordered()]
SHAPE = (20, 24)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_wrong_normals_without_confidence_do_not_touch_the_others(method):
    scene = sphere(40, 50, Orthographic(0.06))
    rng = np.random.default_rng(0)
    wrong = scene.mask & (rng.random(scene.mask.shape) < 0.1)
    normals = scene.normals.copy()
    normals[wrong] = (0.6, 0.0, -0.8)
    trusted = np.where(wrong, 0.0, 1.0)
    clean, doubted, believed = (
        integrate(given, scene.camera, mask=scene.mask, confidence=confidence, method=method).depth
        for given, confidence in (
            (scene.normals, trusted),
            (normals, trusted),
            (normals, None),
        )
    )
    kept = scene.mask & ~wrong
    moved = [(depth - clean)[kept] for depth in (doubted, believed)]
    off = [np.mean(np.abs(each - np.median(each))) for each in moved]  # the shift is open
    assert off[0] < 0.1 * off[1]


@pytest.mark.parametrize("method", [Smooth(), Ordered()], ids=["Smooth", "Ordered"])
def test_equal_confidence_changes_nothing(method):
    scene = overlapping_spheres(40, 50)
    one, *others = (
        integrate(scene.normals, scene.camera, mask=scene.mask, confidence=each, method=method)
        for each in (None, np.ones(scene.mask.shape), np.full(scene.mask.shape, 0.1))
    )
    for other in others:
        assert_allclose(one.depth, other.depth, rtol=1e-5)


def test_one_normal_that_is_trusted_more_changes_nothing_of_the_others():
    scene = overlapping_spheres(40, 50)
    confidence = np.full(scene.mask.shape, 0.05)
    confidence[20, 25] = 1.0
    one, other = (
        integrate(scene.normals, scene.camera, mask=scene.mask, confidence=each, method=Ordered())
        for each in (None, confidence)
    )
    assert_allclose(one.depth, other.depth, rtol=1e-5)


def test_a_plane_is_exact_with_any_confidence():
    scene = plane(*SHAPE)
    confidence = np.random.default_rng(0).random(SHAPE)
    confidence[3:6, 3:9] = np.nan  # as good as 0
    result = integrate(scene.normals, scene.camera, confidence=confidence, method=Smooth())
    assert scene.depth is not None
    assert_allclose(result.depth / np.median(result.depth), scene.depth / np.median(scene.depth))


@pytest.mark.parametrize(
    "confidence", [np.ones((3, 3)), np.full(SHAPE, 1.5), -np.ones(SHAPE), np.zeros(SHAPE)]
)
def test_what_is_no_confidence_is_refused(confidence):
    scene = plane(*SHAPE)
    with pytest.raises(InputError, match="confidence"):
        integrate(scene.normals, scene.camera, confidence=confidence)
