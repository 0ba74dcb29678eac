"""The equations that a method ends with, as images: one linear problem for the whole map.

At the end of a run each edge has a say and a difference that it asks for. An edge that is treated
as a jump to the degree beta asks for (1 - beta) of its equation and for beta of the jump that is
there: it has the say w (1 - beta) of its own equation, and none about the jump. So a surface on
which the method stands still solves the linear problem with these weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rayrelief.conventions import FloatArray, SingleArray
from rayrelief.graph import STEPS, Connectivity, Int32Array, PixelGraph
from rayrelief.large.layout import Window
from rayrelief.methods.base import Solution
from rayrelief.problem import Problem

LEAST = 1e-7  # of the median: nothing is cut off altogether, and a jump keeps the size found for it
CUT = 1e-3  # of the median: edges with less say are cuts of the surface
WEAK = 0.02  # of the median: edges with less say do not make two pixels move together
SMALL = 25  # pixels: a part of fewer moves with the largest one that it hangs together with
BENDING = 20  # a part of fewer pixels than a block has over this is moved up and down, not bent


@dataclass(frozen=True, eq=False)
class EdgeImages:
    """Equations x[a] - x[b] = target between a pixel a and its neighbour b at a step.

    Attributes
    ----------
    connectivity
        Which neighbours; one of two opposite steps stands for both.
    conductance
        (P, h, w) say of the equation of pixel a towards step p; 0 where there is none.
    target
        (P, h, w) what x[a] - x[b] is.
    """

    connectivity: Connectivity
    conductance: SingleArray
    target: SingleArray

    @classmethod
    def stacked(cls, connectivity: Connectivity, images: SingleArray) -> EdgeImages:
        """From one array (2 P, h, w): conductances, then targets."""
        pairs = len(images) // 2
        return cls(connectivity, images[:pairs], images[pairs:])

    def pairs(self) -> Iterator[tuple[int, Window, Window, SingleArray, SingleArray]]:
        """For each step p: pixels a, pixels b, conductance and target between them."""
        for p, step in enumerate(STEPS[self.connectivity][::2]):
            here, there = neighbours(self.conductance.shape[1:], step)
            yield p, here, there, self.conductance[p][here], self.target[p][here]

    def residual(self, x: FloatArray) -> FloatArray:
        """What the equations ask of each pixel of an image x (h, w), over what they get."""
        left: FloatArray = np.zeros(x.shape)
        for _, here, there, conductance, target in self.pairs():
            flux = np.where(conductance > 0, conductance * (target - (x[here] - x[there])), 0.0)
            left[here] += flux
            left[there] -= flux
        return left


def neighbours(shape: tuple[int, ...], step: tuple[int, int]) -> tuple[Window, Window]:
    """Pixels of an image that have a neighbour at a step (du, dv), and these neighbours."""
    (du, dv), (height, width) = step, shape
    here = (
        slice(max(0, -dv), height - max(0, dv)),
        slice(max(0, -du), width - max(0, du)),
    )
    there = (
        slice(here[0].start + dv, here[0].stop + dv),
        slice(here[1].start + du, here[1].stop + du),
    )
    return here, there


def settled(problem: Problem, solution: Solution) -> SingleArray:
    """Conductances and targets (2 P, h, w) with which a method ended."""
    graph, x = problem.graph, solution.x
    images: list[SingleArray] = []
    targets: list[SingleArray] = []
    for d in range(0, len(graph.steps), 2):
        there = graph.neighbours[d]
        exists = there != np.arange(graph.size, dtype=np.uint32)
        say, asked = _terms(problem, solution, d)
        back, asked_back = (np.take(terms, there) for terms in _terms(problem, solution, d + 1))
        both = say + back
        least = LEAST * float(np.median(both[exists])) if exists.any() else 0.0
        flux = say * asked - back * asked_back + least * (x - np.take(x, there))
        both += least
        target = np.divide(flux, both, out=np.zeros_like(flux), where=both > 0)
        for values, into in ((both, images), (target, targets)):
            values[~exists] = 0.0
            into.append(graph.scatter(values.astype(np.float32), fill=0.0))
    return np.stack([*images, *targets])


def parts(graph: PixelGraph, conductance: SingleArray) -> tuple[Int32Array, int]:
    """Label (h, w) of the parts of a block, -1 outside, and how many of the first ones may bend."""
    joined = np.zeros((len(conductance), graph.size), dtype=np.bool_)
    for p, image in enumerate(conductance):
        values = graph.gather(image)
        found = values[values > 0]
        joined[p] = values > (WEAK * float(np.median(found)) if found.size else np.inf)
    found_parts = graph.parts(joined)
    sizes = np.bincount(found_parts)
    # Nodes are sorted by component: what is small there goes with the largest part.
    component = graph.component_of_node
    order = np.lexsort((-sizes[found_parts], component))
    largest = found_parts[order[graph.starts[:-1]]]
    small = sizes < SMALL
    labels = np.where(small[found_parts], largest[component], found_parts)
    _, labels, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.empty(len(sizes), np.int32)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return graph.scatter(rank[labels], fill=-1), int(np.sum(sizes >= graph.size / BENDING))


def _terms(problem: Problem, solution: Solution, d: int) -> tuple[FloatArray, FloatArray]:
    """Say (N,) of the edges of a direction, and the difference x[a] - x[b] that they ask for."""
    equations: Any = problem.equations
    say: FloatArray = equations.precision(d)
    if solution.weights is not None:
        say = say * solution.weights[d]
    if solution.activation is not None:
        say = say * (1.0 - solution.activation[d])
    return say, equations.offset_of(d)
