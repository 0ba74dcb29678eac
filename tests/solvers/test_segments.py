"""Segments: pieces of the components whose sums do not depend on the number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from rayrelief.pieces import threads_for
from rayrelief.solvers.kernels import EPSILON, residual_limits
from rayrelief.solvers.segments import SEGMENT, segments_of

STARTS = np.array([0, 300_000, 300_000 + SEGMENT, 303_000, 303_001])


def test_segments_lie_within_a_component_and_hold_every_node_once():
    bounds, owner = segments_of(STARTS)
    assert bounds[0] == 0
    assert bounds[-1] == STARTS[-1]
    assert set(STARTS) <= set(bounds)
    lengths = np.diff(bounds)
    assert 0 < lengths.min() <= lengths.max() == SEGMENT
    np.testing.assert_array_equal(np.bincount(owner, lengths), np.diff(STARTS))


@pytest.mark.parametrize("anchored", [False, True])
def test_limits_add_up_right_hand_sides_and_rounding_errors(anchored):
    rng = np.random.default_rng(2)
    rhs, x = rng.normal(size=(2, STARTS[-1]))
    inverse = rng.uniform(0.5, 2.0, STARTS[-1]).astype(np.float32)
    anchors = rng.uniform(0.0, 0.4, STARTS[-1] if anchored else 0).astype(np.float32)
    found = []
    for threads in (1, 2, 3):
        with threads_for(int(STARTS[-1]), threads):
            limits = residual_limits(segments_of(STARTS), anchors, rhs, x, inverse, 0.9, 1e-14)
            found.append(limits.tobytes())
    assert len(set(found)) == 1
    held = anchors if anchored else 0.0
    share = 1.0 - held * inverse.astype(np.float64) / 0.9
    flux, error = share * (rhs - held * x), share * EPSILON * x * 0.9 / inverse
    expected = np.add.reduceat(1e-28 * flux**2 + error**2, STARTS[:-1])
    np.testing.assert_allclose(limits, expected, rtol=1e-6)
