"""Weights, activation and the cancelled form of the paper's right-hand side."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.discontinuity import jump_sizes, relative_jump
from rayrelief.formulation.ray_plane import (
    central_equations,
    omega,
    omega_eps,
    orthographic_equations,
)
from rayrelief.graph import pixel_graph
from rayrelief.methods.edge_terms import (
    activation,
    bilateral_weights,
    blended_log_offset,
    blended_offset,
)
from reference.random_maps import facing_normals, random_mask, random_rays

SEED = st.integers(0, 2**32 - 1)
UNIT = st.floats(0, 1)
Q, RHO = 50.0, 0.25


@given(st.floats(-3, 3), st.floats(0.2, 5), UNIT, st.floats(0.01, 20), st.booleans())
def test_the_cancelled_form_is_the_papers(difference, ratio, beta, ratio_eps, negative):
    ratio_eps = -ratio_eps if negative else ratio_eps
    alpha = relative_jump(difference, ratio, ratio_eps)
    assert alpha == pytest.approx((math.exp(difference) - ratio) / ratio_eps)
    printed = math.log(ratio + ratio_eps * alpha * beta)
    cancelled = blended_log_offset(difference, math.log(ratio), beta)
    assert cancelled == pytest.approx(printed, rel=1e-9, abs=1e-12)


@given(
    st.floats(-300, 300),
    st.floats(-300, 300),
    st.floats(-5, 5),
    st.one_of(UNIT, st.sampled_from([0.0, 1.0, 1 - 1e-16, 5e-324])),
)
def test_huge_differences_stay_finite(x_a, x_b, log_omega, beta):
    offset = blended_log_offset(x_a - x_b, log_omega, beta)
    assert math.isfinite(offset)
    low, high = sorted((x_a - x_b, log_omega))
    slack = 1e-12 * (1 + abs(low) + abs(high))
    assert low - slack <= offset <= high + slack, "a mean of the two lies between them"


@given(st.floats(-30, 30), st.floats(-5, 5))
def test_the_blend_ends_in_the_smooth_offset_and_in_the_present_difference(difference, smooth):
    for blend in (blended_log_offset, blended_offset):
        assert blend(difference, smooth, 0.0) == pytest.approx(smooth, rel=1e-12, abs=1e-12)
        assert blend(difference, smooth, 1.0) == pytest.approx(difference, rel=1e-9, abs=1e-9)


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), UNIT)
def test_the_linear_blend_is_a_mean(difference, smooth, beta):
    mean = (1 - beta) * smooth + beta * difference
    assert blended_offset(difference, smooth, beta) == pytest.approx(mean, rel=1e-12, abs=1e-9)


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.floats(0, 10))
def test_opposite_weights_sum_to_one_and_swap(res_b, res_opposite, k):
    there, back = bilateral_weights(res_b, res_opposite, k)
    assert there + back == pytest.approx(1, abs=1e-15)
    assert bilateral_weights(res_opposite, res_b, k) == (back, there)
    assert bilateral_weights(-res_b, res_opposite, k) == (there, back)
    if k * (res_opposite**2 - res_b**2) > 1e-12:
        assert there > back, "the neighbour with the smaller residual gets the larger weight"


@given(st.floats(0, 18), st.floats(0, 18), st.floats(0.1, 2))
def test_small_weights_keep_their_relative_accuracy(res_b, res_opposite, k):
    t = k * (res_opposite**2 - res_b**2)
    there, back = bilateral_weights(res_b, res_opposite, k)
    # For either sign of t this form of the sigmoid loses nothing, down to 1e-280.
    assert there == pytest.approx(np.exp(-np.logaddexp(0, -t)), rel=1e-12)
    assert back == pytest.approx(np.exp(-np.logaddexp(0, t)), rel=1e-12)


def test_no_sharpness_weights_all_edges_alike():
    assert bilateral_weights(123.0, 0.5, 0.0) == (0.5, 0.5)


def test_limits_of_the_activation():
    assert activation(RHO, Q, RHO) == 0.5
    assert activation(0.0, Q, RHO) == pytest.approx(1 / (1 + math.exp(-12.5)), rel=1e-12)
    assert activation(0.5, Q, RHO) == pytest.approx(math.exp(-12.5), rel=1e-5)
    assert 0 < activation(1.0, Q, RHO) < 1e-16
    assert activation(0.0, 1e9, RHO) == 1
    assert 0 <= activation(1.0, 1e9, RHO) < 1e-300


@given(UNIT, UNIT, st.floats(0, 200), UNIT)
def test_the_activation_falls_as_the_weight_grows(first, second, q, rho):
    low, high = sorted((first, second))
    assert 1 >= activation(low, q, rho) >= activation(high, q, rho) >= 0


@given(SEED, st.sampled_from([4, "diagonal", 8]), st.booleans())
def test_jumps_close_the_gap_along_the_ray_in_between(seed, connectivity, unit):
    rng = np.random.default_rng(seed)
    rays = random_rays(rng, 6, 7, unit=unit)
    graph = pixel_graph(random_mask(rng, 6, 7), connectivity)
    normals, rays = graph.gather(facing_normals(rng, rays)), graph.gather(rays)
    equations = central_equations(graph, normals, rays)
    assert equations.left_out == 0
    x = rng.normal(size=graph.size)
    jumps = jump_sizes(equations, x, normals, rays)
    assert (jumps[~graph.exists] == 0).all()
    for d, a, b in graph.edges():
        middle = (rays[a] + rays[b]) / 2
        on_a, on_b = (
            np.exp(x[i]) * np.sum(normals[i] * rays[i], 1) / np.sum(normals[i] * middle, 1)
            for i in (a, b)
        )
        # Where the planes of a and b cross the ray in between, in units of that ray.
        np.testing.assert_allclose(jumps[d, a], on_a - on_b, rtol=1e-9, atol=1e-12)
        # The paper's alpha is another view of the same jump.
        ratio = omega(normals[a], normals[b], rays[a], rays[b], middle)
        alpha = relative_jump(x[a] - x[b], ratio, omega_eps(normals[a], rays[a]))
        along_z = jumps[d, a] / np.exp(x[b])
        along_z *= np.sum(normals[a] * middle, axis=1) / normals[a, 2]
        np.testing.assert_allclose(along_z, alpha, rtol=1e-8, atol=1e-12)


@given(SEED)
def test_orthographic_jumps_are_differences_of_depth(seed):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 5, 6))
    normals = facing_normals(rng, np.tile([0.0, 0.0, 1.0], (graph.size, 1)))
    v, u = np.divmod(graph.pixels, 6)
    origins = np.stack((u, v, np.zeros_like(u)), axis=-1).astype(float)
    rays = np.tile([0.0, 0.0, 1.0], (graph.size, 1))
    equations = orthographic_equations(graph, normals, origins)
    z = rng.normal(size=graph.size)
    jumps = jump_sizes(equations, z, normals, rays)
    for d, a, b in graph.edges():
        middle = (origins[a] + origins[b]) / 2
        on_a, on_b = (
            z[i] - np.sum(normals[i] * (middle - origins[i]), 1) / normals[i, 2] for i in (a, b)
        )
        np.testing.assert_allclose(jumps[d, a], on_a - on_b, rtol=1e-9, atol=1e-12)


def test_a_level_floor_has_jumps_although_alpha_has_a_pole():
    graph = pixel_graph(np.ones((2, 1), dtype=bool))
    rays = np.array([[0.0, 0.5, 1.0], [0.0, 0.6, 1.0]])
    normals = np.tile([0.0, -1.0, 0.0], (2, 1))
    x = -np.log(rays[:, 1])  # on the floor y = 1
    np.testing.assert_allclose(
        jump_sizes(central_equations(graph, normals, rays), x, normals, rays), 0, atol=1e-14
    )
