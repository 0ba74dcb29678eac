"""CUDA: compute on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rayrelief.backends.base import Final
from rayrelief.backends.cuda.computation import GridComputation
from rayrelief.backends.cuda.device import Device
from rayrelief.backends.cuda.engine import Engine
from rayrelief.backends.cuda.equations import NodeImages, directions_of, put_equations
from rayrelief.backends.cuda.layout import Workspace
from rayrelief.backends.cuda.machine import Array, Machine
from rayrelief.checks import require
from rayrelief.laws.base import Law
from rayrelief.pieces import threads_for
from rayrelief.problem import Problem
from rayrelief.solvers.base import Solver


@dataclass(frozen=True)
class CUDA:
    """Compute on the GPU of this machine: RayPlane, BiNI, Smooth and Ordered.

    The same GPU gives the same bits.

    Attributes
    ----------
    threads
        Number of threads of the CPU beside it, all cores by default.
    """

    threads: int | None = None

    @contextmanager
    def compute(self, problem: Problem, solver: Solver) -> Iterator[GridComputation]:
        """Copy a problem to the GPU, and begin to compute."""
        device = Device()
        running = [computation(device, problem, solver)]
        try:
            with threads_for(problem.graph.size, self.threads):
                yield running[0]
        finally:
            running.clear()
            device.give_back()

    def memory(self, nodes: int, directions: int) -> int:
        """Bytes of the equations, and of the law's terms at the end, in the memory of the CPU."""
        return (20 + 40 * directions) * nodes


def computation(machine: Machine, problem: Problem, solver: Solver) -> GridComputation:
    """Copy a problem to a machine."""
    graph, equations, anchors = problem.graph, problem.equations, problem.anchors
    require(
        not any(graph.turn),
        "an image that repeats was given to a GPU",
        "one whose borders do not join, or a panorama",
        "Use the CPU for it",
    )
    work = Workspace(machine, *graph.shape, directions_of(graph))
    put_equations(work, equations)
    images = NodeImages(graph, anchors)
    if anchors is not None:
        images.put_anchors(work, anchors)
    if anchors is not None or graph.component_count > 1:
        images.put_components(work)
    if problem.start is not None:
        work.point("x", machine.put(images.image(problem.start)))
    engine = Engine.of(machine, work)

    def finish(law: Law, image: Array) -> Final:
        engine.queue.finish()
        return Final.of(law, equations, images.values(machine.get(image)))

    return GridComputation(
        engine,
        solver,
        graph.size,
        images.anchored,
        problem.start is None,
        finish,
        images,
    )
