"""CUDA: compute on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from rayrelief.backends.base import Final
from rayrelief.backends.cuda.computation import GridComputation
from rayrelief.backends.cuda.device import Device
from rayrelief.backends.cuda.engine import Engine
from rayrelief.backends.cuda.equations import centred, put_equations
from rayrelief.backends.cuda.layout import Workspace
from rayrelief.backends.cuda.machine import Array, Machine
from rayrelief.checks import require
from rayrelief.graph import STEPS
from rayrelief.laws.base import Law
from rayrelief.problem import Problem
from rayrelief.solvers.base import Solver


@dataclass(frozen=True)
class CUDA:
    """Compute on the GPU of this machine: RayPlane, BiNI and Smooth, four neighbours.

    The same GPU gives the same bits.
    """

    @contextmanager
    def compute(self, problem: Problem, solver: Solver) -> Iterator[GridComputation]:
        """Copy a problem to the GPU, and begin to compute."""
        device = Device()
        running = [computation(device, problem, solver)]
        try:
            yield running[0]
        finally:
            running.clear()
            device.give_back()

    def memory(self, nodes: int, directions: int) -> int:
        """Bytes of the equations, and of the law's terms at the end, in the memory of the CPU."""
        return (20 + 40 * directions) * nodes


def computation(machine: Machine, problem: Problem, solver: Solver) -> GridComputation:
    """Copy a problem to a machine."""
    graph, equations = problem.graph, problem.equations
    require(
        graph.steps == STEPS[4],
        "a method that joins diagonal neighbours was asked for on a GPU",
        "connectivity 4",
        "Leave connectivity out, or use the CPU",
    )
    require(
        problem.anchors is None,
        "known depths were given to a GPU",
        "a map without anchors",
        "Use the CPU for them",
    )
    work = Workspace(machine, *graph.shape)
    put_equations(work, equations)
    if problem.start is not None:
        work.point("x", machine.put(centred(graph, problem.start)))

    engine = Engine.of(machine, work)

    def finish(law: Law, image: Array) -> Final:
        engine.queue.finish()
        return Final.of(law, equations, np.take(machine.get(image), graph.pixels))

    return GridComputation(
        engine,
        solver,
        graph.size,
        graph.component_count,
        problem.start is None,
        finish,
    )
