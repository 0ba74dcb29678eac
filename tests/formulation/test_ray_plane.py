"""The axioms of omega, gamma and the choices of lambda_m, and what the supplement derives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.orthographic import Orthographic
from rayrelief.errors import InputError
from rayrelief.formulation.ray_plane import (
    AdaptiveMidpoint,
    CostFactor,
    central_equations,
    lambda_of,
    midpoint_rays,
    omega,
    omega_eps,
    orthographic_equations,
)
from rayrelief.graph import pixel_graph
from reference.random_maps import facing_normals, plane_depth, random_mask, random_rays

SEED = st.integers(0, 2**32 - 1)
CONNECTIVITY = st.sampled_from([4, "diagonal", 8])
ADAPTIVE = [AdaptiveMidpoint(m, k) for m in ("incidence", "normal_z", "both") for k in (1.0, 7.0)]
SYMMETRIC_MIDPOINTS = [0.5, *ADAPTIVE]


def scene(seed, *, unit=False, connectivity=4, size=(7, 8), spread=0.5):
    """A random graph with rays and normals (N, 3) that face the camera."""
    rng = np.random.default_rng(seed)
    rays = random_rays(rng, *size, unit=unit)
    graph = pixel_graph(random_mask(rng, *size, density=0.85), connectivity)
    return graph, graph.gather(facing_normals(rng, rays, spread)), graph.gather(rays), rng


def edges(seed, count=50):
    """n_a, n_b, tau_a, tau_b (count, 3) of random neighbours."""
    rng = np.random.default_rng(seed)
    tau_a = np.concatenate((rng.uniform(-1, 1, (count, 2)), np.ones((count, 1))), axis=1)
    tau_b = tau_a + np.concatenate((rng.uniform(-0.1, 0.1, (count, 2)), np.zeros((count, 1))), 1)
    return facing_normals(rng, tau_a), facing_normals(rng, tau_b), tau_a, tau_b, rng


def assert_opposite(equations, left, right, **tolerance):
    """left on every edge equals right on its opposite edge."""
    for d, a, b in equations.graph.edges():
        np.testing.assert_allclose(left[d, a], right[d ^ 1, b], **tolerance)


@given(SEED, st.booleans(), CONNECTIVITY, st.floats(0, 1))
def test_exact_on_planes_seen_by_any_camera(seed, unit, connectivity, midpoint):
    graph, _, rays, rng = scene(seed, unit=unit, connectivity=connectivity)
    normal = facing_normals(rng, np.array([0.0, 0.0, 1.0]), spread=0.4)
    x = np.log(plane_depth(normal, rays))
    equations = central_equations(
        graph, np.broadcast_to(normal, rays.shape), rays, midpoint=midpoint
    )
    assert equations.left_out == 0
    difference = np.where(graph.exists, x - x[graph.neighbours], 0.0)
    np.testing.assert_allclose(equations.offset, difference, atol=1e-13)


@pytest.mark.parametrize("midpoint", SYMMETRIC_MIDPOINTS, ids=str)
@given(seed=SEED, unit=st.booleans(), connectivity=CONNECTIVITY)
def test_there_and_back_is_one(midpoint, seed, unit, connectivity):
    graph, normals, rays, _ = scene(seed, unit=unit, connectivity=connectivity)
    equations = central_equations(graph, normals, rays, midpoint=midpoint)
    assert_opposite(equations, equations.offset, -equations.offset, atol=1e-12)


@given(SEED, st.floats(0.005, 0.3), st.integers(2, 30), CONNECTIVITY)
def test_there_and_back_is_one_with_the_outlier_filter(seed, threshold, samples, connectivity):
    graph, normals, rays, _ = scene(seed, connectivity=connectivity, spread=1.5)
    equations = central_equations(
        graph, normals, rays, outlier_threshold=threshold, outlier_samples=samples
    )
    assert_opposite(equations, equations.offset, -equations.offset, atol=1e-9)


def test_there_and_back_is_not_one_for_another_constant():
    graph, normals, rays, _ = scene(1)
    equations = central_equations(graph, normals, rays, midpoint=0.3)
    with pytest.raises(AssertionError):
        assert_opposite(equations, equations.offset, -equations.offset, atol=1e-3)


@given(SEED)
def test_scaling_laws(seed):
    n_a, n_b, tau_a, tau_b, rng = edges(seed)
    tau_m = midpoint_rays(tau_a, tau_b, rng.uniform(0, 1, len(n_a)))
    expected = omega(n_a, n_b, tau_a, tau_b, tau_m)
    s_a, s_b, s_m, l_a, l_b = np.exp(rng.uniform(-5, 5, (5, len(n_a), 1)))
    np.testing.assert_allclose(omega(n_a, n_b, tau_a, tau_b, s_m * tau_m), expected, rtol=1e-12)
    np.testing.assert_allclose(
        omega(l_a * n_a, -l_b * n_b, tau_a, tau_b, tau_m), expected, rtol=1e-12
    )
    np.testing.assert_allclose(
        omega(n_a, n_b, tau_a / s_a, tau_b / s_b, tau_m),
        expected * (s_a / s_b)[:, 0],
        rtol=1e-12,
    )


@given(SEED, st.floats(0, 1))
def test_solves_the_linear_system_of_the_supplement(seed, lambda_m):
    n_a, n_b, tau_a, tau_b, rng = edges(seed, count=10)
    tau_m = midpoint_rays(tau_a, tau_b, lambda_m)
    z_b, jump = rng.uniform(0.5, 2, 10), rng.uniform(-0.3, 0.3, 10)
    ratio, ratio_eps = omega(n_a, n_b, tau_a, tau_b, tau_m), omega_eps(n_a, tau_a)
    for i in range(10):
        (ax, ay, _), (bx, by, _), (mx, my, _) = tau_a[i], tau_b[i], tau_m[i]
        matrix = np.array(
            [
                [0, 0, 0, 1, 0, -mx],
                [0, 0, 0, 0, 1, -my],
                [-1, 0, ax, 1, 0, -ax],
                [0, -1, ay, 0, 1, -ay],
                [0, 0, 0, *n_b[i]],
                [*n_a[i], 0, 0, 0],
            ]
        )
        slopes = np.array([mx - bx, my - by, ax - bx, ay - by]) * z_b[i]
        right = np.array([*slopes, 0.0, -n_a[i, 2] * jump[i]])
        deltas = np.linalg.solve(matrix, right)
        z_a = z_b[i] + deltas[5] - deltas[2]
        expected = ratio[i] * z_b[i] + ratio_eps[i] * jump[i]
        np.testing.assert_allclose(z_a, expected, rtol=1e-9)


@pytest.mark.parametrize("midpoint", ADAPTIVE, ids=str)
@given(seed=SEED)
def test_adaptive_midpoints_follow_their_definition(midpoint, seed):
    n_a, n_b, tau_a, tau_b, _ = edges(seed)
    measures = {
        "incidence": lambda n, tau: np.sum(n * tau, axis=1) ** 2,
        "normal_z": lambda n, tau: n[:, 2] ** 2,
        "both": lambda n, tau: (n[:, 2] * np.sum(n * tau, axis=1)) ** 2,
    }
    f = measures[midpoint.measure]
    expected = 1 / (1 + np.exp(-midpoint.slope * (f(n_a, tau_a) - f(n_b, tau_b))))
    there = lambda_of(midpoint, n_a, n_b, tau_a, tau_b)
    back = lambda_of(midpoint, n_b, n_a, tau_b, tau_a)
    np.testing.assert_allclose(there, expected, rtol=1e-12)
    np.testing.assert_allclose(there + back, 1, rtol=1e-12)


def test_a_very_steep_midpoint_takes_the_more_inclined_side():
    n_a, n_b, tau_a, tau_b, _ = edges(3)
    steep = lambda_of(AdaptiveMidpoint("incidence", 1e9), n_a, n_b, tau_a, tau_b)
    a_is_more_inclined = np.sum(n_a * tau_a, axis=1) ** 2 < np.sum(n_b * tau_b, axis=1) ** 2
    np.testing.assert_array_equal(steep, np.where(a_is_more_inclined, 0.0, 1.0))


@given(SEED, st.booleans(), CONNECTIVITY, st.sampled_from([None, 1.0, 1000.0]))
def test_gamma_follows_its_definition(seed, unit, connectivity, weight_constant):
    graph, normals, rays, _ = scene(seed, unit=unit, connectivity=connectivity)
    full, cosine, focal = np.zeros((3, *graph.neighbours.shape))
    for d, nodes, neighbours in graph.edges():
        for a, b in zip(nodes, neighbours, strict=True):
            u_a, u_b = (np.array(np.divmod(graph.pixels[i], graph.shape[1])) for i in (a, b))
            cosine[d, a] = normals[a] @ rays[a]
            focal[d, a] = np.linalg.norm(u_b - u_a) / np.linalg.norm(rays[b] - rays[a])
            full[d, a] = focal[d, a] * cosine[d, a]
    expected_weight = full if weight_constant is None else weight_constant * cosine
    factors: dict[CostFactor, np.ndarray] = {"full": full, "cosine": cosine, "focal": focal}
    for factor, expected in factors.items():
        equations = central_equations(
            graph, normals, rays, cost_factor=factor, weight_constant=weight_constant
        )
        assert equations.left_out == 0
        np.testing.assert_allclose(equations.gamma, expected, rtol=1e-7, err_msg=factor)
        np.testing.assert_allclose(equations.gamma_weight, expected_weight, rtol=1e-7)


def log_omega_at(lambda_m, n_a, n_b, tau_a, tau_b):
    """log omega, infinite where there is none."""
    value = omega(n_a, n_b, tau_a, tau_b, midpoint_rays(tau_a, tau_b, lambda_m))
    return np.log(value) if value > 0 else np.inf


@given(SEED, st.floats(0.005, 0.5), st.integers(2, 25))
def test_the_outlier_filter_takes_the_sample_closest_to_one(seed, threshold, samples):
    graph, normals, rays, _ = scene(seed, spread=2.5, size=(5, 6))
    filtered = central_equations(
        graph, normals, rays, outlier_threshold=threshold, outlier_samples=samples
    )
    here = np.argsort(filtered.graph.pixels)[np.searchsorted(np.sort(graph.pixels), graph.pixels)]
    for d, nodes, neighbours in graph.edges():
        for a, b in zip(nodes, neighbours, strict=True):
            ends = normals[a], normals[b], rays[a], rays[b]
            expected = log_omega_at(0.5, *ends)
            if abs(expected) > np.log(1 + threshold):
                lambdas = np.linspace(0, 1, samples)
                candidates = [expected, *(log_omega_at(s, *ends) for s in lambdas)]
                expected = min(candidates, key=abs)
            left_out = filtered.graph.neighbours[d, here[a]] == here[a]
            assert left_out == np.isinf(expected)
            if not left_out:
                np.testing.assert_allclose(filtered.offset[d, here[a]], expected, rtol=1e-9)


def test_impossible_ratios_are_outliers_that_another_midpoint_can_mend():
    # The left plane is so steep that its ray to the middle misses it from the front.
    rays = np.array([[0.0, 0.0, 1.0], [0.5, 0.0, 1.0]])
    normals = np.array([[0.995, 0.0, -0.1], [-0.3, 0.0, -0.954]])
    graph = pixel_graph(np.ones((1, 2), dtype=bool))
    assert omega(normals[0], normals[1], rays[0], rays[1], rays.mean(axis=0)) < 0
    assert central_equations(graph, normals, rays).left_out == 2
    mended = central_equations(graph, normals, rays, outlier_threshold=0.1)
    assert mended.left_out == 0
    assert mended.offset[0, 0] == pytest.approx(-mended.offset[1, 1], rel=1e-12)


@given(SEED, CONNECTIVITY)
def test_impossible_edges_are_left_out_and_counted(seed, connectivity):
    graph, normals, rays, rng = scene(seed, connectivity=connectivity)
    away = rng.random(graph.size) < 0.2
    normals = np.where(away[:, None], -normals, normals)
    normals[rng.random(graph.size) < 0.05] = np.cross(rays[0], [0.0, 1.0, 0.0])
    equations = central_equations(graph, normals, rays)
    count = 0
    for _, nodes, neighbours in graph.edges():
        for a, b in zip(nodes, neighbours, strict=True):
            tau_m = midpoint_rays(rays[a], rays[b], 0.5)
            with np.errstate(all="ignore"):
                ratio = omega(normals[a], normals[b], rays[a], rays[b], tau_m)
            count += not (np.isfinite(ratio) and ratio > 0)
    assert equations.left_out == count
    assert equations.graph.exists.sum() <= graph.exists.sum() - count
    missing = ~equations.graph.exists
    for values in (equations.offset, equations.gamma, equations.gamma_weight):
        assert np.isfinite(values).all()
        assert (values[missing] == 0).all()


def test_grazing_normals_are_left_out_without_a_warning():
    graph = pixel_graph(np.ones((1, 3), dtype=bool))
    rays = np.array([[0.0, 0.0, 1.0], [0.1, 0.0, 1.0], [0.2, 0.0, 1.0]])
    normals = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]])
    equations = central_equations(graph, normals, rays, outlier_threshold=0.1)
    assert equations.left_out == 4
    assert equations.graph.component_count == 3


@given(SEED, CONNECTIVITY, st.sampled_from([0.0, 0.3, *SYMMETRIC_MIDPOINTS]), st.floats(0.01, 10))
def test_orthographic_is_exact_on_planes(seed, connectivity, midpoint, pixel_size):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 7, 8), connectivity)
    normal = facing_normals(rng, np.array([0.0, 0.0, 1.0]), spread=1.0)
    origins = graph.gather(Orthographic(pixel_size).origins(7, 8))
    z = -(origins @ normal) / normal[2]
    equations = orthographic_equations(
        graph, np.broadcast_to(normal, origins.shape), origins, midpoint=midpoint
    )
    assert equations.unknown == "depth"
    difference = np.where(graph.exists, z - z[graph.neighbours], 0.0)
    np.testing.assert_allclose(equations.offset, difference, atol=1e-12 * pixel_size)


@given(SEED, CONNECTIVITY, st.floats(0, 1), st.floats(0.1, 3))
def test_orthographic_is_the_limit_of_a_camera_far_away(seed, connectivity, midpoint, pixel_size):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 6, 7), connectivity)
    normals = facing_normals(rng, np.tile([0.0, 0.0, 1.0], (graph.size, 1)))
    origins = graph.gather(Orthographic(pixel_size).origins(6, 7))
    parallel = orthographic_equations(graph, normals, origins, midpoint=midpoint)
    far = 1e6
    rays = origins / far + (0.0, 0.0, 1.0)
    central = central_equations(graph, normals, rays, midpoint=midpoint)
    # z = far exp(x): differences of log-depth become differences of depth over the distance.
    np.testing.assert_allclose(far * central.offset, parallel.offset, atol=1e-3 * pixel_size)
    np.testing.assert_allclose(central.gamma / far, parallel.gamma, atol=1e-4 / pixel_size)


@given(SEED, CONNECTIVITY, st.sampled_from([None, 20.0]), st.floats(0.1, 3))
def test_orthographic_gamma_follows_its_definition(seed, connectivity, weight_constant, pixel_size):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 5, 6), connectivity)
    normals = facing_normals(rng, np.tile([0.0, 0.0, 1.0], (graph.size, 1)))
    origins = graph.gather(Orthographic(pixel_size).origins(5, 6))
    cosine = np.where(graph.exists, normals[:, 2], 0.0)
    focal = np.where(graph.exists, 1 / pixel_size, 0.0)
    factors: dict[CostFactor, np.ndarray] = {
        "full": focal * cosine,
        "cosine": cosine,
        "focal": focal,
    }
    for factor, expected in factors.items():
        equations = orthographic_equations(
            graph, normals, origins, cost_factor=factor, weight_constant=weight_constant
        )
        weight = focal * cosine if weight_constant is None else weight_constant * cosine
        np.testing.assert_allclose(equations.gamma, expected, rtol=1e-7, err_msg=factor)
        np.testing.assert_allclose(equations.gamma_weight, weight, rtol=1e-7)


@pytest.mark.parametrize("normal", [(1.0, 0.0, 0.0), (0.0, 0.6, 0.8)])
def test_orthographic_leaves_out_what_cannot_be_seen(normal):
    graph = pixel_graph(np.ones((1, 3), dtype=bool))
    normals = np.array([[0.0, 0.0, -1.0], normal, [0.0, 0.0, -1.0]])
    equations = orthographic_equations(graph, normals, Orthographic().origins(1, 3)[0])
    assert equations.left_out == 4
    assert not equations.graph.exists.any()


def test_an_unknown_measure_is_refused():
    with pytest.raises(InputError, match=r"'slant'.*'incidence'"):
        AdaptiveMidpoint("slant")  # type: ignore[arg-type]
