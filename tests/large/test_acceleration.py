"""Anderson's acceleration against what it is for an affine iteration."""

import numpy as np
from numpy.testing import assert_allclose

from rayrelief.large.acceleration import Anderson


def test_an_affine_iteration_ends_after_as_many_steps_as_it_has_modes():
    rng = np.random.default_rng(0)
    modes = 5
    basis = rng.normal(size=(200, modes))
    matrix = basis @ np.diag(np.linspace(0.5, 0.95, modes)) @ np.linalg.pinv(basis)
    shift = rng.normal(size=200)
    solution = np.linalg.solve(np.eye(200) - matrix, shift)
    x, anderson = np.zeros(200), Anderson()
    for _ in range(modes + 2):
        x = anderson.next(x, matrix @ x + shift)
    assert_allclose(x, solution, atol=1e-5 * np.abs(solution).max())
