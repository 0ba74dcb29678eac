"""Auxiliary edges: exact on planes, the same from both ends, at corners that all pixels share."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.base import pixel_grid
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.view import View
from rayrelief.formulation.auxiliary_edges import (
    auxiliary_edge_equations,
    corner_rays,
    rise_of_log_depth,
    shared_corners,
)
from rayrelief.graph import STEPS, pixel_graph
from reference.random_maps import facing_normals, plane_depth, random_mask, random_rays

SEED = st.integers(0, 2**32 - 1)
CONNECTIVITY = st.sampled_from([4, "diagonal", 8])
HEIGHT, WIDTH = 7, 9


def central(rays):
    """A view that has nothing but these rays (H, W, 3)."""
    return SimpleNamespace(rays=rays, origins=None, wraps=False)


def back(graph, values):
    """Values (D, N) of the opposite edges."""
    return np.stack([values[d ^ 1, graph.neighbours[d]] for d in range(len(values))])


@given(SEED, CONNECTIVITY, st.booleans())
def test_exact_on_planes(seed, connectivity, unit):
    rng = np.random.default_rng(seed)
    rays = random_rays(rng, HEIGHT, WIDTH, unit=unit)
    graph = pixel_graph(random_mask(rng, HEIGHT, WIDTH), connectivity)
    normal = facing_normals(rng, np.array([0.0, 0.0, 1.0]), 0.4)
    equations = auxiliary_edge_equations(graph, np.tile(normal, (HEIGHT, WIDTH, 1)), central(rays))
    x = np.log(plane_depth(normal, graph.gather(rays)))
    assert equations.unknown == "log-depth"
    assert equations.left_out == 0
    np.testing.assert_allclose(equations.offset, x - x[graph.neighbours], atol=1e-13)


@given(SEED, CONNECTIVITY, st.floats(-12, 9).map(lambda power: 10.0**power))
def test_exact_on_planes_along_parallel_rays(seed, connectivity, pixel_size):
    rng = np.random.default_rng(seed)
    view = View.of(Orthographic(pixel_size), HEIGHT, WIDTH)
    graph = pixel_graph(random_mask(rng, HEIGHT, WIDTH), connectivity)
    normal = facing_normals(rng, np.array([0.0, 0.0, 1.0]), 1.0)
    equations = auxiliary_edge_equations(graph, np.tile(normal, (HEIGHT, WIDTH, 1)), view)
    assert view.origins is not None
    z = -(graph.gather(view.origins) @ normal) / normal[2]
    assert equations.unknown == "depth"
    np.testing.assert_allclose(equations.offset, z - z[graph.neighbours], atol=1e-12 * pixel_size)
    np.testing.assert_allclose(equations.gamma[graph.exists], normal[2] / pixel_size, rtol=1e-6)


@given(SEED, CONNECTIVITY)
def test_an_edge_says_the_same_from_both_ends(seed, connectivity):
    rng = np.random.default_rng(seed)
    rays = random_rays(rng, HEIGHT, WIDTH)
    graph = pixel_graph(random_mask(rng, HEIGHT, WIDTH), connectivity)
    equations = auxiliary_edge_equations(graph, facing_normals(rng, rays, 2.0), central(rays))
    graph = equations.graph  # without what such normals make impossible
    opposite = np.where(graph.exists, back(graph, equations.offset), 0.0)
    np.testing.assert_array_equal(equations.offset, -opposite)


@given(SEED, CONNECTIVITY, st.floats(1e-3, 1e3))
def test_the_length_of_the_rays_does_not_matter(seed, connectivity, length):
    rng = np.random.default_rng(seed)
    rays = random_rays(rng, HEIGHT, WIDTH)
    graph = pixel_graph(random_mask(rng, HEIGHT, WIDTH), connectivity)
    normals = facing_normals(rng, rays)
    usual, scaled = (
        auxiliary_edge_equations(graph, normals, central(r)) for r in (rays, length * rays)
    )
    np.testing.assert_allclose(scaled.offset, usual.offset, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(scaled.gamma, usual.gamma, rtol=1e-6)


@given(SEED)
def test_each_equation_is_the_mean_of_its_corners(seed):
    """With the depth of every pixel at each of its corners, written out."""
    rng = np.random.default_rng(seed)
    rays = random_rays(rng, HEIGHT, WIDTH)
    normals = facing_normals(rng, rays)
    graph = pixel_graph(random_mask(rng, HEIGHT, WIDTH), 8)
    corners = corner_rays(rays)

    def rise(pixel, corner):
        n, (v, u), (i, j) = normals.reshape(-1, 3)[pixel], divmod(pixel, WIDTH), corner
        return np.log((n @ rays[v, u]) / (n @ corners[j, i]))

    equations = auxiliary_edge_equations(graph, normals, central(rays))
    for d, nodes, neighbours in graph.edges():
        for a, b in zip(graph.pixels[nodes], graph.pixels[neighbours], strict=True):
            both = [
                {(u + i, v + j) for i in (0, 1) for j in (0, 1)}
                for v, u in (divmod(int(p), WIDTH) for p in (a, b))
            ]
            shared = both[0] & both[1]
            assert len(shared) == (2 if 0 in graph.steps[d] else 1)
            mean = np.mean([rise(b, corner) - rise(a, corner) for corner in shared])
            node = np.flatnonzero(graph.pixels == a)[0]
            assert equations.offset[d, node] == pytest.approx(mean, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("step", STEPS[8])
def test_a_corner_is_one_place_from_both_sides(step):
    there = {(i - step[0], j - step[1]) for i, j in shared_corners(step)}
    assert there == set(shared_corners((-step[0], -step[1])))


def test_corners_lie_half_a_pixel_from_the_centres():
    camera = Pinhole(9.0, 11.0, 3.2, 4.1)
    expected = camera.directions(pixel_grid(HEIGHT + 1, WIDTH + 1) - 0.5)
    expected /= expected[..., 2:]
    np.testing.assert_allclose(corner_rays(camera.rays(HEIGHT, WIDTH)), expected, atol=1e-14)


def test_the_corners_of_a_panorama_meet_behind_the_camera():
    camera = Equirectangular.full(30, 60)
    corners = corner_rays(camera.rays(30, 60), wraps=True)
    np.testing.assert_allclose(corners[:, 0], corners[:, -1], atol=1e-15)
    between = camera.directions(np.array([[-0.5, 14.5]]))[0]
    np.testing.assert_allclose(np.cross(corners[15, 0], between), 0, atol=1e-12)


@given(SEED, CONNECTIVITY)
def test_a_pixel_without_a_ray_takes_no_neighbour_along(seed, connectivity):
    """The corners around it have no ray: its neighbours meet midway, still exact on a plane."""
    rng = np.random.default_rng(seed)
    rays = random_rays(rng, HEIGHT, WIDTH)
    mask = np.ones((HEIGHT, WIDTH), dtype=bool)
    hole = rng.integers(HEIGHT), rng.integers(WIDTH)
    rays[hole], mask[hole] = np.nan, False
    graph = pixel_graph(mask, connectivity)
    normal = facing_normals(rng, np.array([0.0, 0.0, 1.0]), 0.4)
    equations = auxiliary_edge_equations(graph, np.tile(normal, (HEIGHT, WIDTH, 1)), central(rays))
    x = np.log(plane_depth(normal, graph.gather(rays)))
    assert equations.left_out == 0
    np.testing.assert_allclose(equations.offset, x - x[graph.neighbours], atol=1e-13)


def test_a_plane_that_is_not_seen_at_a_corner_has_no_depth_there():
    n = np.array([[0.8, 0.0, -0.6]])  # seen at the centre, from behind to the right of x = 0.75
    found = [rise_of_log_depth(n, np.array([[0.0, 0.0, 1.0]]), np.array([[x, 0.0, 1.0]])) for x in
             (0.0, 0.375, 0.75, 0.8)]  # fmt: skip
    np.testing.assert_allclose(np.concatenate(found), [0.0, np.log(2), np.nan, np.nan])
