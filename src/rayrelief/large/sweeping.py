"""One block of the linear problem, with the values of the pixels around it held."""

from __future__ import annotations

import numpy as np

from rayrelief.backends.threads import kernel_threads
from rayrelief.components import label_medians
from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.graph import STEPS, Int32Array, PixelGraph, pixel_graph
from rayrelief.large.equations import EdgeImages
from rayrelief.large.job import Job
from rayrelief.large.joining import ALONE, Member, Own, equations_of, filled, lift
from rayrelief.large.layout import Block, shape_of, within
from rayrelief.operators import Operator
from rayrelief.solvers.multigrid import Multigrid

# Of the correction: the next sweep finds what is left. With 1e-2 the sweeps of crowds may diverge:
# what hangs on a few edges is hardly in the residual.
SOLVER = Multigrid(rtol=1e-4)


def solve_block(
    job: Job, block: Block, sweep: int, ring: FloatArray, moves: Own
) -> tuple[FloatArray, bool]:
    """Surface (h, w) of a block, from its surface after a sweep; whether the solver converged.

    The sweep's surface is taken with the moves of its parts.

    What is solved for is the correction. Equations that lead to the ring become anchors: their say
    goes to the diagonal, and what they ask for is in the residual.
    """
    outer = job.layout.grown(block.whole, 1)
    whole = within(block.whole, outer)
    inside = job.store.window(job.layout, "inside", outer) > 0
    free = np.zeros_like(inside)
    free[whole] = inside[whole]
    if not free.any():
        return np.full(shape_of(block.whole), np.nan), True
    x = np.zeros(shape_of(outer))
    x[whole] = start = _start(job, block, sweep, moves)
    passed = 0
    for window in job.layout.ring(block):
        height, width = shape_of(window)
        x[within(window, outer)] = ring[passed : passed + height * width].reshape(height, width)
        passed += height * width
    images = equations_of(job, outer)
    left = images.residual(x)[whole]
    del x
    conductance, anchors = _system(images, free)
    del images
    graph, conductance = _graph(job, free[whole], conductance[(slice(None), *whole)])
    diagonal = graph.gather(anchors[whole])
    del anchors
    operator = Operator(graph, conductance, diagonal if diagonal.any() else None)
    # What nothing holds stays where it was, and what is asked of it adds up to 0 but for rounding.
    component, kept = graph.component_of_node, ~operator.anchored
    rhs = _without_means(np.array(graph.gather(left)), component, kept)
    with kernel_threads(job.threads, graph.size):
        solution = SOLVER.prepare(operator).solve(rhs, np.zeros_like(rhs))
    moved = _without_means(solution.x, component, kept)
    return start + graph.scatter(moved), solution.converged


def _without_means(values: FloatArray, component: Int32Array, which: BoolArray) -> FloatArray:
    """Values (N,) less their means over some of the components."""
    if not which.any():
        return values
    mean = np.bincount(component, values) / np.bincount(component)
    less: FloatArray = values - np.where(which, mean, 0.0)[component]
    return less


def centre_alone(job: Job, block: Block, x: FloatArray) -> None:
    """Shift what is a core's alone of its surface (h, w), in place: the median of each is 0."""
    alone = job.store.window(job.layout, "inside", block.core) == ALONE
    if not alone.any():
        return
    conductance, _ = _system(equations_of(job, block.core), alone)
    graph, _ = _graph(job, alone, conductance)
    values, component = graph.gather(x), graph.component_of_node
    x[alone] = graph.scatter(values - label_medians(values, component)[component])[alone]


def _start(job: Job, block: Block, sweep: int, moves: Own) -> FloatArray:
    """Surface of the block after the last sweep; the median of it where it has none yet."""
    x = np.array(job.store.read(job.surface(sweep), block.number))
    labels = job.store.read("parts", block.number)
    x += lift(job, Member(block, block.whole, labels, np.ones(())), moves)
    return filled(x)


def _system(images: EdgeImages, free: BoolArray) -> tuple[SingleArray, SingleArray]:
    """Conductances (D, h, w) between free pixels, and anchors (h, w)."""
    steps = STEPS[images.connectivity]
    conductance: SingleArray = np.zeros((len(steps), *free.shape), np.float32)
    anchors: SingleArray = np.zeros(free.shape, np.float32)
    for p, here, there, say, _ in images.pairs():
        both = free[here] & free[there]
        conductance[2 * p][here] = np.where(both, say, 0.0)
        conductance[2 * p + 1][there] = np.where(both, say, 0.0)
        for one, other in ((here, there), (there, here)):
            anchors[one] += np.where(free[one] & ~free[other], say, 0.0)
    return conductance, anchors


def _graph(job: Job, free: BoolArray, images: SingleArray) -> tuple[PixelGraph, SingleArray]:
    """Graph of the equations between free pixels, and their conductances (D, N)."""
    graph = pixel_graph(free, job.connectivity)
    missing = np.stack([graph.gather(image) == 0 for image in images])
    missing &= graph.exists
    if missing.any():
        graph, _ = graph.without(missing)
    return graph, np.stack([graph.gather(image) for image in images])
