"""What recipes take from the user: settings that make sense, and a depth to start from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

import rayrelief
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.ray_map import RayMap
from rayrelief.errors import InputError
from rayrelief.integration import integrate
from rayrelief.laws.bilateral import Bilateral
from rayrelief.methods.recipes import BiNI, RayPlane, Smooth
from rayrelief.solvers.conjugate_gradient import ConjugateGradient
from rayrelief.solvers.dense import Dense
from reference.random_maps import facing_normals, plane_depth, random_rays

SEED = st.integers(0, 2**32 - 1)
NAMES = {name: getattr(part, name) for part in (rayrelief, rayrelief.solvers) for name in dir(part)}


def test_a_start_begins_the_run_and_fixes_the_scale():
    rng = np.random.default_rng(8)
    rays = random_rays(rng, 9, 10)
    normal = facing_normals(rng, np.array([0.0, 0.0, 1.0]), 0.4)
    normals = np.tile(normal, (9, 10, 1))
    truth = 700.0 * plane_depth(normal, rays)
    solver = ConjugateGradient(rtol=1e-8)
    method = RayPlane(solver=solver, max_iterations=2, tolerance=None)
    for start in (truth, truth.astype(np.float32)):
        result = integrate(normals, RayMap(rays), start=start, method=method)
        assert result.history[0].change < 1e-5, "it starts at the solution"
        np.testing.assert_allclose(result.depth, truth, rtol=1e-6)
    flat = np.full((9, 10), 700.0)
    depth = integrate(normals, RayMap(rays), start=flat, method=RayPlane(solver=solver)).depth
    assert np.median(np.log(depth)) == pytest.approx(np.log(700), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda depth: depth[:, 1:], r"start has the shape \(9, 9\).*\(9, 10\)"),
        (lambda depth: np.where(depth > 2, np.nan, depth), "start has no depth at 90 of 90"),
        (lambda depth: -depth, "start has no depth at 90 of 90.*positive"),
    ],
    ids=["shape", "NaN", "negative"],
)
def test_a_start_with_gaps_is_refused(change, words):
    rays = random_rays(np.random.default_rng(8), 9, 10)
    normals = -rays
    with pytest.raises(InputError, match=words):
        integrate(normals, RayMap(rays), start=change(np.full((9, 10), 3.0)))


def test_an_orthographic_depth_may_start_below_zero():
    normals = np.tile([0.0, 0.0, -1.0], (5, 6, 1))
    result = integrate(normals, Orthographic(), start=np.full((5, 6), -3.0))
    np.testing.assert_allclose(result.depth, -3.0)


@pytest.mark.parametrize(
    ("recipe", "options", "words"),
    [
        (RayPlane, {"max_iterations": 0}, "max_iterations is 0; expected an integer >= 1"),
        (BiNI, {"tolerance": 0.0}, "tolerance is 0.0; expected a positive number"),
        (RayPlane, {"midpoint": 1.5}, "midpoint is 1.5; expected a fraction"),
        (Smooth, {"cost_factor": "half"}, "cost_factor is 'half'; expected 'full'"),
        (RayPlane, {"outlier_threshold": -0.1}, "outlier_threshold is -0.1; expected a positive"),
    ],
)
def test_recipes_refuse_what_makes_no_sense(recipe, options, words):
    with pytest.raises(InputError, match=words):
        recipe(**options)


def test_the_published_schedules():
    paper, bini_row = RayPlane.published(), BiNI.published()
    assert (paper.max_iterations, paper.tolerance, paper.jumps) == (1200, None, True)
    assert paper.solver == ConjugateGradient(rtol=1e-3, max_steps=5000, diagonal_floor=1e-5)
    assert (bini_row.form, bini_row.solver) == ("printed", paper.solver)
    assert RayPlane.published(150, jumps=False, sharpness=1.0).law == Bilateral(1.0, jumps=False)


def test_the_outlier_threshold_is_refused_for_parallel_rays():
    normals = np.tile([0.0, 0.0, -1.0], (3, 3, 1))
    with pytest.raises(InputError, match=r"orthographic.*Preprocessing.*outlier_ratio=0\.75"):
        integrate(normals, Orthographic(), method=RayPlane(outlier_threshold=0.1))


@pytest.mark.parametrize("solver", [Dense, "multigrid"])
def test_what_is_no_solver_is_refused_at_once(solver):
    with pytest.raises(
        InputError,
        match=r"expected a solver such as rayrelief\.solvers\.Multigrid\(\), not its class",
    ):
        RayPlane(solver=solver)


def test_recipes_are_plain_settings():
    """Equal where their settings are, hashable, and printed as what makes them again."""
    for recipe in (RayPlane(sharpness=3.0), BiNI.published(7), Smooth()):
        again = eval(repr(recipe), NAMES)
        assert again == recipe
        assert hash(again) == hash(recipe)
    assert RayPlane(sharpness=3.0) != RayPlane()
