"""Small planes with few jumps: exact where nothing jumps, and jumps where something does."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.speed.cameras import ELLIPSOID_LIMIT, HEIGHT, WAVY_LIMIT, WIDTH, cameras, outcome
from rayrelief.backends import CPU
from rayrelief.cameras import BrownConrady, Equidistant, Orthographic, Pinhole
from rayrelief.errors import InputError, Outcome
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.integration import integrate
from rayrelief.laws import SparseJumps
from rayrelief.methods import AuxiliaryEdges, Iteration
from rayrelief.preprocess import Preprocessing
from rayrelief.result import Integration
from rayrelief.scene import Scene
from rayrelief.solvers import Multigrid
from rayrelief.synthetic import gallery
from rayrelief.synthetic.surroundings import wavy_relief

METHOD = AuxiliaryEdges()
EVERYWHERE = cameras()
SMALL = {
    "Pinhole": Pinhole(45.0, 50.0, 18.0, 22.0),
    "BrownConrady": BrownConrady(46.0, 47.0, 19.0, 18.0, k1=-0.25, k2=0.04, p1=2e-3, p2=-3e-3),
    "Equidistant": Equidistant(30.0, 30.0, 19.0, 18.0),
    "Orthographic": Orthographic(0.1, 20.0, 18.0),
}


def percent(scene: Scene, result: Integration) -> float:
    """Mean relative error."""
    assert scene.depth is not None
    return depth_errors(result.depth, scene.depth, "scale").re


def run(scene, method=METHOD, **options):
    return integrate(scene.normals, scene.camera, mask=scene.mask, method=method, **options)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("connectivity", [4, 8])
def test_a_plane_comes_back_through_every_camera(name, connectivity):
    camera = SMALL[name]
    scene = gallery.plane(36, 40, camera)
    assert scene.depth is not None
    method = AuxiliaryEdges(connectivity=connectivity, solver=Multigrid(rtol=1e-10))
    result = run(scene, method)
    assert result.status.outcome is Outcome.CONVERGED
    inside = scene.mask
    if camera.central:
        error = np.log(result.depth[inside] / scene.depth[inside])
    else:
        error = result.depth[inside] - scene.depth[inside]
    np.testing.assert_allclose(error, np.median(error), atol=1e-8)
    assert not np.nanmax(result.cuts.values)


@pytest.mark.parametrize("name", EVERYWHERE)
def test_a_round_room_comes_back_through_every_camera(name):
    scene = gallery.ellipsoid_inside(HEIGHT, WIDTH, EVERYWHERE[name])
    assert outcome(scene, scene.camera, METHOD).mean < ELLIPSOID_LIMIT


def test_a_relief_comes_back_through_parallel_rays():
    scene = wavy_relief(HEIGHT, WIDTH)
    assert outcome(scene, scene.camera, METHOD).mean < WAVY_LIMIT


def test_a_sphere_comes_back_without_jumps_but_at_its_rim():
    scene = gallery.sphere(120, 120)
    result = run(scene)
    assert percent(scene, result) < 0.1
    cosine = -np.sum(scene.camera.unit_rays(120, 120) * scene.normals, axis=-1)
    inner = cosine > np.cos(np.radians(75))
    assert not np.nanmax(result.cuts.values[:, inner])


def test_a_flap_is_cut_where_it_jumps_and_nowhere_else():
    """A flat sheet with a flap, folded at row 24.5, that jumps by up to 7 pixels at column 19.5."""
    v, u = np.mgrid[:40, :60]
    flap, slope = (v > 24.5) & (u > 19.5), 0.5
    truth = np.where(flap, slope * (v - 24.5), 0.0)
    folded = np.array([0.0, slope, -1.0]) / np.hypot(slope, 1.0)
    normals = np.where(flap[..., None], folded, [0.0, 0.0, -1.0])
    result = integrate(normals, Orthographic(), method=METHOD)
    error = result.depth - truth
    assert np.abs(error - np.median(error)).max() < 0.01
    found = result.cuts.towards(1, 0) > 0
    np.testing.assert_array_equal(found, (u == 19) & (v > 24.5))
    assert not np.nanmax(result.cuts.towards(0, 1))


def test_a_jump_is_cut_from_both_sides():
    cuts = run(gallery.overlapping_spheres(60, 80)).cuts
    assert np.nansum(cuts.values) > 50
    for du, dv in cuts.steps:
        there = np.roll(cuts.towards(du, dv), (dv, du), axis=(0, 1))
        np.testing.assert_array_equal(there, cuts.towards(-du, -dv))


def test_filtering_in_rounds_keeps_fewer_jumps_and_is_more_accurate_than_filtering_once():
    scene = gallery.overlapping_spheres(150, 200)
    rounds, once = (run(scene, AuxiliaryEdges(filters=count)) for count in (4, 1))
    assert percent(scene, rounds) < 0.5 * percent(scene, once)
    assert np.nansum(rounds.cuts.values) < np.nansum(once.cuts.values)


def test_any_number_of_threads_gives_the_same_bits():
    scene = gallery.still_life(370, 371)  # fewer pixels would run on one thread
    method = AuxiliaryEdges(max_iterations=4, tolerance=None)
    one, two = (run(scene, method, backend=CPU(threads)) for threads in (1, 2))
    assert one.depth.tobytes() == two.depth.tobytes()
    assert [i.energy for i in one.history] == [i.energy for i in two.history]


def laws_of(method):
    """Threshold and number of iterations of each round."""
    return [(law.threshold, count) for law, count in method._schedule()]


def test_thresholds_halve_and_rounds_share_the_iterations():
    assert laws_of(AuxiliaryEdges(smallest_jump=0.25, filters=3, max_iterations=8)) == [
        (1.0, 2),
        (0.5, 3),
        (0.25, 3),
    ]
    assert laws_of(AuxiliaryEdges(max_iterations=2)) == [(0.25, 1), (0.125, 1)]
    assert AuxiliaryEdges(smallest_jump=0.5).law == SparseJumps(0.5)


def test_iterations_are_counted_through_all_rounds():
    scene = gallery.tent(20, 24)
    told: list[Iteration] = []
    method = AuxiliaryEdges(max_iterations=9, tolerance=None)
    result = run(scene, method, callback=told.append)
    assert [i.number for i in result.history] == [*range(1, 10)]
    assert told == [*result.history]


def test_a_callback_stops_all_rounds():
    result = run(gallery.tent(20, 24), callback=lambda iteration: iteration.number == 3)
    assert result.status.outcome is Outcome.STOPPED
    assert len(result.history) == 3


def test_a_surface_to_start_from_fixes_the_scale():
    scene = gallery.tent(20, 24)
    assert scene.depth is not None
    result = run(scene, start=1000.0 * scene.depth)
    middle = [np.median(np.log(depth)) for depth in (result.depth, 1000.0 * scene.depth)]
    assert middle[0] == pytest.approx(middle[1], rel=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"smallest_jump": 0.0}, r"smallest_jump is 0.0; expected a finite number above 0"),
        ({"smallest_jump": np.nan}, "smallest_jump is nan"),
        ({"filters": 0}, "filters is 0; expected an integer >= 1"),
        ({"filters": 1.5}, "filters is 1.5; expected an integer >= 1"),
        ({"max_iterations": None}, "max_iterations is None; expected an integer >= 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        AuxiliaryEdges(**options)


def test_the_recipe_is_printed_as_what_makes_it_again():
    method = AuxiliaryEdges(filters=3)
    names = {"AuxiliaryEdges": AuxiliaryEdges, "Multigrid": Multigrid}
    assert eval(repr(method), {**names, "Preprocessing": Preprocessing}) == method


def test_weights_of_all_edges_take_memory():
    own = {c: AuxiliaryEdges(connectivity=c).memory(1000, CPU()) for c in (4, 8)}
    assert own[8] - own[4] > 4 * 8 * 1000
