"""Residuals of a formulation on the true depth: zero where it is exact, and as defined."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.accuracy.residuals import formulation_residuals
from profiles import fewer_examples
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.ray_map import RayMap
from rayrelief.errors import InputError
from rayrelief.methods.recipes import BiNI, RayPlane
from rayrelief.scene import Scene
from rayrelief.synthetic import gallery
from reference import edge_loop
from reference.random_maps import facing_normals, random_mask

SEEDS = st.integers(0, 2**32 - 1)


def spreads(residuals):
    return residuals.absolute, residuals.relative_log_depth, residuals.relative_depth


@pytest.mark.parametrize("connectivity", [4, "diagonal", 8])
@pytest.mark.parametrize("degrees", [10.0, 60.0, 120.0])
def test_ray_plane_is_exact_on_planes(connectivity, degrees):
    scene = gallery.plane(20, 26, Pinhole.from_fov(degrees, 20, 26))
    residuals = formulation_residuals(scene, RayPlane(connectivity=connectivity))
    for spread in spreads(residuals):
        assert 0 <= spread.mean < 1e-11
        assert spread.std < 1e-11


def test_two_normals_describe_a_curved_surface_better_than_one():
    scene = gallery.ellipsoid_inside(24, 32)
    pairs = zip(
        spreads(formulation_residuals(scene, RayPlane())),
        spreads(formulation_residuals(scene, BiNI())),
        strict=True,
    )
    for ray_plane, bini in pairs:
        assert 0 < 5 * ray_plane.mean < bini.mean


def test_orders_of_the_two_formulations():
    """Twice the pixels: the residual of an edge falls 8-fold with two normals, 4-fold with one."""
    for method, fall in ((RayPlane(), 8.0), (BiNI(), 4.0)):
        coarse, fine = (
            formulation_residuals(
                gallery.ellipsoid_inside(height, width), method
            ).relative_depth.mean
            for height, width in ((48, 64), (96, 128))
        )
        assert coarse / fine == pytest.approx(fall, rel=0.1)


def random_scene(seed):
    """Normals and a depth that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    height, width = rng.integers(2, 6, 2)
    mask = random_mask(rng, height, width)
    mask[0, :2] = True  # at least one edge
    camera = Pinhole(*rng.uniform(3, 9, 2), *rng.uniform(0, 4, 2))
    normals = facing_normals(rng, camera.rays(height, width))
    depth = np.where(mask, rng.uniform(1.5, 4.0, (height, width)), np.nan)
    return Scene(normals, mask, camera, depth)


@fewer_examples(2)
@given(SEEDS, st.sampled_from([4, "diagonal", 8]), st.sampled_from(["ray_plane", "bini"]))
def test_definitions_against_a_loop_over_pixels(seed, connectivity, formulation):
    scene = random_scene(seed)
    method, edges_of = {
        "ray_plane": (RayPlane(connectivity=connectivity), edge_loop.ray_plane_edges),
        "bini": (BiNI(connectivity=connectivity), edge_loop.bini_edges),
    }[formulation]
    rays = scene.camera.rays(*scene.mask.shape)
    expected: list[list[float]] = [[], [], []]
    assert scene.depth is not None
    for edge in edges_of(scene.mask, scene.normals, rays, connectivity):
        z_a, z_b = scene.depth[edge.a], scene.depth[edge.b]
        offset = edge.target(0.0, 0.0)
        miss = log(z_a) - log(z_b) - offset
        expected[0].append(abs(edge.gamma * miss))
        expected[1].append(abs(miss / log(z_a)))
        expected[2].append(abs((z_a - exp(offset) * z_b) / z_a))
    if not expected[0]:
        with pytest.raises(InputError, match="no equation connects"):
            formulation_residuals(scene, method)
        return
    for spread, values in zip(spreads(formulation_residuals(scene, method)), expected, strict=True):
        assert spread.mean == pytest.approx(np.mean(values), rel=1e-9)
        assert spread.std == pytest.approx(np.std(values), rel=1e-9, abs=1e-12)


def test_length_of_the_normals_does_not_matter():
    scene = gallery.sphere(24, 32)
    longer = replace(scene, normals=3.0 * scene.normals)
    assert formulation_residuals(longer, RayPlane()).absolute.mean == pytest.approx(
        formulation_residuals(scene, RayPlane()).absolute.mean, rel=1e-9
    )


def test_pixels_without_a_true_depth_do_not_matter():
    scene = gallery.sphere(24, 32)
    assert scene.depth is not None
    part = scene.mask.copy()
    part[:, 16:] = False
    cut = replace(scene, mask=part)
    missing = replace(scene, depth=np.where(part, scene.depth, np.nan))
    assert formulation_residuals(cut, BiNI()) == formulation_residuals(missing, BiNI())


def test_scene_without_truth_or_centre():
    scene = gallery.plane(6, 8)
    with pytest.raises(InputError, match=r"'plane'.*depth_gt"):
        formulation_residuals(replace(scene, depth=None), RayPlane())
    with pytest.raises(InputError, match="no central camera"):
        formulation_residuals(replace(scene, camera=Orthographic()), RayPlane())


def test_truth_of_another_kind():
    scene = gallery.plane(6, 8)
    with pytest.raises(InputError, match=r"'distance'.*'z'"):
        formulation_residuals(replace(scene, depth_kind="distance"), RayPlane())


def test_distance_of_rays_all_around():
    """Unit rays beyond 80 degrees off the axis: the same equations, for the distance."""
    v, u = np.mgrid[0:20, 0:40]
    azimuth, polar = (u - 19.5) * np.radians(4.8), (v - 9.5) * np.radians(4.0)
    rays = np.stack(
        (np.sin(azimuth) * np.cos(polar), np.sin(polar), np.cos(azimuth) * np.cos(polar)), axis=-1
    )
    scene = gallery.ellipsoid_inside(20, 40, RayMap(rays))
    assert scene.depth_kind == "distance"
    residuals = [formulation_residuals(scene, method) for method in (RayPlane(), BiNI())]
    assert 5 * residuals[0].relative_depth.mean < residuals[1].relative_depth.mean
