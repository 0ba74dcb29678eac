"""The kernels of the GPU with any neighbours, around the seam, and with anchors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rayrelief
from profiles import fewer_examples
from rayrelief import RayPlane, Smooth
from rayrelief.backends import CPU
from rayrelief.laws import Bilateral
from rayrelief.methods import Anchors, iterate
from rayrelief.solvers import Multigrid
from reference.grid_runs import (
    Kernels,
    assert_weighed_as_on_the_cpu,
    random_equations,
    started,
)
from reference.hierarchies import interpolations, matrices
from reference.host_machine import needs_compiler
from reference.problems import normal_equations, problem_of

pytestmark = needs_compiler
LAW = Bilateral(2.0, jumps=True)
CONNECTIVITIES = [4, "diagonal", 8]
seeds = st.integers(0, 2**32 - 1)


def random_anchors(rng, nodes, power):
    weights = np.where(rng.random(nodes) < 0.1, 10.0 ** (power + rng.normal(size=nodes)), 0.0)
    return Anchors(5.0 + rng.normal(size=nodes), weights.astype(np.float32))


@fewer_examples(5)
@given(seeds, st.sampled_from(CONNECTIVITIES), st.booleans(), st.booleans())
def test_conductances_residual_and_energy_are_those_of_the_cpu(seed, connectivity, wraps, held):
    rng = np.random.default_rng(seed)
    equations = random_equations(rng, (15, 38), wraps=wraps, connectivity=connectivity)
    graph = equations.graph
    start = 0.1 * rng.normal(size=graph.size)
    anchors = random_anchors(rng, graph.size, 3.0) if held else None
    running = started(problem_of(equations, start=start, anchors=anchors))
    assert_weighed_as_on_the_cpu(running, LAW, equations, anchors)


@fewer_examples(10)
@given(
    seeds,
    st.tuples(st.integers(1, 50), st.integers(1, 60)),
    st.sampled_from(CONNECTIVITIES),
    st.booleans(),
    st.none() | st.floats(-5, 9),
)
def test_a_solve_meets_its_tolerance_on_any_mask(seed, shape, connectivity, wraps, power):
    rng = np.random.default_rng(seed)
    equations = random_equations(
        rng, shape, wraps=wraps, connectivity=connectivity, density=rng.uniform(0.3, 1)
    )
    nodes = equations.graph.size
    anchors = None if power is None else random_anchors(rng, nodes, power)
    start = 1e-3 * rng.normal(size=nodes)
    running = started(problem_of(equations, start=start, anchors=anchors), Multigrid(rtol=1e-3))
    running.linearise(LAW, running.start())
    begun: np.ndarray = np.array(running.start())
    solved = running.solve(running.start(), 1.0)
    x: np.ndarray = np.array(solved.x)
    cpu = normal_equations(equations, LAW, begun, anchors)
    sums, held = cpu.operator.row_sums(), cpu.operator.diagonal
    # Of what an anchor asks for, the part counts that the edges resist.
    share = 1.0 if held is None else 1.0 - held / np.maximum(sums, 1e-300)
    pull = cpu.rhs if held is None else cpu.rhs - held * begun
    residual = share * (cpu.rhs - cpu.operator @ x)
    allowed = 4e-3 * np.linalg.norm(share * pull) + 4e-6 * np.linalg.norm(sums * (x - begun))
    assert solved.converged
    assert np.linalg.norm(residual) <= allowed


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
@pytest.mark.parametrize("width", [4, 7, 28, 31])
def test_coarse_levels_are_galerkin_products_around_the_seam(width, connectivity):
    # Tiles at the seam are narrow: what is beyond them touches what is before them.
    rng = np.random.default_rng(width)
    equations = random_equations(rng, (20, width), wraps=True, connectivity=connectivity)
    running = started(problem_of(equations))
    running.linearise(Bilateral(0.0), running.start())
    levels = matrices(running)
    for fine, coarse, shares in zip(levels, levels[1:], interpolations(running), strict=False):
        expected = shares.T @ fine @ shares
        np.testing.assert_allclose(coarse, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
def test_coarse_anchors_are_what_interpolation_gives_of_them(connectivity):
    rng = np.random.default_rng(1)
    equations = random_equations(rng, (40, 45), connectivity=connectivity)
    anchors = random_anchors(rng, equations.graph.size, 1.0)
    running = started(problem_of(equations, anchors=anchors))
    running.linearise(Bilateral(0.0), running.start())
    levels = [matrix.sum(axis=1) for matrix in matrices(running)]
    for fine, coarse, shares in zip(levels, levels[1:], interpolations(running), strict=False):
        np.testing.assert_allclose(coarse, shares.T @ fine, atol=1e-4 * coarse.max())


@pytest.mark.parametrize("power", [-4.0, 0.0, 6.0])
def test_runs_with_anchors_end_where_those_of_the_cpu_do(power):
    rng = np.random.default_rng(3)
    equations = random_equations(rng, (30, 40), density=0.6)
    anchors = random_anchors(rng, equations.graph.size, power)
    cpu, gpu = (
        iterate(
            problem_of(equations, anchors=anchors),
            Bilateral(0.0),
            Multigrid(rtol=1e-7),
            backend,
            max_iterations=2,
        )
        for backend in (CPU(1), Kernels())
    )
    assert cpu.anchored is not None
    np.testing.assert_array_equal(gpu.anchored, cpu.anchored)
    of_node = equations.graph.component_of_node
    held = cpu.anchored[of_node]
    np.testing.assert_allclose(gpu.x[held], cpu.x[held], atol=2e-4)


@pytest.mark.parametrize("method", [RayPlane(), Smooth(connectivity=8)], ids=["four", "eight"])
def test_known_depths_and_confidence_do_what_they_do_on_the_cpu(method):
    scene = rayrelief.synthetic.GALLERY["overlapping_spheres"](40, 52)
    assert scene.depth is not None
    rng = np.random.default_rng(0)
    depth = np.where(rng.random(scene.depth.shape) < 0.3, 3 * scene.depth, np.nan)
    confidence = rng.uniform(0.2, 1, depth.shape)
    cpu, gpu = (
        rayrelief.integrate(
            scene.normals,
            scene.camera,
            mask=scene.mask,
            method=method,
            prior=rayrelief.DepthPrior(depth),
            confidence=confidence,
            backend=backend,
        ).depth
        for backend in (CPU(1), Kernels())
    )
    assert np.nanmean(np.abs(gpu / cpu - 1)) < 1e-3
