"""Views of a result: what they hold, that they agree, and that they need little memory."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import rayrelief
from rayrelief import RayPlane, integrate
from rayrelief.cameras import Orthographic, Pinhole
from rayrelief.edge_maps import EdgeMaps
from rayrelief.errors import InputError
from rayrelief.formulation import edge_equations
from rayrelief.io.meshes import write_mesh
from rayrelief.synthetic import GALLERY
from rayrelief.viewer.preview import render_preview

CONNECTIVITIES = [4, "diagonal", 8]


def flat(height, width):
    normals = np.zeros((height, width, 3))
    normals[..., 2] = -1.0
    return normals


@pytest.fixture(scope="module")
def step():
    """Planes at depth 1 and 2, given from the start: the jump is active, and nothing else is."""
    depth = np.where(np.arange(20) < 8, 1.0, 2.0) * np.ones((20, 1))
    method = RayPlane(max_iterations=1, tolerance=None)
    return integrate(flat(20, 20), Pinhole(20.0, 20.0, 9.5, 9.5), start=depth, method=method)


def crowded(method, camera=None, side=60):
    """Surfaces that hide one another, without the corners of the image."""
    scene = GALLERY["crowd"](side, side, camera)
    v, u = np.indices((side, side)) - (side - 1) / 2
    mask = scene.mask & (np.hypot(v, u) < 0.6 * side)
    return integrate(scene.normals, scene.camera, mask=mask, method=method, on_failure="return")


def edge_maps(result):
    """Values of all maps of edges that a result has."""
    maps = [result.weights, result.activation, result.jumps]
    maps += [result.relative_jumps] if result.camera.central else []
    return [one.values for one in maps]


def test_smallest_and_largest_leave_out_missing_edges():
    values = np.array([[[np.nan, 3.0]], [[np.nan, -5.0]], [[np.nan, np.nan]], [[np.nan, 4.0]]])
    maps = EdgeMaps(((1, 0), (-1, 0), (0, 1), (0, -1)), values)
    np.testing.assert_array_equal(maps.smallest(), [[np.nan, -5.0]])
    np.testing.assert_array_equal(maps.largest(), [[np.nan, 5.0]])
    np.testing.assert_array_equal(maps.towards(-1, 0), [[np.nan, -5.0]])


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
@pytest.mark.parametrize("camera", [None, Orthographic(0.02)], ids=["central", "parallel"])
def test_maps_of_edges_do_not_depend_on_the_blocks(monkeypatch, camera, connectivity):
    result = crowded(RayPlane(max_iterations=3, connectivity=connectivity), camera, side=24)
    whole = edge_maps(result)
    monkeypatch.setattr(edge_equations, "NODES_AT_A_TIME", 7)
    for values, expected in zip(edge_maps(replace(result)), whole, strict=True):
        np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
@pytest.mark.parametrize("camera", [None, Orthographic(0.02)], ids=["central", "parallel"])
def test_active_jumps_are_the_largest_of_those_that_the_activation_marks(camera, connectivity):
    result = crowded(RayPlane(max_iterations=4, connectivity=connectivity), camera)
    expected = np.where(result.mask, 0.0, np.nan)
    for v, u in np.argwhere(result.mask):
        for du, dv in result.jumps.steps[::2]:
            if np.isnan(result.jumps.towards(du, dv)[v, u]):
                continue
            beta, size = (
                max(abs(maps.towards(du, dv)[v, u]), abs(maps.towards(-du, -dv)[v + dv, u + du]))
                for maps in (result.activation, result.jumps)
            )
            if beta > 0.5:
                expected[v, u] = max(expected[v, u], size)
    assert (expected > 0).any()
    np.testing.assert_array_equal(result.active_jumps(), expected)


def test_active_jumps_hold_a_known_step_and_nothing_else(step):
    jumps = step.active_jumps()
    marked = np.zeros((20, 20), dtype=bool)
    marked[:, 7] = True
    np.testing.assert_array_equal(jumps > 0, marked)
    # Both planes face the camera, and along any ray they are as far apart as their depths.
    np.testing.assert_allclose(jumps[marked], np.median(step.depth[:, 8:]) / 2, rtol=1e-2)


def test_cuts_are_where_the_activation_is_above_one_half(step):
    active = step.activation.values > 0.5
    exists = np.isfinite(step.activation.values)
    np.testing.assert_array_equal(step.cuts.values[exists] == 1, active[exists])
    assert active.any()


@pytest.mark.parametrize("cut", [-1.0, float("nan"), np.array(2.0)])
def test_a_rule_of_cuts_that_makes_no_sense_is_refused(step, cut):
    with pytest.raises(InputError, match="cut"):
        step.mesh(cut=cut)


def test_a_mesh_is_made_once_for_each_rule(step):
    assert step.mesh() is step.mesh()
    assert step.mesh(cut=3.0) is not step.mesh()


def test_a_plane_has_no_jumps():
    result = integrate(flat(12, 12), Orthographic(), method=RayPlane(max_iterations=3))
    assert (result.active_jumps() == 0).all()


def test_a_curved_surface_has_no_jumps_away_from_its_rim():
    scene = GALLERY["sphere"](48, 48)
    method = RayPlane(max_iterations=20, tolerance=None)
    result = integrate(scene.normals, scene.camera, mask=scene.mask, method=method)
    v, u = np.indices((48, 48)) - 23.5
    middle = np.hypot(v, u) < 0.7 * np.sqrt(result.mask.sum() / np.pi)
    assert (result.active_jumps()[middle] == 0).all()


@pytest.fixture(scope="module")
def large():
    """A result large enough for blocks to be small beside it."""
    return crowded(RayPlane(max_iterations=2), side=400)


VIEWS = {
    "mesh": lambda result, _: result.mesh(),
    "normals": lambda result, _: result.normals(),
    "mean_angle": lambda result, _: result.mean_angle(),
    "weights": lambda result, _: result.weights.smallest(),
    "activation": lambda result, _: result.activation.largest(),
    "jumps": lambda result, _: result.jumps.largest(),
    "relative_jumps": lambda result, _: result.relative_jumps.largest(),
    "active_jumps": lambda result, _: result.active_jumps(),
    "ply": lambda result, folder: write_mesh(folder / "mesh.ply", result.mesh()),
    "preview": lambda result, _: render_preview(result, height=64),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_needs_less_memory_than_the_result_holds(tmp_path, large, view):
    def afresh():
        """Return the result as it was before anything was asked of it."""
        problem = replace(large._problem, view=large._problem.view.unused())
        return replace(large, _problem=problem)

    view(afresh(), tmp_path)  # imports and compiles
    result = afresh()
    tracemalloc.start()
    try:
        view(result, tmp_path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak / large.depth.size < 160, "bytes per pixel beyond the result"


class Told:
    """A method that returns its start and decides nothing."""

    def solve(self, problem, backend, callback=None):
        return rayrelief.methods.Solution(problem.start)


def test_where_a_method_decides_nothing_the_size_of_a_jump_does():
    depth = np.where(np.arange(20) < 8, 1.0, 2.0) * np.ones((20, 1))
    result = integrate(flat(20, 20), Pinhole(20.0, 20.0, 9.5, 9.5), start=depth, method=Told())
    marked = np.zeros((20, 20), dtype=bool)
    marked[:, 7] = True
    np.testing.assert_array_equal(result.active_jumps() > 0, marked)
    assert len(result.mesh().faces) == 2 * 19 * 18, "one column of blocks is cut"


def test_a_result_is_evidence():
    result = integrate(flat(5, 6), Orthographic(), method=RayPlane(max_iterations=1))
    mesh = result.mesh()
    arrays = (result.depth, mesh.vertices, mesh.faces, result.weights.values, result.input_normals)
    assert not any(array.flags.writeable for array in arrays)
