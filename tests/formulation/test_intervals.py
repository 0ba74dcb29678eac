"""Intervals: none on planes, ridges on bodies, valleys in hollows, and what is in front."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.fisheye import Equidistant
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.view import View
from rayrelief.formulation import edge_equations
from rayrelief.formulation.intervals import (
    EXACT,
    NOISELESS,
    agreeing_average,
    interval_equations,
)
from rayrelief.graph import pixel_graph
from rayrelief.methods.ordered.recipe import Ordered
from rayrelief.pieces import NODES_PER_THREAD, threads_for
from rayrelief.problem import assemble
from rayrelief.synthetic import GALLERY, render, with_extended_errors, with_rotation_noise
from rayrelief.synthetic.shapes import Plane, Sphere
from reference.random_maps import facing_normals, plane_depth, random_mask, random_rays

SEED = st.integers(0, 2**32 - 1)
CONNECTIVITY = st.sampled_from([4, "diagonal", 8])
HEIGHT, WIDTH = 9, 11
CAMERAS = {
    "pinhole": Pinhole(60.0, 60.0, 31.5, 23.5),
    "fisheye, 200 degrees": Equidistant(64 / np.radians(200), 64 / np.radians(200), 31.5, 23.5),
    "orthographic": Orthographic(0.05),
}


def central(rays):
    """A view that has nothing but these rays (H, W, 3)."""
    return SimpleNamespace(rays=rays, origins=None, wraps=False)


def equations_of(scene, normals=None, **settings) -> Any:
    given = scene.normals if normals is None else normals
    return assemble(given, scene.camera, mask=scene.mask, method=Ordered(**settings)).equations


def residuals(equations, scene):
    """Of the true depth, in pixels, (D / 2, N)."""
    graph = equations.graph
    depth = graph.gather(scene.depth)
    x = np.log(depth) if equations.unknown == "log-depth" else depth
    return (x - x[graph.neighbours[::2]] - equations.offset) * equations.gamma


@given(SEED, CONNECTIVITY, st.booleans())
def test_a_plane_leaves_no_room(seed, connectivity, unit):
    rng = np.random.default_rng(seed)
    rays = random_rays(rng, HEIGHT, WIDTH, unit=unit)
    graph = pixel_graph(random_mask(rng, HEIGHT, WIDTH), connectivity)
    normal = facing_normals(rng, np.array([0.0, 0.0, 1.0]), 0.4)
    equations = interval_equations(graph, np.tile(normal, (HEIGHT, WIDTH, 1)), central(rays))
    x = np.log(plane_depth(normal, graph.gather(rays)))
    for d, there in enumerate(graph.neighbours):
        np.testing.assert_allclose(equations.offset_of(d), x - x[there], rtol=6e-8, atol=1e-13)
        np.testing.assert_array_equal(equations.gamma_of(d) > 0, graph.exists[d])
    np.testing.assert_allclose(equations.half_width, 0.0, atol=1e-4)


@given(SEED, CONNECTIVITY)
def test_a_plane_seen_along_parallel_rays_leaves_none_at_all(seed, connectivity):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, HEIGHT, WIDTH), connectivity)
    normal = facing_normals(rng, np.array([0.0, 0.0, 1.0]), 1.0)
    view = View.of(Orthographic(0.3), HEIGHT, WIDTH)
    equations = interval_equations(graph, np.tile(normal, (HEIGHT, WIDTH, 1)), view)
    np.testing.assert_allclose(equations.half_width, 0.0, atol=1e-4)
    exists = equations.graph.exists[::2]
    np.testing.assert_allclose(equations.sigma[exists], EXACT, rtol=1e-5)
    assert equations.noise < 1e-6


@given(SEED, CONNECTIVITY)
def test_the_length_of_rays_does_not_matter(seed, connectivity):
    rng = np.random.default_rng(seed)
    rays = random_rays(rng, HEIGHT, WIDTH)
    graph = pixel_graph(random_mask(rng, HEIGHT, WIDTH), connectivity)
    normals = facing_normals(rng, rays, 0.4)
    scaled = rays * rng.uniform(0.5, 2.0, (HEIGHT, WIDTH, 1))
    one, other = (
        interval_equations(graph, normals, central(along), noise=0.0) for along in (rays, scaled)
    )
    # Where a jump grows is told by the equations, whose middle between two pixels follows the rays.
    names = ("lead", "sigma", "gamma") + (("half_width",) if connectivity == "diagonal" else ())
    for name in names:
        first, second = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("camera", CAMERAS.values(), ids=CAMERAS)
def test_a_body_is_all_ridges_and_the_truth_within(camera):
    body = render([Sphere((0.1, -0.05, 4.0), 1.2)], camera, 48, 64)
    equations = equations_of(body, noise=0.0)
    exists = equations.graph.exists[::2]
    assert exists.sum() > 200
    assert (equations.half_width[exists] < 1e-3).all()
    within = np.abs(residuals(equations, body)) <= 1.1 * np.abs(equations.half_width) + 0.02
    assert within[exists].all()


def test_a_hollow_is_all_valleys():
    hollow = GALLERY["ellipsoid_inside"](48, 64, camera=CAMERAS["fisheye, 200 degrees"])
    equations = equations_of(hollow)
    assert (equations.half_width[equations.graph.exists[::2]] > -1e-3).all()


@pytest.mark.parametrize("camera", CAMERAS.values(), ids=CAMERAS)
def test_what_turns_away_is_in_front(camera):
    wall = Plane(point=(0.0, 0.0, 5.0), normal=(0.1, 0.0, -1.0))
    scene = render([Sphere((0.0, 0.0, 3.0), 0.8), wall], camera, 48, 64)
    equations = equations_of(scene)
    jump = residuals(equations, scene)
    large = np.abs(jump) > np.abs(equations.half_width) + 3.0
    assert large.sum() > 50
    in_front = np.sign(equations.lead[large]) == -np.sign(jump[large])
    assert in_front.mean() > 0.99
    assert (equations.half_width[large] > 0).mean() > 0.99, "and jumps look like valleys"


def test_noise_is_averaged_and_an_edge_is_not():
    rng = np.random.default_rng(0)
    noise = np.radians(1.0)
    true = np.where(np.arange(40)[:, None] < 20, (0.0, 0.0, -1.0), (0.3, 0.0, -np.sqrt(0.91)))
    true = np.tile(true, (30, 1, 1))
    noisy = true + rng.normal(0.0, noise, true.shape)
    noisy /= np.linalg.norm(noisy, axis=-1, keepdims=True)
    graph = pixel_graph(np.ones((30, 40), dtype=bool), 8)
    average = graph.scatter(agreeing_average(graph, graph.gather(noisy), noise))
    off = np.linalg.norm(average - true, axis=-1)
    assert off.mean() < 0.6 * np.linalg.norm(noisy - true, axis=-1).mean()
    assert off[:, 18:22].max() < 4 * noise, "beside the edge as elsewhere"


@pytest.mark.parametrize("degrees", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("name", ["tent", "crowd"])
def test_noise_is_told_from_loops_and_not_from_jumps(name, degrees):
    scene = GALLERY[name](96, 128)
    assert np.degrees(equations_of(scene).noise) < 0.05
    noisy = with_rotation_noise(scene.normals, degrees, np.random.default_rng(5))
    equations = equations_of(scene, noisy)
    # A rotation about a random axis turns a normal about each of its own by the root of a third.
    assert np.degrees(equations.noise) == pytest.approx(degrees / np.sqrt(3), rel=0.15)


@pytest.mark.parametrize("name", ["vase", "crowd"])
def test_errors_that_extend_count_as_what_they_add_up_to(name):
    scene = GALLERY[name](120, 160)
    turned = with_extended_errors(scene.normals, 3.0, 10.0, np.random.default_rng(5))
    assert 2.0 < np.degrees(equations_of(scene, turned).noise) < 9.0


def test_noise_does_not_pass_for_width():
    flat = GALLERY["plane"](96, 128)
    noisy = with_rotation_noise(flat.normals, 6.0, np.random.default_rng(5))
    told, untold = equations_of(flat, noisy), equations_of(flat, noisy, noise=0.0)
    assert np.median(np.abs(told.half_width)) < 0.5 * np.median(np.abs(untold.half_width))
    exists = told.graph.exists[::2]
    actual = residuals(told, flat)[exists]
    assert np.median(np.abs(actual / told.sigma[exists])) == pytest.approx(0.6745, rel=0.25)


def test_averaging_takes_noise_off_planes_and_keeps_their_crease():
    noise = np.radians(2.0) / np.sqrt(3)  # about each axis
    roof = np.where(np.arange(40)[:, None] < 20, [0.6, 0.0, -0.8], [-0.6, 0.0, -0.8])
    exact = np.tile(roof, (30, 1, 1))
    noisy = with_rotation_noise(exact, 2.0, np.random.default_rng(0))
    graph = pixel_graph(np.ones((30, 40), dtype=bool), 8)
    true, raw = graph.gather(exact), graph.gather(noisy)
    mean_square = [
        np.mean(np.sum((normals - true) ** 2, axis=-1))
        for normals in (raw, agreeing_average(graph, raw, noise))
    ]
    assert mean_square[1] < 0.3 * mean_square[0], "of nine samples, at the crease of six"


def test_weights_hardly_follow_the_noise_of_their_own_normals():
    slope = render([Plane((0.0, 0.0, 5.0), (0.8, 0.0, -0.6))], CAMERAS["orthographic"], 40, 50)
    noisy = with_rotation_noise(slope.normals, 5.0, np.random.default_rng(0))
    equations = equations_of(slope, noisy, noise=5.0 / np.sqrt(3))
    across = equations.graph.exists[0]
    too_steep = residuals(equations, slope)[0, across] * np.sign(-equations.offset[0, across])
    weights = equations.sigma[0, across] ** -2.0
    plain, weighted = np.mean(too_steep), np.average(too_steep, weights=weights)
    assert abs(weighted - plain) < 0.12 * np.std(too_steep)


@pytest.mark.parametrize("degrees", [2.0, 10.0])
def test_noise_makes_no_valleys_on_a_plane(degrees):
    slope = render([Plane((0.0, 0.0, 5.0), (0.8, 0.0, -0.6))], CAMERAS["orthographic"], 40, 50)
    noisy = with_rotation_noise(slope.normals, degrees, np.random.default_rng(0))
    equations = equations_of(slope, noisy)
    exists = equations.graph.exists[::2]
    assert np.median(np.abs(equations.half_width[exists])) == 0.0
    assert np.mean(np.abs(equations.half_width[exists]) > equations.sigma[exists]) < 0.1


def test_pieces_and_threads_leave_no_trace(monkeypatch):
    scene = GALLERY["still_life"](60, 80)
    noisy = with_rotation_noise(scene.normals, 2.0, np.random.default_rng(1))
    whole = equations_of(scene, noisy)
    assert whole.noise > NOISELESS, "normals are averaged"
    monkeypatch.setattr(edge_equations, "NODES_AT_A_TIME", 7)
    with threads_for(scene.mask.sum() * NODES_PER_THREAD, 2):
        parts = equations_of(scene, noisy)
    for name in ("offset", "gamma", "half_width", "sigma", "lead", "noise"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name), err_msg=name)
