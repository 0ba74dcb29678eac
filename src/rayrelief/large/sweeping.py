"""One block of the linear problem, with the values of the pixels around it held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rayrelief.backends.threads import kernel_threads
from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.graph import STEPS, PixelGraph, pixel_graph
from rayrelief.large.equations import EdgeImages
from rayrelief.large.joining import equations_of
from rayrelief.large.layout import Block, shape_of, within
from rayrelief.operators import Operator
from rayrelief.solvers.multigrid import Multigrid

if TYPE_CHECKING:
    from rayrelief.large.steps import Job

SOLVER = Multigrid(rtol=1e-8)


def solve_block(
    job: Job, block: Block, sweep: int, ring: FloatArray, offsets: FloatArray
) -> FloatArray:
    """Surface (h, w) of a block, from its surface after a sweep with offsets of its parts.

    Equations that lead to the ring become anchors: their say goes to the diagonal, and what they
    ask for to the right-hand side.
    """
    outer = job.layout.grown(block.whole, 1)
    inside = job.store.window(job.layout, "inside", outer)
    start = _start(job, block, sweep, offsets)
    whole = within(block.whole, outer)
    held = np.zeros(shape_of(outer))
    passed = 0
    for window in job.layout.ring(block):
        height, width = shape_of(window)
        held[within(window, outer)] = ring[passed : passed + height * width].reshape(height, width)
        passed += height * width
    images = equations_of(job, outer)
    free = np.zeros_like(inside)
    free[whole] = inside[whole]
    if not free.any():
        return np.full(shape_of(block.whole), np.nan)
    conductance, anchors, right = _system(images, free, held)
    del images, held
    graph, conductance = _graph(job, free[whole], conductance[(slice(None), *whole)])
    diagonal = graph.gather(anchors[whole]).astype(np.float32)
    rhs, x = graph.gather(right[whole]), graph.gather(start)
    del anchors, right
    operator = Operator(graph, conductance, diagonal if diagonal.any() else None)
    with kernel_threads(job.threads, graph.size):
        solved = SOLVER.prepare(operator).solve(np.array(rhs), np.array(x)).x
    # What nothing holds stays where it was.
    component, kept = graph.component_of_node, ~operator.anchored
    if kept.any():
        moved = np.bincount(component, solved - x) / np.diff(graph.starts)
        solved = solved - np.where(kept, moved, 0.0)[component]
    surface: FloatArray = graph.scatter(solved)
    return surface


def _start(job: Job, block: Block, sweep: int, offsets: FloatArray) -> FloatArray:
    """Surface of the block after the last sweep; the median of a part where it has none yet."""
    x = np.array(job.store.read(f"surface.{sweep}", block.number))
    x += np.append(offsets, 0.0)[job.store.read("parts", block.number)]
    missing = ~np.isfinite(x)
    x[missing] = 0.0 if missing.all() else np.median(x[~missing][::101])
    return x


def _system(
    images: EdgeImages, free: BoolArray, held: FloatArray
) -> tuple[SingleArray, FloatArray, FloatArray]:
    """Conductances (D, h, w) between free pixels, anchors (h, w) and right-hand side (h, w)."""
    steps = STEPS[images.connectivity]
    conductance: SingleArray = np.zeros((len(steps), *free.shape), np.float32)
    anchors, right = np.zeros(free.shape), np.zeros(free.shape)
    for p, here, there, say, target in images.pairs():
        both = free[here] & free[there]
        conductance[2 * p][here] = np.where(both, say, 0.0)
        conductance[2 * p + 1][there] = np.where(both, say, 0.0)
        flux = say * target.astype(np.float64)
        for one, other, sign in ((here, there, 1.0), (there, here, -1.0)):
            leads_out = free[one] & ~free[other]
            anchors[one] += np.where(leads_out, say, 0.0)
            right[one] += np.where(free[one], sign * flux, 0.0)
            right[one] += np.where(leads_out, say * held[other], 0.0)
    return conductance, anchors, right


def _graph(job: Job, free: BoolArray, images: SingleArray) -> tuple[PixelGraph, SingleArray]:
    """Graph of the equations between free pixels, and their conductances (D, N)."""
    graph = pixel_graph(free, job.connectivity)
    missing = np.stack([graph.gather(image) == 0 for image in images])
    missing &= graph.exists
    if missing.any():
        graph, _ = graph.without(missing)
    return graph, np.stack([graph.gather(image) for image in images])
