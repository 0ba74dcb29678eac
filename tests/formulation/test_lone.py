"""Lone normals: replaced where they are surely wrong, and nowhere else."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

import rayrelief
from rayrelief import Ordered
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.formulation import lone
from rayrelief.formulation.lone import without_lone
from rayrelief.graph import pixel_graph
from rayrelief.preprocess import Preprocessing
from rayrelief.synthetic import with_outliers, with_rotation_noise
from rayrelief.synthetic.gallery import plane, sphere

SHAPE = 40, 50


def turned(degrees):
    """A unit normal that is turned away from the camera's axis."""
    return np.array([np.sin(np.radians(degrees)), 0.0, -np.cos(np.radians(degrees))])


def mended(image, fewest=0.0):
    """Normals (H, W, 3) without lone ones, and how many there were; these may be few."""
    graph = pixel_graph(np.isfinite(image).all(axis=-1), 8)
    with mock.patch.object(lone, "FEWEST", fewest):
        found, count = without_lone(graph, graph.gather(image))
    return graph.scatter(found), count


def flat(*, normal=None, at=None):
    """Normals of a plane that faces the camera, with another one at some pixels."""
    image = np.tile(turned(0.0), (*SHAPE, 1))
    if at is not None:
        image[at] = normal
    return image


def test_wrong_normals_of_a_plane_leave_no_trace():
    scene = plane(*SHAPE)
    normals = np.array(scene.normals)
    normals[3::5, 2::4] = turned(60.0)
    result = rayrelief.integrate(normals, scene.camera, mask=scene.mask, method=Ordered())
    clean = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask, method=Ordered())
    np.testing.assert_allclose(result.depth, clean.depth, rtol=1e-9)
    assert "96 wrong normals were replaced" in str(result.status)
    assert "differ" not in str(clean.status)


@pytest.mark.parametrize(("count", "replaced"), [(2, 0), (3, 3)])
def test_two_of_two_thousand_may_as_well_be_real(count, replaced):
    image = flat()
    image[10, 10 : 10 + 4 * count : 4] = turned(60.0)
    assert mended(image, fewest=lone.FEWEST)[1] == replaced


def test_where_those_around_differ_as_much_none_is_surely_wrong():
    image = flat()
    image[:, ::2], image[:, 1::2] = turned(8.0), turned(-8.0)
    image[10, 10] = np.array([0.0, *turned(35.0)[[0, 2]]])
    assert mended(image)[1] == 0


def test_the_input_stays_as_it_is():
    image = flat(normal=turned(60.0), at=(10, 10))
    before = image.copy()
    found, count = mended(image)
    assert count == 1
    np.testing.assert_allclose(found, flat())
    np.testing.assert_array_equal(image, before)


@pytest.mark.parametrize(
    ("normal", "at"),
    [
        (turned(24.0), np.s_[10:11, 10:11]),  # it may be real
        (turned(60.0), np.s_[10:11, 10:12]),  # two agree with each other
        (turned(60.0), np.s_[10:11, :]),  # a groove
        (turned(60.0), np.s_[0:1, 10:11]),  # at the border fewer are around
        (turned(60.0), np.s_[:, 25:]),  # an edge
    ],
    ids=["near", "two", "groove", "border", "edge"],
)
def test_what_may_be_real_is_kept(normal, at):
    image = flat(normal=normal, at=at)
    found, count = mended(image)
    assert count == 0
    np.testing.assert_array_equal(found, image)


def test_one_wrong_neighbour_does_not_matter():
    image = flat(normal=turned(60.0), at=(10, 10))
    image[11, 11] = turned(-60.0)
    found, count = mended(image)
    assert count == 2
    np.testing.assert_allclose(found, flat())


def test_noise_makes_no_normal_lone():
    noisy = with_rotation_noise(flat(), 5.0, np.random.default_rng(0))
    assert mended(noisy)[1] == 0


def test_outliers_of_a_sphere_hardly_matter():
    scene = sphere(120, 120)
    assert scene.depth is not None
    normals = with_outliers(scene.normals, 0.05, np.random.default_rng(0))
    errors, method = [], Ordered(preprocessing=Preprocessing("average"))
    for given in (normals, scene.normals):
        result = rayrelief.integrate(given, scene.camera, mask=scene.mask, method=method)
        errors.append(depth_errors(result.depth, scene.depth, "scale").made)
    assert errors[0] < 1.5 * errors[1]


def test_two_wrong_neighbours_are_too_many():
    image = flat(normal=turned(60.0), at=(10, 10))
    image[11, 11], image[9, 9] = turned(-60.0), turned(-30.0)
    found, _ = mended(image)
    np.testing.assert_array_equal(found[10, 10], image[10, 10])


def test_what_the_others_differ_by_may_be_real():
    image = flat(normal=turned(30.0), at=(10, 10))
    image[9, 9:12], image[11, 9:12] = turned(-9.0), turned(9.0)
    assert mended(image)[1] == 0
    image[9, 9:12], image[11, 9:12] = turned(-3.0), turned(3.0)
    assert mended(image)[1] == 1


def test_with_four_neighbours_none_is_lone():
    image = flat(normal=turned(60.0), at=np.s_[3::5, 2::4])
    graph = pixel_graph(np.ones(SHAPE, dtype=bool), 4)
    assert without_lone(graph, graph.gather(image))[1] == 0
