"""Normals that face away: of some blocks, or of the whole map."""

import warnings

import numpy as np
import pytest

import rayrelief
from rayrelief.cameras import Equidistant, Orthographic
from rayrelief.cli.runs.large_report import last_notes
from rayrelief.errors import InputError
from rayrelief.large.layout import Layout
from rayrelief.methods import Smooth
from rayrelief.preprocess import Preprocessing

SIDE = 100
LAYOUT = Layout.of(SIDE, SIDE, 50, 8)  # of nine blocks
CAMERA = Orthographic(size=(SIDE, SIDE))


@pytest.fixture
def relief(in_memory):
    v, u = np.mgrid[:SIDE, :SIDE] / 20.0
    normals = np.dstack((0.3 * np.sin(u + v), 0.3 * np.cos(v), -np.ones((SIDE, SIDE))))
    return in_memory(normals, np.ones((SIDE, SIDE), bool))


def test_a_block_of_nothing_but_a_rim_is_as_one_outside_the_mask(relief, depth_of):
    relief.mask[:, 42:] = False
    relief.mask[90:93, 90:95] = True
    relief.normals[90:93, 90:95, 2] = 1.0
    left = relief.mask & (relief.normals[..., 2] < 0)
    whole = rayrelief.integrate(relief.normals, CAMERA, mask=left, method=Smooth())
    depth, finished = depth_of(relief, CAMERA, Smooth(), LAYOUT)
    assert finished.converged
    np.testing.assert_array_equal(np.isfinite(depth), left)
    assert finished.decided[8].facing_away == 15
    assert np.nanstd(depth - whole.depth) < 1e-5 * np.nanstd(whole.depth)


def test_a_pixel_has_a_depth_if_the_block_of_its_core_has_one_there(relief, depth_of):
    """Beside its end another block may have found a normal for it, far away."""
    relief.mask[50:] = False
    left = relief.mask.copy()
    relief.mask[69:72, 90:95] = True
    relief.normals[69:72, 90:95, 2] = 1.0
    depth, finished = depth_of(relief, CAMERA, Smooth(), LAYOUT)
    np.testing.assert_array_equal(np.isfinite(depth), left)
    assert sum(each.pixels for each in finished.decided) == left.sum()


def test_a_block_without_rays_is_as_one_outside_the_mask(in_memory, depth_of):
    camera = Equidistant(40.0, 40.0, 49.5, 170.0, size=(SIDE, SIDE))  # rows above see nothing
    rays = camera.rays(SIDE, SIDE)
    assert np.isnan(rays[:40]).all()
    assert np.isfinite(rays[60:]).any()
    normals = -np.where(np.isfinite(rays), rays, 1.0)
    depth, _ = depth_of(in_memory(normals, np.ones((SIDE, SIDE), bool)), camera, Smooth(), LAYOUT)
    np.testing.assert_array_equal(np.isfinite(depth), np.isfinite(rays[..., 0]))


@pytest.mark.parametrize("option", [None, "average", "keep", "drop"])
def test_some_that_face_away_are_told_as_of_a_map_in_memory(option, relief, depth_of):
    method = Smooth(preprocessing=Preprocessing(facing_away=option))
    relief.normals[3::7, ::2, 2] *= -1
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        whole = rayrelief.integrate(relief.normals, CAMERA, mask=relief.mask, method=method)
        _, finished = depth_of(relief, CAMERA, method, LAYOUT)
    count = len(whole.preprocessing.notes())
    assert count == (1 if option == "keep" else 2)
    assert last_notes(finished)[:count] == whole.preprocessing.notes()
    assert len(told) == (0 if option else 2)
    assert len({str(each.message) for each in told}) <= 1


@pytest.mark.parametrize("option", ["average", "keep", "drop"])
def test_what_to_do_with_them_may_be_said(option, relief, depth_of):
    relief.normals[:, ::3, 2] *= -1
    with pytest.raises(InputError, match=r"34 % of the normals face away"):
        depth_of(relief, CAMERA, Smooth(), LAYOUT)
    method = Smooth(preprocessing=Preprocessing(facing_away=option))
    whole = rayrelief.integrate(relief.normals, CAMERA, mask=relief.mask, method=method)
    depth, finished = depth_of(relief, CAMERA, method, LAYOUT)
    np.testing.assert_array_equal(np.isfinite(depth), np.isfinite(whole.depth))
    assert sum(each.facing_away for each in finished.decided) == 34 * SIDE
    assert sum(each.normals for each in finished.decided) == SIDE**2


def test_wrong_axes_are_refused_as_soon_as_they_are_known(relief, depth_of):
    relief.normals[..., 2] *= -1
    with pytest.raises(InputError, match="100 % of the normals face away") as refused:
        depth_of(relief, CAMERA, Smooth(), LAYOUT)
    assert "--facing-away" in refused.value.remedy
    assert len(relief.reads) == 2, "two of nine blocks are a fifth of the map"
    # The corrected command needs no other folder.
    relief.normals[..., 2] *= -1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, finished = depth_of(relief, CAMERA, Smooth(connectivity=8), LAYOUT)
    assert finished.converged
