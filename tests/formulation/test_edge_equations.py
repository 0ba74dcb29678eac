"""Equations made block by block are those of a plain evaluation of all edges at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.formulation import bini, edge_equations, ray_plane
from rayrelief.formulation.auxiliary_edges import auxiliary_edge_equations
from rayrelief.formulation.ray_plane import AdaptiveMidpoint
from rayrelief.graph import pixel_graph
from reference.random_maps import facing_normals, random_mask, random_rays

SEED = st.integers(0, 2**32 - 1)
CONNECTIVITY = st.sampled_from([4, "diagonal", 8])
BLOCK = st.sampled_from([1, 5, 64, 1 << 13])
HEIGHT, WIDTH = 9, 11


def scene(seed, connectivity, *, spread=0.5):
    """A random graph with normals and rays (N, 3)."""
    rng = np.random.default_rng(seed)
    rays = random_rays(rng, HEIGHT, WIDTH)
    graph = pixel_graph(random_mask(rng, HEIGHT, WIDTH, density=0.85), connectivity)
    return graph, graph.gather(facing_normals(rng, rays, spread)), graph.gather(rays)


def in_blocks(block, function, *arguments, **options):
    """Call a formulation that looks at so many nodes at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_equations, "NODES_AT_A_TIME", block)
        return function(*arguments, **options)


def on_edges(graph, formula):
    """Values (D, N) of a formula of (step, a, b) on all edges, 0 where there is none."""
    values = np.zeros(graph.neighbours.shape)
    for d, a, b in graph.edges():
        values[d, a] = formula(np.array(graph.steps[d]), a, b)
    return values


def dots(left, right):
    return np.einsum("ni,ni->n", left, right)


def focal_of(graph, points):
    """|u_b - u_a| / |p_b - p_a| of rays or origins p."""
    return on_edges(
        graph,
        lambda step, a, b: np.linalg.norm(step) / np.linalg.norm(points[b] - points[a], axis=1),
    )


def cosine_of(graph, normals, rays):
    """n_a.tau_a on every edge."""
    return on_edges(graph, lambda step, a, b: dots(normals[a], rays[a]))


