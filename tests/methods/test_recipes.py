"""What recipes take from the user: known jumps, an initial depth, and settings that make sense."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.ray_map import RayMap
from rayrelief.errors import InputError
from rayrelief.integration import integrate
from rayrelief.methods.edge_terms import EdgeModel
from rayrelief.methods.recipes import BiNI, RayPlane, Smooth
from rayrelief.solvers.conjugate_gradient import ConjugateGradient
from rayrelief.solvers.dense import Dense
from rayrelief.synthetic import gallery
from reference.random_maps import facing_normals, plane_depth, random_rays

SEED = st.integers(0, 2**32 - 1)
CONNECTIVITIES = [4, "diagonal", 8]


def piecewise_scene(seed):
    """Planes in random patches with random jumps, and random normals next to the jumps."""
    rng = np.random.default_rng(seed)
    height, width = 14, 15
    rays = random_rays(rng, height, width)
    v, u = np.indices((height, width))
    labels = (v > rng.integers(2, 12)).astype(int) + 2 * (u > rng.integers(2, 13))
    labels[(v - 7) ** 2 + (u - 7) ** 2 < rng.integers(4, 20)] = 4
    depth, normals = np.empty((height, width)), np.empty((height, width, 3))
    for label in range(5):
        normal = facing_normals(rng, np.array([0.0, 0.0, 1.0]), 0.3)
        here = labels == label
        depth[here] = plane_depth(normal, rays[here], -rng.uniform(1, 3))
        normals[here] = normal
    edge = np.zeros((height, width), dtype=bool)
    for axis in (0, 1):
        for shift in (1, -1):
            edge |= labels != np.roll(labels, shift, axis)
    normals[edge] = facing_normals(rng, rays)[edge]
    return RayMap(rays), normals, depth


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
@settings(max_examples=8, deadline=None)
@given(seed=SEED)
def test_known_discontinuities_return_the_truth(connectivity, seed):
    camera, normals, depth = piecewise_scene(seed)
    method = RayPlane(
        known_depth=depth,
        connectivity=connectivity,
        solver=Dense(),
        max_iterations=1,
        tolerance=None,
    )
    result = integrate(normals, camera, method=method)
    expected = np.log(depth) - np.median(np.log(depth))
    found = np.log(result.depth)
    if connectivity == "diagonal":
        # The colours are aligned by a median over jumps: each is exact up to its own constant.
        for colour in (0, 1):
            here = np.indices(depth.shape).sum(axis=0) % 2 == colour
            ratio = found[here] - expected[here]
            np.testing.assert_allclose(ratio, ratio[0], atol=1e-9)
    else:
        np.testing.assert_allclose(found, expected, atol=1e-9)


@settings(max_examples=8, deadline=None)
@given(SEED)
def test_known_discontinuities_hold_through_the_iterations(seed):
    camera, normals, depth = piecewise_scene(seed)
    method = RayPlane(
        known_depth=depth,
        solver=ConjugateGradient(rtol=1e-12),
        max_iterations=10,
        tolerance=None,
    )
    result = integrate(normals, camera, method=method, on_failure="return")
    np.testing.assert_allclose(
        np.log(result.depth), np.log(depth) - np.median(np.log(depth)), atol=1e-8
    )


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-12])
def test_known_discontinuities_between_plateaus_stay_finite(rtol):
    # Once the weights of the jumps vanish, nothing is left on the right-hand side.
    scene = gallery.steps(20, 24)
    assert scene.depth is not None
    solver = ConjugateGradient(rtol=rtol)
    method = RayPlane(known_depth=scene.depth, solver=solver, max_iterations=8, tolerance=None)
    result = integrate(scene.normals, scene.camera, mask=scene.mask, method=method)
    expected = np.log(scene.depth) - np.median(np.log(scene.depth))
    np.testing.assert_allclose(np.log(result.depth), expected, atol=rtol)


def test_known_depth_of_another_size_is_refused():
    camera, normals, depth = piecewise_scene(1)
    with pytest.raises(InputError, match=r"known_depth has the shape \(13, 15\).*\(14, 15\)"):
        integrate(normals, camera, method=RayPlane(known_depth=depth[1:]))


def test_the_initial_depth_starts_the_run_and_fixes_the_scale():
    rng = np.random.default_rng(8)
    rays = random_rays(rng, 9, 10)
    normal = facing_normals(rng, np.array([0.0, 0.0, 1.0]), 0.4)
    normals = np.tile(normal, (9, 10, 1))
    truth = 700.0 * plane_depth(normal, rays)
    solver = ConjugateGradient(rtol=1e-8)
    for initial in (truth, truth.astype(np.float32)):
        method = RayPlane(initial_depth=initial, solver=solver, max_iterations=2, tolerance=None)
        result = integrate(normals, RayMap(rays), method=method)
        assert result.history[0].change < 1e-5, "it starts at the solution"
        np.testing.assert_allclose(result.depth, truth, rtol=1e-6)
    flat = RayPlane(initial_depth=np.full((9, 10), 700.0), solver=solver)
    depth = integrate(normals, RayMap(rays), method=flat).depth
    assert np.median(np.log(depth)) == pytest.approx(np.log(700), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda depth: depth[:, 1:], r"initial_depth has the shape \(9, 9\).*\(9, 10\)"),
        (lambda depth: np.where(depth > 2, np.nan, depth), "initial_depth is missing at 90 of 90"),
        (lambda depth: -depth, "initial_depth is missing at 90 of 90.*positive"),
    ],
    ids=["shape", "NaN", "negative"],
)
def test_an_initial_depth_with_gaps_is_refused(change, words):
    rays = random_rays(np.random.default_rng(8), 9, 10)
    normals = -rays
    method = RayPlane(initial_depth=change(np.full((9, 10), 3.0)))
    with pytest.raises(InputError, match=words):
        integrate(normals, RayMap(rays), method=method)


def test_an_orthographic_depth_may_start_below_zero():
    normals = np.tile([0.0, 0.0, -1.0], (5, 6, 1))
    method = RayPlane(initial_depth=np.full((5, 6), -3.0))
    np.testing.assert_allclose(integrate(normals, Orthographic(), method=method).depth, -3.0)


@pytest.mark.parametrize(
    ("recipe", "options", "words"),
    [
        (RayPlane, {"max_iterations": 0}, "max_iterations is 0; expected a whole number from 1"),
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
    assert RayPlane.published(150, jumps=False, sharpness=1.0).model == EdgeModel(1.0, jumps=False)


def test_the_outlier_threshold_is_refused_for_parallel_rays():
    normals = np.tile([0.0, 0.0, -1.0], (3, 3, 1))
    with pytest.raises(InputError, match=r"outlier_threshold.*orthographic.*outlier_ratio"):
        integrate(normals, Orthographic(), method=RayPlane(outlier_threshold=0.1))


@pytest.mark.parametrize("solver", [Dense, "multigrid"])
def test_what_is_no_solver_is_refused_at_once(solver):
    with pytest.raises(InputError, match=r"expected a solver such as Multigrid\(\), not its class"):
        RayPlane(solver=solver)
