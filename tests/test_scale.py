"""One known length gives a surface its scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rayrelief import DepthPrior, Smooth, integrate
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


@pytest.mark.parametrize("known", [[], [(3, 2)], [(20, 15)]], ids=["none", "first", "second"])
def test_pixels_of_different_components_have_no_distance(scene, known):
    with pytest.raises(InputError, match="not connected"):
        factor_to_distance(halves(scene, known), (3, 2), (20, 15), 1.0)


def test_a_pixel_outside_is_named_as_it_is_typed(scene):
    with pytest.raises(InputError, match=r"^the pixel \(12, 2.5\) has no depth"):
        factor_to_distance(halves(scene, []), (12.0, 2.5), (20, 15), 1.0)


def test_components_that_known_depths_have_placed_have_one(scene):
    result = halves(scene, [(3, 2), (20, 15)])
    true = replace(result, depth=scene.depth).points()
    length = 7 * float(np.linalg.norm(true[2, 3] - true[15, 20]))
    assert factor_to_distance(result, (3, 2), (20, 15), length) == pytest.approx(7, rel=1e-6)


def test_a_pixel_is_the_same_for_its_point_and_for_its_component(scene):
    result = halves(scene, [])
    between, whole = (factor_to_distance(result, (u, 2), (20, 15), 1.0) for u in (12.5, 13))
    assert between == whole


def halves(scene, known):
    """Two components, with the depths of some pixels (u, v) known."""
    mask = np.ones((20, 24), dtype=bool)
    mask[:, 12] = False
    points = [(u, v, scene.depth[v, u]) for u, v in known]
    prior = DepthPrior.at(points, 20, 24) if points else None
    return integrate(scene.normals, scene.camera, mask=mask, method=Smooth(), prior=prior)


def test_an_orthographic_surface_has_its_scale():
    scene = plane(20, 24, Orthographic(0.1))
    result = integrate(scene.normals, scene.camera, method=Smooth())
    with pytest.raises(InputError, match="pixel_size"):
        result.scaled(2.0)
    with pytest.raises(InputError, match="pixel_size"):
        factor_to_depth(result, 3.0)
    with pytest.raises(InputError, match="pixel_size"):
        factor_to_distance(result, (3, 2), (20, 15), 3.0)
