"""Frames start from the last one's surface, unless there is a cut."""

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
    return LastFrame.of(result)


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


@pytest.mark.parametrize(
    "other",
    [
        gallery.plane(24, 32),  # shows something else
        gallery.sphere(32, 24),  # has another size
        gallery.sphere(24, 32, rayrelief.cameras.Orthographic(0.1, 16, 12)),
    ],
    ids=["scene", "size", "camera"],
)
def test_cuts(last, other):
    assert last.start_for(other) is None
