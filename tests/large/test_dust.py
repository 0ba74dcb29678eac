"""Maps whose masks have dust: many parts, most of them of a few pixels."""

import numpy as np
import pytest

import rayrelief
from rayrelief.cameras import Orthographic
from rayrelief.components import label_medians
from rayrelief.large.layout import Layout
from rayrelief.methods import Smooth

SIDE = 150


@pytest.fixture
def dusty(in_memory):
    """A noisy relief, of whose lower half a share of the pixels is in the mask."""

    def make(share, seed=0):
        rng = np.random.default_rng(seed)
        slopes = 0.2 * rng.normal(size=(SIDE, SIDE, 2))
        normals = np.concatenate((slopes, -np.ones((SIDE, SIDE, 1))), axis=-1)
        mask = np.ones((SIDE, SIDE), bool)
        mask[SIDE // 2 :] = rng.random((SIDE - SIDE // 2, SIDE)) < share
        return in_memory(normals, mask), Orthographic(size=(SIDE, SIDE))

    return make


@pytest.mark.parametrize("share", [0.05, 0.2, 0.45])
def test_dust_is_the_surface_in_one_piece(share, dusty, depth_of):
    source, camera = dusty(share)
    whole = rayrelief.integrate(source.normals, camera, mask=source.mask, method=Smooth())
    layout = Layout.of(SIDE, SIDE, 66, 8)
    depth, finished = depth_of(source, camera, Smooth(), layout)
    assert len(layout) == 9
    assert finished.converged
    labels = whole.components.labels
    found = labels >= 0
    count = np.bincount(labels[found])
    difference = np.bincount(labels[found], (depth - whole.depth)[found]) / count
    spread = (depth - whole.depth)[found] - difference[labels[found]]
    relief = np.nanstd(whole.depth)
    assert np.sqrt(np.mean(spread**2)) < 1e-4 * relief
    # Each part of the map has a median of its own.
    assert finished.components == len(count)
    assert np.abs(label_medians(depth[found], labels[found])).max() < 1e-5 * relief


def test_parts_that_no_regular_sample_hits_have_their_median_too(dusty, depth_of, monkeypatch):
    monkeypatch.setattr("rayrelief.large.running.SAMPLES", SIDE**2 // 64)
    source, camera = dusty(0.2)
    whole = rayrelief.integrate(source.normals, camera, mask=source.mask, method=Smooth())
    depth, finished = depth_of(source, camera, Smooth(), Layout.of(SIDE, SIDE, 66, 8))
    labels, found = whole.components.labels, source.mask
    assert finished.components == whole.components.count
    single = np.bincount(labels[found])[labels[found]] == 1
    assert np.abs(depth[found][single]).max() == 0.0
