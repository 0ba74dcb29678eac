"""Ordered on the kernels of the GPU: its laws, edge by edge, and whole runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rayrelief
from profiles import fewer_examples
from rayrelief import Ordered
from rayrelief.backends import CPU
from rayrelief.errors import InputError
from rayrelief.graph import pixel_graph
from rayrelief.laws import Bilateral
from rayrelief.laws.ordered import OrderedHuber, Redescending, with_intervals
from rayrelief.methods.ordered.groups import group_shifts
from rayrelief.methods.ordered.parts import borders_between, continuous_parts, staying
from rayrelief.methods.ordered.recipe import PARTS, SEGMENTS
from rayrelief.preprocess import Preprocessing
from rayrelief.problem import Anchors, assemble
from rayrelief.synthetic.perturb import with_rotation_noise
from reference.grid_runs import (
    Kernels,
    assert_weighed_as_on_the_cpu,
    coarse_matrix,
    image_of,
    started,
)
from reference.host_machine import needs_compiler
from reference.problems import equations_of, problem_of

pytestmark = needs_compiler


def ordered_problem(shape=(40, 52), method=None):
    scene = rayrelief.synthetic.GALLERY["overlapping_spheres"](*shape)
    method = method or Ordered()
    return assemble(scene.normals, scene.camera, mask=scene.mask, method=method)


@fewer_examples(5)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([OrderedHuber(), Redescending(1.0), Redescending(np.inf)]),
    st.floats(-4, -1),
    st.sampled_from([4, "diagonal", 8]),
    st.sampled_from([0.0, 0.9, 5.0]),
)
def test_laws_weigh_as_they_do_on_the_cpu(seed, law, power, connectivity, degrees):
    equations = ordered_problem(method=Ordered(connectivity=connectivity)).equations
    equations = replace(equations, noise=np.radians(degrees))
    graph = equations.graph
    start = 10**power * np.random.default_rng(seed).normal(size=graph.size)
    running = started(problem_of(equations, start=start))
    assert_weighed_as_on_the_cpu(running, law, equations)


def displaced_parts(joins, name="still_life", connectivity=8):
    """Equations of a scene, and its true surface with each part at a wrong place."""
    scene = rayrelief.synthetic.GALLERY[name](72, 96)
    method = Ordered(connectivity=connectivity)
    problem = assemble(scene.normals, scene.camera, mask=scene.mask, method=method)
    x = problem.unknown(np.asarray(scene.depth))
    equations = with_intervals(problem.equations)
    parts = continuous_parts(equations, x, *joins)
    apart = np.random.default_rng(1).normal(size=parts.max() + 1)
    return equations, x + 0.3 * x.std() * apart[parts]


@pytest.mark.parametrize(
    ("joins", "name", "connectivity"),
    [
        (PARTS, "still_life", 8),
        (SEGMENTS, "still_life", 8),
        (SEGMENTS, "still_life", 4),
        (SEGMENTS, "still_life", "diagonal"),
        (SEGMENTS, "room", 8),  # all around
    ],
)
@pytest.mark.parametrize("held", [False, True])
def test_parts_move_as_on_the_cpu(joins, name, connectivity, held):
    equations, x = displaced_parts(joins, name, connectivity)
    anchors = None
    if held:
        weights = np.zeros(len(x), dtype=np.float32)
        weights[:: len(x) // 7] = 1.0
        anchors = Anchors(x, weights)
    parts = continuous_parts(equations, x, *joins)
    fixed = np.unique(parts[anchors.weights > 0]) if anchors is not None else parts[:0]
    stays = staying(np.bincount(parts), fixed)
    shifts, moves = group_shifts(borders_between(equations, x, parts, stays))
    running = started(problem_of(equations, start=x, anchors=anchors))
    borders = running.borders(running.start(), joins, staying)
    pixels = equations.graph.pixels
    first_pixels = np.full(len(stays), pixels.max())
    np.minimum.at(first_pixels, parts, pixels)
    assert set(borders.parts[borders.stays]) == set(first_pixels[stays])
    assert set(borders.parts[~borders.stays]) == set(first_pixels[~stays])
    theirs, count = group_shifts(borders)
    assert count == moves > 0
    off = np.asarray(running.shift_parts(borders.parts, theirs)) - (x + shifts[parts])
    medians = [np.median(each) for each in np.split(off, equations.graph.starts[1:-1])]
    constant = np.array(medians)[equations.graph.component_of_node]
    np.testing.assert_allclose(off, constant, atol=1e-6)


def test_a_hierarchy_is_built_anew_after_parts_were_moved(monkeypatch):
    equations, x = displaced_parts(SEGMENTS)
    running = started(problem_of(equations, start=x))
    law, replayed, replay = Redescending(1.0), [], running._queue.replay

    def watched(key, *rest):
        replayed.append(key)
        replay(key, *rest)

    monkeypatch.setattr(running._queue, "replay", watched)
    running.linearise(law, running.start())
    borders = running.borders(running.start(), SEGMENTS, staying)
    moved = running.shift_parts(borders.parts, np.ones(len(borders.parts)))
    replayed.clear()
    running.linearise(law, moved)
    assert "set up" in replayed


@pytest.mark.parametrize("connectivity", [4, 8])
def test_coarse_levels_are_symmetric(connectivity):
    # Rows that have no room for all of their entries would make a cycle that does not converge.
    scene = rayrelief.synthetic.GALLERY["still_life"](120, 160)
    normals = with_rotation_noise(scene.normals, 3.0, np.random.default_rng(0))
    method = Ordered(connectivity=connectivity, preprocessing=Preprocessing("keep"))
    problem = assemble(normals, scene.camera, mask=scene.mask, method=method)
    running = started(problem)
    rough = 0.001 * np.random.default_rng(0).normal(size=problem.graph.size)
    running.linearise(OrderedHuber(), rough)
    for depth in range(1, 4):
        matrix = coarse_matrix(running, depth)
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-5 * np.abs(matrix).max())


@pytest.mark.parametrize("name", ["overlapping_spheres", "still_life"])
def test_whole_runs_end_like_those_of_the_cpu(name):
    scene = rayrelief.synthetic.GALLERY[name](72, 96)
    cpu, gpu = (
        rayrelief.integrate(
            scene.normals, scene.camera, mask=scene.mask, method=Ordered(), backend=backend
        )
        for backend in (CPU(1), Kernels())
    )
    inside = np.isfinite(cpu.depth)
    assert np.median(np.abs(gpu.depth[inside] / cpu.depth[inside] - 1)) < 5e-3
    assert len(gpu.history) == pytest.approx(len(cpu.history), rel=0.5)


def test_values_that_are_put_back_are_the_next_surface():
    equations = ordered_problem().equations
    running = started(problem_of(equations))
    x = np.random.default_rng(0).normal(size=equations.graph.size)
    x -= x.mean()
    running.linearise(Redescending(1.0), x)
    np.testing.assert_allclose(equations.graph.gather(image_of(running, "x")), x, atol=1e-12)


@pytest.mark.parametrize(
    ("equations", "law"),
    [
        (ordered_problem().equations, Bilateral(2.0)),
        (equations_of(pixel_graph(np.ones((3, 4), bool))), Redescending(1.0)),
    ],
)
def test_a_law_of_other_equations_is_refused(equations, law):
    running = started(problem_of(equations))
    with pytest.raises(InputError, match="equations of another kind"):
        running.linearise(law, running.start())
