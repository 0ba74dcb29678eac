"""Problems on the kernels of a GPU: of one where there is one, else as g++ compiles them."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

from rayrelief.backends.cuda.backend import CUDA, computation
from rayrelief.backends.cuda.computation import GridComputation
from rayrelief.backends.cuda.device import is_available
from rayrelief.formulation import bini, ray_plane
from rayrelief.graph import pixel_graph
from rayrelief.solvers import Multigrid
from reference.host_machine import Host
from reference.problems import normal_equations
from reference.random_maps import facing_normals, random_mask, random_rays


class Kernels:
    """A backend of the compiled kernels."""

    @contextmanager
    def compute(self, problem, solver):
        yield started(problem, solver)


def started(problem, solver=None) -> GridComputation:
    solver = solver or Multigrid(rtol=1e-5)
    if not is_available():
        return computation(Host(), problem, solver)
    with CUDA().compute(problem, solver) as running:
        return running


def image_of(running, name: str) -> np.ndarray:
    work = running._work
    running._engine.queue.finish()
    return np.array(running._engine.machine.get(work.arrays[name])).reshape(work.height, work.width)


def assert_weighed_as_on_the_cpu(running, law, equations, anchors=None) -> None:
    """Energy, residual and conductances of a law at the start, in single precision."""
    energy = running.linearise(law, running.start())
    x: np.ndarray = np.array(running.start())
    cpu = normal_equations(equations, law, x, anchors)
    assert energy == pytest.approx(cpu.energy, rel=1e-5)
    expected = {"r0": cpu.rhs - cpu.operator @ x}
    first = 2 if equations.graph.steps[0] != (1, 0) else 0  # diagonal neighbours alone
    for pair, conductance in enumerate(cpu.operator.conductance[::2], start=first):
        expected[f"c{pair}"] = conductance
    for name, values in expected.items():
        found = equations.graph.gather(image_of(running, name))
        np.testing.assert_allclose(found, values, rtol=1e-3, atol=1e-5 * np.abs(values).max())


def coarse_matrix(running, depth: int) -> np.ndarray:
    """Off-diagonal entries of a coarse level, (n, n)."""
    running._engine.queue.finish()
    work = running._work
    array = {
        name: np.asarray(running._engine.machine.get(work.arrays[f"{name} {depth}"]))
        for name in ("count", "length", "column", "value")
    }
    count, room = int(array["count"][0]), work.sizes[depth - 1].room
    matrix = np.zeros((count, count))
    for i in range(count):
        row = np.arange(array["length"][i]) * room + i
        matrix[i, array["column"][row] & 0x3FFFFFFF] = array["value"][row]
    return matrix


def random_equations(rng, shape, *, form="central", density=0.8, **graph_settings):
    graph = pixel_graph(random_mask(rng, *shape, density=density), **graph_settings)
    rays = random_rays(rng, *shape)
    normals = graph.gather(facing_normals(rng, rays))
    if form == "central":
        return ray_plane.central_equations(graph, normals, graph.gather(rays))
    origins = graph.gather(rays * [1, 1, 0])
    if form == "parallel":
        return ray_plane.orthographic_equations(graph, normals, origins)
    return bini.central_equations(graph, normals, graph.gather(rays))
