"""The shift that known depths ask for tears a surface where it may be torn, and bends none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rayrelief import Ordered, RayPlane, Smooth
from rayrelief.backends import CPU
from rayrelief.errors import Outcome
from rayrelief.formulation.intervals import IntervalEquations
from rayrelief.fusion.shift import fitted_shift, pixels_per_unit
from rayrelief.methods import Solution
from rayrelief.problem import Problem, assemble
from rayrelief.synthetic.gallery import plane, sphere

LONG = plane(12, 120)


def halves(method: Ordered | RayPlane) -> tuple[Problem, np.ndarray]:
    """A long plane as a problem of a method, and which of its nodes (N,) are in the right half."""
    problem = assemble(LONG.normals, LONG.camera, method=method)
    return problem, problem.graph.pixels % 120 >= 60


def shift_asked(
    problem: Problem, asked: dict[int, float], weights: np.ndarray | None = None
) -> np.ndarray:
    """Shift (N,) of the true surface where depths known at some columns ask for so much."""
    assert LONG.depth is not None
    exact = problem.unknown(LONG.depth)
    nodes = [int(np.flatnonzero(problem.graph.pixels == 6 * 120 + u)[0]) for u in asked]
    values = exact[nodes] + np.array(list(asked.values()))
    solution = Solution(exact, Outcome.CONVERGED, weights=weights)
    return fitted_shift(problem, solution, np.array(nodes), values)


def test_pixels_are_as_large_with_any_confidence():
    scene = plane(20, 24)
    plain = assemble(scene.normals, scene.camera)
    doubted = assemble(scene.normals, scene.camera, confidence=np.full((20, 24), 0.01))
    assert pixels_per_unit(doubted) == pixels_per_unit(plain)


@pytest.mark.parametrize("seed", range(3))
def test_a_noisy_depth_of_all_pixels_moves_a_part_without_bending_it(seed):
    scene = sphere(64, 80)
    problem = assemble(scene.normals, scene.camera, mask=scene.mask)
    solution = Smooth().solve(problem, CPU())
    blocks = np.random.default_rng(seed).normal(0.1, 0.02, size=(8, 10))
    asked = problem.graph.gather(np.kron(blocks, np.ones((8, 8))))
    nodes = np.arange(problem.graph.size)
    shift = fitted_shift(problem, solution, nodes, solution.x + asked)
    assert np.ptp(shift) == 0.0
    assert abs(shift[0] - 0.1) < 0.02


def test_two_known_depths_tear_where_least_is_trusted_instead_of_bending_all():
    problem, right = halves(RayPlane())
    graph = problem.graph
    weights = np.ones(graph.neighbours.shape, np.float32)
    for d, there in enumerate(graph.neighbours):
        weights[d, right != right[there]] = 0.5
    shift = shift_asked(problem, {10: 0.0, 110: 0.04}, weights)
    assert_allclose(shift, 0.04 * right, atol=0.004)


def test_likewise_where_an_equation_is_least_exact():
    problem, right = halves(Ordered())
    equations = problem.equations
    assert isinstance(equations, IntervalEquations)
    sigma = equations.sigma.copy()
    for d, there in enumerate(problem.graph.neighbours[::2]):
        sigma[d, right != right[there]] *= 2.0
    problem = replace(problem, equations=replace(equations, sigma=sigma))
    assert_allclose(shift_asked(problem, {10: 0.0, 110: 0.04}), 0.04 * right, atol=0.004)


def test_a_known_depth_that_is_beyond_the_relief_is_not_asked():
    problem, _ = halves(RayPlane())
    shift = shift_asked(problem, {10: 0.0, 30: 0.0, 60: np.log(10), 90: 0.0, 110: 0.0})
    assert_allclose(shift, 0.0, atol=1e-9)


def test_between_two_known_depths_a_bend_of_less_than_a_pixel_stays():
    problem, _ = halves(RayPlane())
    asked = 0.5 / pixels_per_unit(problem)
    shift = problem.graph.scatter(shift_asked(problem, {10: 0.0, 110: asked}))
    assert shift[6, 110] - shift[6, 10] > 0.8 * asked
