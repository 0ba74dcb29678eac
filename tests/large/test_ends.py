"""Solvers that do not reach their tolerance on some block: told, and not taken for the end."""

import numpy as np
import pytest

from rayrelief.cameras import Orthographic
from rayrelief.errors import IntegrationWarning
from rayrelief.large.layout import Layout
from rayrelief.methods import RayPlane, Smooth
from rayrelief.solvers.multigrid import Multigrid

SIDE = 80
LAYOUT, CAMERA = Layout.of(SIDE, SIDE, 60, 8), Orthographic(size=(SIDE, SIDE))


@pytest.fixture
def noisy(in_memory):
    slopes = 0.2 * np.random.default_rng(0).normal(size=(SIDE, SIDE, 2))
    normals = np.concatenate((slopes, -np.ones((SIDE, SIDE, 1))), axis=-1)
    return in_memory(normals, np.ones((SIDE, SIDE), bool))


def test_sweeps_whose_solver_stops_early_have_not_converged(noisy, depth_of, monkeypatch):
    monkeypatch.setattr("rayrelief.large.sweeping.SOLVER", Multigrid(rtol=1e-12, max_steps=1))
    with pytest.warns(IntegrationWarning, match="of 4 blocks 4 solves of the last sweep"):
        _, finished = depth_of(noisy, CAMERA, Smooth(), LAYOUT)
    assert not finished.converged
    # What is gone on with knows it, too.
    with pytest.warns(IntegrationWarning, match="4 solves of the last sweep"):
        _, again = depth_of(noisy, CAMERA, Smooth(), LAYOUT)
    assert not again.converged


def test_runs_on_blocks_whose_solver_stops_early_are_told(noisy, depth_of):
    method = RayPlane(solver=Multigrid(rtol=1e-12, max_steps=1), max_iterations=2)
    with pytest.warns(IntegrationWarning, match="of 4 blocks 4 runs: not converged: the inner"):
        _, finished = depth_of(noisy, CAMERA, method, LAYOUT)
    assert not finished.converged
