"""One known length gives a surface its scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rayrelief import Smooth, integrate
from rayrelief.cameras import Orthographic
from rayrelief.errors import InputError
from rayrelief.scale import factor_to_depth, factor_to_distance
from rayrelief.synthetic.gallery import plane


@pytest.fixture(scope="module")
def scene():
    return plane(20, 24)


@pytest.fixture(scope="module")
def surface(scene):
    return integrate(scene.normals, scene.camera, method=Smooth())


def test_a_known_depth(scene, surface):
    factor = factor_to_depth(surface, float(np.median(scene.depth)))
    assert_allclose(surface.scaled(factor).depth, scene.depth, rtol=1e-6)


def test_a_known_distance(scene, surface):
    true = replace(surface, depth=scene.depth).points()
    length = float(np.linalg.norm(true[2, 3] - true[15, 20]))
    scaled = surface.scaled(factor_to_distance(surface, (3, 2), (20, 15), length))
    assert_allclose(scaled.depth, scene.depth, rtol=1e-6)


def test_everything_about_a_scaled_surface_is_scaled(surface):
    scaled = surface.scaled(3.0)
    assert_allclose(scaled.mesh().vertices, 3 * surface.mesh().vertices)
    assert_allclose(scaled.active_jumps(), 3 * surface.active_jumps(), atol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda surface: factor_to_depth(surface, 0.0),
        lambda surface: factor_to_distance(surface, (0, 0), (0, 0), 1.0),
        lambda surface: factor_to_distance(surface, (0, 0), (24, 0), 1.0),
        lambda surface: factor_to_distance(surface, (0, 0), (1, 0), -1.0),
        lambda surface: surface.scaled(np.nan),
    ],
)
def test_lengths_that_make_no_sense_are_refused(surface, call):
    with pytest.raises(InputError):
        call(surface)


def test_pixels_of_different_components_have_no_distance(scene):
    mask = np.ones((20, 24), dtype=bool)
    mask[:, 12] = False
    halves = integrate(scene.normals, scene.camera, mask=mask, method=Smooth())
    with pytest.raises(InputError, match="not connected"):
        factor_to_distance(halves, (3, 2), (20, 15), 1.0)


def test_an_orthographic_surface_has_its_scale():
    scene = plane(20, 24, Orthographic(0.1))
    with pytest.raises(InputError, match="pixel_size"):
        integrate(scene.normals, scene.camera, method=Smooth()).scaled(2.0)
