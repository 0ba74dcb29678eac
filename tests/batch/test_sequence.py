"""Frames start from the last one's surface, unless there is a cut."""

from dataclasses import replace

import numpy as np
import pytest

import rayrelief
from rayrelief.batch.sequence import LastFrame
from rayrelief.methods import Smooth
from rayrelief.synthetic import gallery


@pytest.fixture
def last():
    scene = gallery.sphere(24, 32)
    result = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask, method=Smooth())
    return LastFrame.of(scene, result)


def test_the_next_frame_starts_at_the_nearest_depth(last):
    scene = gallery.sphere(24, 32)
    moved = rayrelief.Scene(
        np.roll(scene.normals, 1, axis=1), np.roll(scene.mask, 1, axis=1), scene.camera
    )
    start = last.start_for(moved)
    known = np.isfinite(last.depth)
    np.testing.assert_array_equal(start[known], last.depth[known])
    assert np.isfinite(start[moved.mask]).all()
    assert (moved.mask & ~known).any()


def sphere(**changes):
    return replace(gallery.sphere(24, 32), **changes)


def shifted(columns):
    """The same normals, behind a mask that has moved."""
    seen = gallery.sphere(24, 32)
    mask = np.zeros((24, 32), bool)
    mask[:, columns:] = seen.mask[:, : 32 - columns]
    return sphere(mask=mask, normals=np.where(seen.mask[..., None], seen.normals, (0, 0, -1)))


def zoomed(factor):
    camera = gallery.sphere(24, 32).camera
    assert isinstance(camera, rayrelief.cameras.Pinhole)
    return replace(camera, fx=factor * camera.fx, fy=factor * camera.fy)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (sphere(normals=np.broadcast_to((0.7, 0.0, -0.7), (24, 32, 3))), "other normals"),
        (gallery.sphere(32, 24), "another size"),
        (sphere(camera=rayrelief.cameras.Orthographic(0.1, 16, 12)), "another camera"),
        (sphere(camera=zoomed(3.0)), "another camera"),
        (sphere(camera=zoomed(1 / 3)), "another camera"),
        (sphere(camera=rayrelief.cameras.Equidistant(40.0, 40.0, 16.0, 12.0)), "another camera"),
        (shifted(12), "another mask"),
        (shifted(2), ""),
        (sphere(camera=zoomed(1.03)), ""),
        (sphere(normals=5.0 * gallery.sphere(24, 32).normals), ""),
    ],
)
def test_cuts(last, other, why):
    assert last.cut_before(other) == why
    assert (last.start_for(other) is None) == bool(why)


def test_a_frame_is_the_same_however_long_its_normals_are(last):
    known = LastFrame.with_depth(sphere(normals=5.0 * gallery.sphere(24, 32).normals), last.depth)
    np.testing.assert_allclose(known.normals, last.normals, atol=1e-6)


@pytest.mark.parametrize("scale", [0.1, 0.2])
def test_orthographic_cameras_of_another_scale_are_others(scale):
    first, second = (
        gallery.plane(24, 32, rayrelief.cameras.Orthographic(each, 16, 12)) for each in (0.1, scale)
    )
    assert first.depth is not None
    last = LastFrame.with_depth(first, first.depth)
    assert last.cut_before(second) == ("" if scale == 0.1 else "another camera")


def test_a_frame_that_has_not_converged_is_no_start():
    scene = gallery.overlapping_spheres(24, 32)
    method = rayrelief.RayPlane(max_iterations=1, tolerance=1e-12)
    result = rayrelief.integrate(
        scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
    )
    assert not result.status.ok
    assert LastFrame.of(scene, result) is None