def assert_terms(equations, offset, gamma, gamma_weight):
    assert equations.left_out == 0
    np.testing.assert_allclose(equations.offset, offset, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(equations.gamma, gamma, rtol=1e-7)
    np.testing.assert_allclose(equations.gamma_weight, gamma_weight, rtol=1e-7)


@given(
    SEED,
    CONNECTIVITY,
    BLOCK,
    st.sampled_from([0.0, 0.5, 0.7, AdaptiveMidpoint("incidence", 3.0)]),
    st.sampled_from(["full", "cosine", "focal"]),
    st.sampled_from([None, 20.0]),
)
def test_central_two_planes(seed, connectivity, block, midpoint, cost_factor, weight_constant):
    graph, n, tau = scene(seed, connectivity)

    def log_omega(step, a, b):
        if isinstance(midpoint, AdaptiveMidpoint):
            steeper = dots(n[a], tau[a]) ** 2 - dots(n[b], tau[b]) ** 2
            lambda_m = 1 / (1 + np.exp(-3.0 * steeper))
        else:
            lambda_m = np.full(len(a), midpoint)
        tau_m = (1 - lambda_m)[:, None] * tau[a] + lambda_m[:, None] * tau[b]
        towards_a = dots(n[a], tau_m) / dots(n[a], tau[a])
        towards_b = dots(n[b], tau_m) / dots(n[b], tau[b])
        return np.log(towards_a / towards_b)

    focal, cosine = focal_of(graph, tau), cosine_of(graph, n, tau)
    in_cost = {"full": focal * cosine, "cosine": cosine, "focal": focal}[cost_factor]
    in_weight = focal * cosine if weight_constant is None else weight_constant * cosine
    equations = in_blocks(
        block,
        ray_plane.central_equations,
        graph,
        n,
        tau,
        midpoint=midpoint,
        cost_factor=cost_factor,
        weight_constant=weight_constant,
    )
    assert_terms(equations, on_edges(graph, log_omega), in_cost, in_weight)
    shared = cost_factor == "full" and weight_constant is None
    assert (equations.gamma_weight is equations.gamma) == shared


@given(SEED, CONNECTIVITY, BLOCK, st.floats(0, 1))
def test_orthographic_two_planes(seed, connectivity, block, midpoint):
    graph, _, _ = scene(seed, connectivity)
    n = facing_normals(np.random.default_rng(seed), np.tile([0.0, 0.0, 1.0], (graph.size, 1)))
    o = graph.gather(Orthographic(0.3, 2.0, 1.0).origins(HEIGHT, WIDTH))

    def difference(step, a, b):
        from_a = dots(n[a], o[b] - o[a]) / n[a, 2]
        from_b = dots(n[b], o[b] - o[a]) / n[b, 2]
        return midpoint * from_a + (1 - midpoint) * from_b

    gamma = focal_of(graph, o) * on_edges(graph, lambda step, a, b: n[a, 2])
    equations = in_blocks(block, ray_plane.orthographic_equations, graph, n, o, midpoint=midpoint)
    assert_terms(equations, on_edges(graph, difference), gamma, gamma)


@given(SEED, CONNECTIVITY, BLOCK)
def test_both_first_order_forms(seed, connectivity, block):
    graph, n, tau = scene(seed, connectivity)
    gamma = focal_of(graph, tau) * cosine_of(graph, n, tau)
    offset = on_edges(graph, lambda step, a, b: dots(n[a], tau[b]) / dots(n[a], tau[a]) - 1.0)
    assert_terms(in_blocks(block, bini.central_equations, graph, n, tau), offset, gamma, gamma)
    o = graph.gather(Orthographic(0.3).origins(HEIGHT, WIDTH))
    gamma = focal_of(graph, o) * on_edges(graph, lambda step, a, b: n[a, 2])
    offset = on_edges(graph, lambda step, a, b: dots(n[a], o[b] - o[a]) / n[a, 2])
    assert_terms(in_blocks(block, bini.orthographic_equations, graph, n, o), offset, gamma, gamma)


def every_formulation(graph, n, tau):
    """Equations of all formulations, also with impossible edges and resampled outliers."""
    o = graph.gather(Orthographic(0.3).origins(HEIGHT, WIDTH))
    yield ray_plane.central_equations(graph, n, tau)
    yield ray_plane.central_equations(
        graph, n, tau, outlier_threshold=0.05, outlier_samples=7, cost_factor="cosine"
    )
    yield ray_plane.orthographic_equations(graph, n, o, midpoint=AdaptiveMidpoint("normal_z"))
    yield bini.central_equations(graph, n, tau)
    yield bini.orthographic_equations(graph, n, o)
    view: Any = SimpleNamespace(rays=graph.scatter(tau), origins=None, wraps=False)
    yield auxiliary_edge_equations(graph, graph.scatter(n), view)
    if len(graph.steps) == 4 and graph.steps[0] == (1, 0):
        yield bini.printed_pinhole_equations(graph, n, Pinhole(30.0, 40.0, 5.0, 4.0))


@given(SEED, CONNECTIVITY, st.integers(1, 40), st.floats(0.3, 3.0))
def test_blocks_leave_no_trace(seed, connectivity, block, spread):
    graph, n, tau = scene(seed, connectivity, spread=spread)
    whole = list(every_formulation(graph, n, tau))
    parts = in_blocks(block, lambda: list(every_formulation(graph, n, tau)))
    for expected, found in zip(whole, parts, strict=True):
        assert found.left_out == expected.left_out
        np.testing.assert_array_equal(found.graph.neighbours, expected.graph.neighbours)
        np.testing.assert_array_equal(found.graph.pixels, expected.graph.pixels)
        missing = ~found.graph.exists
        for name in ("offset", "gamma", "gamma_weight"):
            values = getattr(found, name)
            np.testing.assert_array_equal(values, getattr(expected, name), err_msg=name)
            assert (values[missing] == 0).all(), name


def test_leaving_out_edges_keeps_one_gamma_one():
    graph = pixel_graph(np.ones((1, 3), dtype=bool))
    rays = np.array([[0.0, 0.0, 1.0], [0.1, 0.0, 1.0], [0.2, 0.0, 1.0]])
    normals = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    equations = ray_plane.central_equations(graph, normals, rays)
    assert equations.left_out == 2
    assert equations.gamma_weight is equations.gamma
    other = ray_plane.central_equations(graph, normals, rays, weight_constant=2.0)
    np.testing.assert_array_equal(other.gamma_weight[:, 0], [-2.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "equations_of", [ray_plane.orthographic_equations, bini.orthographic_equations]
)
@pytest.mark.parametrize("pixel_size", [1e-12, 1e9])
def test_parallel_rays_never_coincide_however_small_the_pixels(equations_of, pixel_size):
    graph = pixel_graph(np.ones((2, 2), dtype=bool))
    normals = np.tile([0.6, 0.0, -0.8], (4, 1))
    origins = graph.gather(Orthographic(pixel_size).origins(2, 2))
    equations = equations_of(graph, normals, origins)
    np.testing.assert_allclose(equations.gamma[graph.exists], -0.8 / pixel_size, rtol=1e-7)
    np.testing.assert_allclose(equations.offset[0, 0], -0.75 * pixel_size, rtol=1e-12)
