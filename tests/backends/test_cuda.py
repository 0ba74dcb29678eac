"""The kernels of the GPU, compiled for this machine, on the axioms of the CPU.

What a CPU cannot show is left to ``make test-gpu``: barriers, shuffles and the order of streams.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rayrelief
from profiles import fewer_examples
from rayrelief.backends import CPU
from rayrelief.backends.change import relative_change
from rayrelief.backends.cuda.backend import computation
from rayrelief.backends.cuda.layout import BORDER_EDGE, GRID, OF_LOOPS, OF_PARTS, SCALARS, memory_of
from rayrelief.backends.cuda.machine import definitions
from rayrelief.errors import InputError
from rayrelief.graph import pixel_graph
from rayrelief.laws import Bilateral, FixedWeights
from rayrelief.methods import iterate
from rayrelief.methods.stopping import StoppingRule, Watch
from rayrelief.solvers import Dense, Multigrid
from reference.grid_runs import Kernels, image_of, random_equations, started
from reference.host_machine import Host, library, needs_compiler
from reference.problems import equations_of, normal_equations, problem_of, smooth_problem

pytestmark = needs_compiler
LAWS = [Bilateral(0.0), Bilateral(2.0), Bilateral(2.0, jumps=True)]


def test_the_structures_are_those_of_the_kernels():
    kernels = library(tuple(definitions(1).items()))
    assert kernels.size_of_grid() == GRID.itemsize
    assert kernels.size_of_scalars() == SCALARS.itemsize
    assert kernels.size_of_border_edge() == BORDER_EDGE.itemsize


@fewer_examples(5)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["central", "bini", "parallel"]),
    st.sampled_from(LAWS),
    st.booleans(),
)
def test_conductances_residual_and_energy_are_those_of_the_cpu(seed, form, law, wraps):
    rng = np.random.default_rng(seed)
    equations = random_equations(rng, (15, 38), form=form, wraps=wraps)
    graph = equations.graph
    start = 0.1 * rng.normal(size=graph.size)
    running = started(problem_of(equations, start=start))
    energy = running.linearise(law, running.start())
    cpu = normal_equations(equations, law, start)
    assert energy == pytest.approx(cpu.energy, rel=1e-5)
    conductance, residual = cpu.operator.conductance, cpu.rhs - cpu.operator @ start
    for name, expected in (
        ("c0", conductance[0]),
        ("c1", conductance[2]),
        ("r0", residual),
    ):
        found = graph.gather(image_of(running, name))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-6 * np.abs(expected).max())


@fewer_examples(5)
@given(
    st.integers(0, 2**32 - 1),
    st.tuples(st.integers(1, 60), st.integers(1, 75)),
    st.floats(0.3, 1.0),
    st.sampled_from(LAWS),
    st.booleans(),
)
def test_a_solve_meets_its_tolerance_on_any_mask(seed, shape, density, law, wraps):
    # Many parts, islands and single pixels; weights over ten orders of magnitude.
    rng = np.random.default_rng(seed)
    equations = random_equations(rng, shape, wraps=wraps, density=density)
    start = 10 ** rng.uniform(-4, -2) * rng.normal(size=equations.graph.size)
    running = started(problem_of(equations, start=start), Multigrid(rtol=1e-3))
    running.linearise(law, running.start())
    solved = running.solve(running.start(), 1.0)
    x = equations.graph.gather(image_of(running, "x"))
    cpu = normal_equations(equations, law, start)
    residual = cpu.rhs - cpu.operator @ x
    # Corrections are in single precision: what they leave of where they began is, too, and with
    # 1e-5 three of a hundred such systems do not get there.
    begun = np.linalg.norm(cpu.operator.row_sums() * (x - start))
    assert solved.converged
    assert np.linalg.norm(residual) <= 2e-3 * np.linalg.norm(cpu.rhs) + 2e-6 * begun


@fewer_examples(5)
@given(st.integers(0, 2**32 - 1), st.floats(-2, 6), st.sampled_from(LAWS))
def test_nothing_is_lost_to_weights_beyond_the_range_of_floats(seed, power, law):
    rng = np.random.default_rng(seed)
    equations = random_equations(rng, (40, 50), density=0.7)
    start = 10**power * rng.normal(size=equations.graph.size)
    running = started(problem_of(equations, start=start), Multigrid(max_steps=20))
    running.linearise(law, running.start())
    running.solve(running.start(), 1.0)
    assert np.isfinite(image_of(running, "x")).all()


def test_few_cycles_solve_a_map_with_levels_of_all_kinds():
    equations, truth = smooth_problem((180, 220))
    running = started(problem_of(equations), Multigrid(rtol=1e-9))
    running.linearise(Bilateral(0.0), running.start())
    solved = running.solve(running.start(), 1.0)
    x = equations.graph.gather(image_of(running, "x"))
    assert solved.steps <= 30
    assert np.ptp(x - truth) < 1e-7


def test_a_large_map_is_the_plane_that_it_shows():
    # So many tiles that sums and numbers take several kernels.
    equations, truth = smooth_problem((520, 600))
    solution = iterate(
        problem_of(equations), Bilateral(0.0), Multigrid(rtol=1e-8), Kernels(), max_iterations=1
    )
    assert np.ptp(solution.x - truth) < 1e-6


@pytest.mark.parametrize("name", ["overlapping_spheres", "tent"])
def test_whole_runs_end_like_those_of_the_cpu(name):
    scene = rayrelief.synthetic.GALLERY[name](60, 72)
    runs = [
        rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask, backend=backend)
        for backend in (CPU(1), Kernels())
    ]
    cpu, gpu = (run.depth[scene.mask] for run in runs)
    assert np.mean(np.abs(gpu / cpu - 1)) < 2e-3
    assert runs[1].status.ok


def test_equal_runs_have_equal_bits():
    equations = random_equations(np.random.default_rng(5), (70, 90))
    runs = [
        iterate(problem_of(equations), LAWS[2], Multigrid(), Kernels(), max_iterations=4)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0].x, runs[1].x)


def test_distances_between_surfaces_are_those_of_the_cpu():
    equations = random_equations(np.random.default_rng(6), (20, 30), density=0.6)
    graph = equations.graph
    running = started(problem_of(equations))
    surfaces: list[Any] = []
    kept: list[Any] = []
    x: Any = running.start()
    running.linearise(LAWS[1], x)
    for _ in range(3):
        surfaces.append(graph.gather(image_of(running, "x")).copy())
        del kept[:-1]  # there is room for two at a time
        kept.append(running.remember(x))
        before, x = x, running.solve(x, 1.0).x
        running.linearise(LAWS[2], x)
    now = graph.gather(image_of(running, "x"))
    free = np.zeros(graph.component_count, dtype=bool)
    for old, values in zip([kept[0], kept[1], before], [*surfaces[-2:], surfaces[-1]], strict=True):
        expected = relative_change(graph, free, now, values)
        assert running.change(x, old) == pytest.approx(expected, rel=1e-4)
    running.change(before, kept[0])  # steps back
    np.testing.assert_allclose(graph.gather(image_of(running, "x")), surfaces[-1], atol=1e-12)


@pytest.mark.parametrize("tolerance", [None, 1e-3])
def test_accurate_solves_leave_room_for_what_the_stopping_rule_remembers(tolerance):
    # Each keeps the surface before it, beside the two that the rule compares with.
    equations, truth = smooth_problem((24, 30))
    running = started(problem_of(equations), Multigrid(rtol=1e-9))
    flat: Any = running.start()
    running.linearise(Bilateral(0.0), flat)
    watch = Watch(running, flat, tolerance, StoppingRule())
    x: Any = flat
    before: Any
    for _ in range(14):
        before, x = x, running.solve(x, 1.0).x
        watch.add(before, x, running.linearise(Bilateral(0.0), x))
    assert watch.changes[0] == pytest.approx(1.0)
    assert max(watch.changes[1:]) < 1e-6
    assert running.change(x, watch._landmark) == pytest.approx(float(tolerance is None), abs=1e-6)
    assert np.ptp(equations.graph.gather(image_of(running, "x")) - truth) < 1e-7


def test_pixels_without_neighbours_stay_where_they_are():
    graph = pixel_graph(np.eye(5, dtype=bool))
    running = started(problem_of(equations_of(graph)))
    assert running.linearise(LAWS[2], running.start()) == 0.0
    assert running.solve(running.start(), 1.0).converged
    assert not image_of(running, "x").any()


def test_another_solver_than_multigrid_is_refused():
    graph = pixel_graph(np.ones((3, 4), dtype=bool))
    with pytest.raises(InputError, match="the solver Dense"):
        started(problem_of(equations_of(graph)), Dense())


def test_an_image_that_repeats_is_refused():
    graph = pixel_graph(np.ones((3, 4), dtype=bool), turn=(0.0, 3.0))
    with pytest.raises(InputError, match="an image that repeats"):
        started(problem_of(equations_of(graph)))


def test_a_map_that_does_not_fit_is_refused_before_it_is_begun(monkeypatch):
    monkeypatch.setattr(Host, "room", lambda machine: 10_000)
    graph = pixel_graph(np.ones((30, 40), dtype=bool))
    with pytest.raises(InputError, match=r"a map of 40x30 pixels needs about .* but 0 MB is"):
        computation(Host(), problem_of(equations_of(graph)), Multigrid())


def test_the_memory_of_a_map_is_what_its_estimate_says():
    graph = pixel_graph(np.ones((300, 400), dtype=bool))
    running = computation(Host(), problem_of(equations_of(graph)), Multigrid())
    running.linearise(LAWS[0], running.start())
    x: Any = running.solve(running.start(), 1.0).x
    running.remember(x)
    shared = {*OF_LOOPS, *OF_PARTS}  # with the solver
    arrays = (a for name, a in running._work.arrays.items() if name not in shared)
    assert sum(a.nbytes for a in arrays) == pytest.approx(memory_of(300, 400), rel=0.1)


def test_a_law_that_a_gpu_does_not_know_is_refused():
    running = started(problem_of(equations_of(pixel_graph(np.ones((3, 4), dtype=bool)))))
    with pytest.raises(InputError, match="the law FixedWeights"):
        running.linearise(FixedWeights(1.0), running.start())
