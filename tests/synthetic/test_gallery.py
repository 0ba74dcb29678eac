"""Every scene of the gallery is sound, and the same at any size or as crowded."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from rayrelief.cameras.orthographic import Orthographic
from rayrelief.errors import InputError
from rayrelief.synthetic import GALLERY

NAMES = [
    "plane",
    "sphere",
    "ellipsoid_inside",
    "steps",
    "tent",
    "vase",
    "tori",
    "overlapping_spheres",
    "room",
    "still_life",
    "crowd",
]
# A given number across makes the crowd, too, the same picture at any size.
SCENES = GALLERY | {"crowd": partial(GALLERY["crowd"], across=4.0)}


def edges_and_jumps(draw, height, width):
    """Edges within the mask as two index arrays, and which of them cross a true jump.

    The scene is rendered three times as fine. Along a continuous surface a difference spreads over
    the three small steps between two pixels; across a jump one of them holds nearly all of it.
    """
    depth = draw(3 * height, 3 * width).depth
    assert depth is not None
    fine = np.log(depth)
    index = np.arange(height * width).reshape(height, width)
    tails, heads, jumps = [], [], []
    for lines, pixels in ((fine[1::3, 1:-1], index), (fine[1:-1, 1::3].T, index.T)):
        total = np.abs(np.diff(lines[:, ::3], axis=1))
        small = np.abs(np.diff(lines, axis=1)).reshape(*total.shape, 3)
        within = np.isfinite(total)
        jumps.append(((small.max(axis=-1) > 0.8 * total) & (total > 0.005))[within])
        tails.append(pixels[:, :-1][within])
        heads.append(pixels[:, 1:][within])
    return np.concatenate(tails), np.concatenate(heads), np.concatenate(jumps)


def test_the_gallery_holds_the_scenes_by_name():
    assert list(GALLERY) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_scene_is_sound(name):
    scene = SCENES[name](60, 80)
    assert scene.name == name
    assert scene.mask.mean() > 0.2
    assert np.isfinite(scene.normals[scene.mask]).all()
    assert np.isnan(scene.normals[~scene.mask]).all()
    assert scene.depth is not None
    np.testing.assert_array_equal(np.isfinite(scene.depth), scene.mask)
    rays = scene.camera.rays(60, 80)
    assert (np.sum(scene.normals * rays, axis=-1)[scene.mask] < 0).all()
    assert scene.depth_kind == "z"


@pytest.mark.parametrize("name", NAMES)
def test_scene_is_the_same_picture_at_any_size(name):
    small, large = SCENES[name](30, 40).depth, SCENES[name](90, 120).depth
    assert small is not None
    assert large is not None
    # Every third pixel centre of the larger picture looks along a ray of the smaller one.
    same = np.isclose(large[1::3, 1::3], small, rtol=1e-9, equal_nan=True)
    assert same.mean() > 0.999  # rounding may move a ray across a silhouette


@pytest.mark.parametrize("name", NAMES)
def test_orthographic_cameras_see_every_scene(name):
    camera = Orthographic(pixel_size=4 / 80, cx=39.5, cy=29.5)
    scene = SCENES[name](60, 80, camera)
    assert scene.mask.mean() > 0.1
    assert scene.depth is not None
    points = camera.origins(60, 80)[scene.mask]
    points[:, 2] += scene.depth[scene.mask]
    np.testing.assert_allclose(camera.project(points)[:, 0], np.nonzero(scene.mask)[1])


@pytest.mark.parametrize("name", [name for name in NAMES if name != "steps"])
def test_every_part_is_joined_to_the_rest_without_a_jump(name):
    height, width = 120, 160
    tails, heads, jumps = edges_and_jumps(SCENES[name], height, width)
    shape = (height * width, height * width)
    graph = coo_array((np.ones(np.sum(~jumps)), (tails[~jumps], heads[~jumps])), shape=shape)
    _, labels = connected_components(graph, directed=False)
    inside = np.unique(np.concatenate((tails, heads)))
    assert np.bincount(labels[inside]).max() > 0.995 * inside.size


@pytest.mark.parametrize("name", ["plane", "sphere", "ellipsoid_inside", "tent", "vase"])
def test_single_surfaces_have_no_jump(name):
    assert not edges_and_jumps(SCENES[name], 120, 160)[2].any()


def test_steps_have_a_jump_at_each_edge_and_normals_that_do_not_show_it():
    scene = GALLERY["steps"](60, 80)
    assert scene.depth is not None
    assert (scene.normals == (0.0, 0.0, -1.0)).all()
    assert (np.count_nonzero(np.diff(scene.depth, axis=1), axis=1) == 5).all()


def test_one_in_a_hundred_edges_of_the_still_life_crosses_a_jump():
    assert edges_and_jumps(SCENES["still_life"], 240, 320)[2].mean() >= 0.01


def tangent_planes_disagree(scene):
    """Which of the edges along u and v have two tangent planes that miss the other pixel's point.

    By more than the side of a pixel: what hides something does, and a crease does not.
    """
    rays = scene.camera.rays(*scene.mask.shape)
    depth, normals, pixel = scene.depth, scene.normals, scene.depth / scene.camera.fx
    found = []
    for axis in (0, 1):
        ends = np.moveaxis(np.arange(scene.mask.size).reshape(scene.mask.shape), axis, 0)
        gaps = []
        for here, there in ((ends[:-1], ends[1:]), (ends[1:], ends[:-1])):
            normal = normals.reshape(-1, 3)[here]
            slant_here = np.sum(normal * rays.reshape(-1, 3)[here], axis=-1)
            slant_there = np.sum(normal * rays.reshape(-1, 3)[there], axis=-1)
            gaps.append(depth.flat[here] * slant_here / slant_there - depth.flat[there])
        found.append((np.min(np.abs(gaps), axis=0) > pixel.flat[ends[:-1]]).ravel())
    return np.concatenate(found)


@pytest.mark.parametrize("size", [(300, 400), (512, 512), (1000, 800)])
def test_the_share_of_jumps_in_the_crowd_is_the_same_at_any_size(size):
    assert 0.018 < tangent_planes_disagree(GALLERY["crowd"](*size)).mean() < 0.03


def test_the_crowd_is_decided_by_its_seed_and_grows_with_the_picture():
    crowd = GALLERY["crowd"]
    scene = crowd(120, 200)
    for same in (crowd(120, 200), crowd(120, 200, across=2.0, seed=0)):
        np.testing.assert_array_equal(same.normals, scene.normals)
        np.testing.assert_array_equal(same.depth, scene.depth)
    for other in (crowd(120, 200, seed=1), crowd(120, 200, across=2.1)):
        assert np.mean(other.depth != scene.depth) > 0.2


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        ({"across": 0.0}, "objects across"),
        ({"across": np.nan}, "objects across"),
        ({"across": np.inf}, "objects across"),
        ({"seed": -1}, "seed"),
    ],
)
def test_a_crowd_without_number_or_seed_is_refused(wrong, found):
    with pytest.raises(InputError, match=found):
        GALLERY["crowd"](12, 16, **wrong)
