"""BiNI's two forms agree where they should, and are exact to first order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.ray_map import RayMap
from rayrelief.cameras.view import View
from rayrelief.errors import InputError
from rayrelief.formulation import ray_plane
from rayrelief.formulation.bini import (
    central_equations,
    orthographic_equations,
    printed_pinhole_equations,
)
from rayrelief.graph import pixel_graph
from rayrelief.methods.recipes import BiNI
from reference.random_maps import facing_normals, plane_depth, random_mask, random_rays

SEED = st.integers(0, 2**32 - 1)
FOCAL = st.floats(5, 5000)


@given(SEED, FOCAL, st.floats(-10, 20), st.floats(-10, 20))
def test_the_forms_agree_for_square_pixels(seed, focal, cx, cy):
    rng = np.random.default_rng(seed)
    camera = Pinhole(focal, focal, cx, cy)
    rays = camera.rays(7, 8)
    graph = pixel_graph(random_mask(rng, 7, 8))
    normals = graph.gather(facing_normals(rng, rays, 0.3))
    from_rays = central_equations(graph, normals, graph.gather(rays))
    printed = printed_pinhole_equations(graph, normals, camera)
    np.testing.assert_allclose(from_rays.gamma, printed.gamma, rtol=1e-6)
    np.testing.assert_allclose(from_rays.offset, printed.offset, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(printed.gamma, printed.gamma_weight)


@given(SEED, FOCAL, FOCAL, st.floats(-10, 20), st.floats(-10, 20))
def test_the_printed_form_is_the_print(seed, fx, fy, cx, cy):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 6, 5))
    normals = facing_normals(rng, np.tile([0.0, 0.0, 1.0], (graph.size, 1)))
    equations = printed_pinhole_equations(graph, normals, Pinhole(fx, fy, cx, cy))
    for d, nodes, neighbours in graph.edges():
        for a, b in zip(nodes, neighbours, strict=True):
            (v_a, u_a), (v_b, u_b) = (divmod(int(graph.pixels[i]), 5) for i in (a, b))
            n_x, n_y, n_z = normals[a]
            delta = {(0, 1): n_x, (0, -1): -n_x, (1, 0): n_y, (-1, 0): -n_y}[v_b - v_a, u_b - u_a]
            gamma = n_x * (u_a - cx) + n_y * (v_a - cy) + n_z * (fx if v_a == v_b else fy)
            assert equations.gamma[d, a] == pytest.approx(gamma, rel=1e-7)
            assert equations.offset[d, a] * gamma == pytest.approx(delta, rel=1e-9)


@given(SEED, st.sampled_from([4, "diagonal", 8]))
def test_exact_on_planes_parallel_to_the_image(seed, connectivity):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 7, 8), connectivity)
    rays = graph.gather(random_rays(rng, 7, 8))
    normals = np.tile([0.0, 0.0, -1.0], (graph.size, 1))
    np.testing.assert_array_equal(central_equations(graph, normals, rays).offset, 0.0)


def worst_error(refinement, equations_of):
    """Largest error of the difference of log-depth on a slanted plane, for a refined pixel grid."""
    size = 8 * refinement
    rays = Pinhole(8.0 * refinement, 8.0 * refinement, size / 2, size / 2).rays(size, size)
    graph = pixel_graph(np.ones((size, size), dtype=bool))
    normal = np.array([0.3, -0.4, -1.0]) / np.linalg.norm([0.3, -0.4, -1.0])
    nodes = graph.gather(rays)
    x = np.log(plane_depth(normal, nodes))
    offset = equations_of(graph, np.broadcast_to(normal, nodes.shape), nodes).offset
    return np.abs(offset - (x - x[graph.neighbours]))[graph.exists].max()


def test_first_order_on_slanted_planes_where_two_planes_are_exact():
    errors = [worst_error(refinement, central_equations) for refinement in (2, 4, 8)]
    # The error of one edge is of second order: four times smaller on a grid twice as fine.
    np.testing.assert_allclose([errors[0] / errors[1], errors[1] / errors[2]], 4, rtol=0.2)
    assert worst_error(4, ray_plane.central_equations) < 1e-14


@given(SEED, st.floats(0.01, 10), st.sampled_from([4, "diagonal", 8]))
def test_orthographic_is_exact_on_planes(seed, pixel_size, connectivity):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 6, 7), connectivity)
    normal = facing_normals(rng, np.array([0.0, 0.0, 1.0]), spread=1.0)
    origins = graph.gather(Orthographic(pixel_size).origins(6, 7))
    z = -(origins @ normal) / normal[2]
    equations = orthographic_equations(graph, np.broadcast_to(normal, origins.shape), origins)
    assert equations.unknown == "depth"
    np.testing.assert_allclose(equations.offset, z - z[graph.neighbours], atol=1e-12 * pixel_size)
    np.testing.assert_allclose(equations.gamma[graph.exists], normal[2] / pixel_size, rtol=1e-7)


CAMERAS = {
    "RayMap": RayMap(Pinhole(9.0, 9.0, 2.0, 2.0).rays(5, 5)),
    "BrownConrady": BrownConrady(9.0, 9.0, 2.0, 2.0),
}


@pytest.mark.parametrize("name", CAMERAS)
def test_the_printed_form_is_refused_for_other_cameras(name):
    graph = pixel_graph(np.ones((5, 5), dtype=bool))
    view = View.of(CAMERAS[name], 5, 5)
    normals = np.tile([0.0, 0.0, -1.0], (5, 5, 1))
    with pytest.raises(InputError, match=rf"{name}.*form='rays'"):
        BiNI(form="printed").equations(graph, normals, view)


@pytest.mark.parametrize("connectivity", ["diagonal", 8])
def test_the_printed_form_is_refused_for_diagonal_neighbours(connectivity):
    graph = pixel_graph(np.ones((5, 5), dtype=bool), connectivity)
    view = View.of(Pinhole(9.0, 9.0, 2.0, 2.0), 5, 5)
    normals = np.tile([0.0, 0.0, -1.0], (5, 5, 1))
    with pytest.raises(InputError, match=rf"connectivity {connectivity}.*4"):
        BiNI(form="printed", connectivity=connectivity).equations(graph, normals, view)


def test_an_equation_without_weight_says_nothing():
    graph = pixel_graph(np.ones((1, 2), dtype=bool))
    rays = np.array([[0.0, 0.0, 1.0], [0.1, 0.0, 1.0]])
    equations = central_equations(graph, np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]), rays)
    assert equations.gamma[0, 0] == 0
    assert equations.offset[0, 0] == 0
