"""Ordered integration: exact where it must be, the same from any start, and what floats is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rayrelief.backends.cpu import CPU
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import InputError, Outcome
from rayrelief.integration import integrate
from rayrelief.methods.base import Support
from rayrelief.methods.ordered import recipe
from rayrelief.methods.ordered.evidence import COSTS, order_probability
from rayrelief.methods.ordered.groups import group_shifts
from rayrelief.methods.ordered.parts import borders_between, staying
from rayrelief.methods.ordered.recipe import NARROWING, SEGMENTS, Ordered
from rayrelief.methods.ordered.segments import _contacts, find_segments
from rayrelief.methods.recipes import RayPlane
from rayrelief.preprocess import Preprocessing
from rayrelief.problem import assemble
from rayrelief.solvers.multigrid import Multigrid
from rayrelief.synthetic import GALLERY, render, with_outliers
from rayrelief.synthetic.shapes import Plane, Sphere


def integrated(scene, **settings):
    return integrate(scene.normals, scene.camera, mask=scene.mask, method=Ordered(**settings))


def error(result, scene):
    """Relative error in percent after the median scale, or shift."""
    if not scene.camera.central:
        shift = np.nanmedian(scene.depth - result.depth)
        return (
            100 * np.nanmean(np.abs(result.depth + shift - scene.depth)) / np.nanmean(scene.depth)
        )
    scale = np.nanmedian(scene.depth / result.depth)
    return 100 * np.nanmean(np.abs(scale * result.depth / scene.depth - 1))


@pytest.mark.parametrize(
    ("name", "camera"),
    [
        ("plane", None),
        ("tent", None),
        ("ellipsoid_inside", None),
        ("ellipsoid_inside", Equirectangular.full(48, 64)),
        ("plane", Orthographic(0.02)),
    ],
    ids=["plane", "tent", "hollow", "panorama", "orthographic"],
)
def test_a_continuous_surface_is_one_segment_without_jumps(name, camera):
    scene = GALLERY[name](48, 64, camera=camera)
    result = integrated(scene)
    assert result.status.outcome is Outcome.SETTLED
    assert not np.nan_to_num(result.cuts.values).any()
    assert not result.active_jumps()[result.mask].any()
    assert set(np.unique(result.segments[result.mask])) == {0}
    assert result.support == (Support.CONTACT,)
    assert error(result, scene) < 0.05


def test_from_any_start_the_same_surface():
    scene = GALLERY["still_life"](96, 128)
    settings: Any = {"tolerance": 1e-7, "max_iterations": 400, "rounds": 0}
    plain = integrated(scene, **settings)
    start = np.exp(np.random.default_rng(0).normal(2.0, 0.5, scene.mask.shape))
    other = integrate(
        scene.normals,
        scene.camera,
        mask=scene.mask,
        start=np.where(scene.mask, start, np.nan),
        method=Ordered(**settings),
    )
    ratio = np.log(plain.depth / other.depth)[scene.mask]
    assert np.median(np.abs(ratio - np.median(ratio))) < 1e-5


def test_the_cost_of_the_convex_stage_only_falls():
    scene = GALLERY["still_life"](96, 128)
    history = integrated(scene, rounds=0).history
    costs = [i.energy for i in history[1 : len(history) - len(NARROWING)]]
    assert len(costs) >= 5
    assert (np.diff(costs) <= 0).all()
    assert costs[-1] < 0.9 * costs[0]


def test_any_number_of_threads_gives_the_same_bits():
    scene = GALLERY["crowd"](260, 280)  # more nodes than one thread takes
    one, two = (
        integrate(scene.normals, scene.camera, method=Ordered(), backend=CPU(threads=threads))
        for threads in (1, 2)
    )
    np.testing.assert_array_equal(one.depth, two.depth)
    np.testing.assert_array_equal(one.segments, two.segments)
    assert one.support == two.support


@pytest.mark.parametrize("seed", [0, 1])
def test_jumps_of_a_crowd_are_found_and_no_others(seed):
    scene = GALLERY["crowd"](240, 320, across=2.0, seed=seed)
    result = integrated(scene)
    problem = assemble(scene.normals, scene.camera, mask=scene.mask, method=Ordered())
    equations: Any = problem.equations
    assert scene.depth is not None
    graph, x = problem.graph, np.log(problem.graph.gather(scene.depth))
    residual = np.abs((x - x[graph.neighbours[::2]] - equations.offset) * equations.gamma)
    found = np.stack([graph.gather(maps == 1) for maps in result.cuts.values[::2]])
    room = np.abs(equations.half_width)
    assert found[graph.exists[::2] & (residual > room + 3)].mean() > 0.9
    assert (residual > room + 0.5)[found].mean() > 0.9


def test_a_ball_before_a_wall_floats_and_a_ball_in_the_wall_does_not():
    camera = Pinhole(200.0, 200.0, 63.5, 47.5)
    wall = Plane(point=(0.0, 0.0, 5.0), normal=(0.0, 0.0, -1.0))
    before = integrated(render([Sphere((0.0, 0.0, 3.0), 0.4), wall], camera, 96, 128))
    ball = before.segments[48, 64]
    assert ball != before.segments[5, 5]
    assert before.support[ball] is not Support.CONTACT
    assert "1 part touches nothing else in view" in str(before.status)
    inside = integrated(render([Sphere((0.0, 0.0, 5.2), 0.6), wall], camera, 96, 128))
    assert all(support is Support.CONTACT for support in inside.support)
    assert "touch" not in str(inside.status)


@pytest.mark.parametrize("columns", [29, 30, 31])
@pytest.mark.parametrize(
    ("slopes", "apart", "expected"),
    [
        ((0.0, 0.0), 30.0, Support.NOTHING),
        ((0.0, 0.75), 30.0, Support.ORDER),
        ((-1.2, 1.2), 0.0, Support.CONTACT),
        ((0.0, 2.2), 0.0, Support.ORDER),
    ],
    ids=["level", "one turns away", "a foot", "a foot that looks like a rim"],
)
def test_of_two_halves_one_rests_and_the_other_as_its_border_shows(
    columns, slopes, apart, expected
):
    left = np.arange(60) < columns
    slope = np.where(left, *slopes)
    normals = np.stack((-slope, np.zeros(60), -np.ones(60)), axis=-1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    problem = assemble(np.tile(normals, (40, 1, 1)), Orthographic(1.0), method=Ordered(noise=0.0))
    equations: Any = problem.equations
    depth = -slope * (np.arange(60) - columns + 0.5) + apart * left
    x = problem.graph.gather(np.tile(depth, (40, 1)))
    segments, support = find_segments(equations, x, *SEGMENTS)
    assert sorted(support) == sorted([expected, Support.CONTACT])
    assert support[np.argmax(np.bincount(segments))] is Support.CONTACT


@pytest.mark.parametrize("labels", [(0, 1, 2), (2, 1, 0)])
def test_of_two_parts_that_are_touched_alike_the_first_counts(labels):
    flat = np.tile((0.0, 0.0, -1.0), (4, 9, 1))
    problem = assemble(flat, Orthographic(1.0), method=Ordered(noise=0.0))
    equations: Any = problem.equations
    parts = problem.graph.gather(np.tile(np.repeat(labels, 3), (4, 1))).astype(np.int32)
    touched, _ = _contacts(equations, np.zeros(problem.graph.size), parts, 3)
    assert touched.tolist() == [1, 0, 1]


def test_where_both_sides_recede_their_order_is_hardly_told():
    lead = COSTS.sure  # as much as there is to be sure
    level, both = (0.5 * lead + slower for slower in (0.0, COSTS.both_recede))
    told = [order_probability.py_func(width, lead, COSTS) - 0.5 for width in (level, both)]
    np.testing.assert_allclose(told, (COSTS.ordered, 0.2 * COSTS.ordered))


def test_the_noise_that_is_told_is_in_degrees():
    scene = GALLERY["plane"](6, 8)
    equations: Any = assemble(scene.normals, scene.camera, method=Ordered(noise=5.0)).equations
    assert equations.noise == pytest.approx(np.radians(5.0))


def test_a_good_start_saves_iterations():
    scene = GALLERY["tori"](60, 80)
    first = integrated(scene)
    again = integrate(
        scene.normals, scene.camera, mask=scene.mask, start=first.depth, method=Ordered()
    )
    assert len(again.history) <= len(first.history) - 3


def test_outliers_do_little_harm():
    scene = GALLERY["tori"](150, 200)
    bad = with_outliers(scene.normals, 0.05, np.random.default_rng(1))
    keep = Preprocessing(facing_away="keep")
    ordered, plain = (
        integrate(bad, scene.camera, mask=scene.mask, method=method, on_failure="return")
        for method in (Ordered(preprocessing=keep), RayPlane(preprocessing=keep))
    )
    assert error(ordered, scene) < 0.5 * error(plain, scene)


def test_it_can_be_stopped_and_limited():
    scene = GALLERY["tori"](60, 80)
    options: Any = {"mask": scene.mask, "on_failure": "return"}
    stopped = integrate(
        scene.normals,
        scene.camera,
        method=Ordered(),
        callback=lambda iteration: iteration.number == 3,
        **options,
    )
    assert stopped.status.outcome is Outcome.STOPPED
    assert len(stopped.history) == 3
    limited = integrate(scene.normals, scene.camera, method=Ordered(max_iterations=2), **options)
    assert limited.status.outcome is Outcome.ITERATION_LIMIT
    assert len(limited.history) == 2


def test_the_time_of_moves_is_told(monkeypatch):
    clock = iter(range(10**6))
    monkeypatch.setattr(recipe, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    monkeypatch.setattr(recipe, "moved", lambda computation, equations, x, *rest: (x, 0))
    scene = GALLERY["tent"](20, 30)
    result = integrate(scene.normals, scene.camera, mask=scene.mask, method=Ordered())
    assert [each.seconds for each in result.history][-2:] == [1, 2]


def test_pixels_without_neighbours_have_no_equations():
    mask = np.zeros((5, 5), dtype=bool)
    mask[::4, ::4] = True
    normals = np.tile([0.0, 0.0, -1.0], (5, 5, 1))
    camera = Pinhole(10.0, 10.0, 2.0, 2.0)
    result = integrate(normals, camera, mask=mask, method=Ordered(), on_failure="return")
    assert result.status.outcome is Outcome.NO_EQUATIONS


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rounds": -1}, "rounds is -1"),
        ({"rounds": 1.5}, r"rounds is 1\.5"),
        ({"rounds": 2.0}, r"rounds is 2\.0"),
        ({"noise": -2.0}, r"noise is -2\.0"),
        ({"noise": float("nan")}, "noise is nan"),
        ({"max_iterations": 0}, "max_iterations is 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        Ordered(**settings)


def test_a_part_that_was_moved_away_comes_back():
    scene = GALLERY["plane"](40, 60)
    problem = assemble(scene.normals, scene.camera, method=Ordered())
    equations: Any = problem.equations
    graph = problem.graph
    assert scene.depth is not None
    truth = np.log(graph.gather(scene.depth))
    parts = (graph.pixels % 60 < 20).astype(np.int32)
    x = truth + 30.0 / equations.gamma.max() * (parts == 1)  # 30 pixels
    sizes = np.bincount(parts)
    for held, moves in ((parts[:0], 1), (np.array([1]), 0)):
        borders = borders_between(equations, x, parts, staying(sizes, held))
        shifts, count = group_shifts(borders)
        assert count == moves
        if moves:
            np.testing.assert_allclose(x + shifts[parts], truth, atol=1e-6)


def test_without_a_tolerance_the_convex_stage_still_ends():
    scene = GALLERY["tori"](60, 80)
    method = Ordered(tolerance=None, max_iterations=400)
    result = integrate(scene.normals, scene.camera, mask=scene.mask, method=method)
    assert result.status.outcome is Outcome.SETTLED


def test_inner_solves_that_reach_their_limit_are_told():
    scene = GALLERY["tori"](60, 80)
    method = Ordered(solver=Multigrid(rtol=1e-12, max_steps=1))
    result = integrate(
        scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
    )
    assert "inner solves reached the solver's max_steps" in str(result.status)


def test_a_map_of_one_pixel_has_its_arrays():
    result = integrate(
        np.array([[[0.0, 0.0, -1.0]]]), Pinhole(1, 1, 0, 0), method=Ordered(), on_failure="return"
    )
    assert result.status.outcome is Outcome.NO_EQUATIONS
    assert result.segments.tolist() == [[0]]
