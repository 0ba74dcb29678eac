"""Equations of a problem as images, and its components as lists of pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rayrelief.backends.cuda.layout import SCALARS, Workspace
from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.formulation.intervals import IntervalEquations
from rayrelief.graph import STEPS, PixelGraph
from rayrelief.problem import Anchors

NODES_PER_SEGMENT = 4096
Indices = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Segments:
    """Pixels sorted by component, cut into segments that one block adds up.

    Attributes
    ----------
    order, start
        (N,) flat index of each pixel; (S + 1,) first pixel of each segment in that order, and N.
    component
        (S,) component of each segment.
    first
        (C + 1,) first segment of each component, and S.
    """

    order: Indices
    start: Indices
    component: Indices
    first: Indices

    @classmethod
    def of(cls, pixels: Indices, starts: npt.NDArray[np.int64]) -> Segments:
        """Cut components, which begin at starts (C + 1,) among the sorted pixels (N,)."""
        sizes = np.diff(starts)
        pieces = -(-sizes // NODES_PER_SEGMENT)
        component = np.repeat(np.arange(len(sizes)), pieces)
        first = np.concatenate(([0], np.cumsum(pieces)))
        within = np.arange(len(component)) - first[component]
        start = np.append(starts[:-1][component] + within * NODES_PER_SEGMENT, starts[-1])
        return cls(pixels, *(each.astype(np.int32) for each in (start, component, first)))


def directions_of(graph: PixelGraph) -> int:
    """How many directions the kernels need for a graph: diagonal ones stand after straight ones."""
    return 4 if graph.steps == STEPS[4] else 8


def put_equations(work: Workspace, equations: EdgeEquations) -> None:
    """Copy the equations of all directions to a workspace, and what belongs to them."""
    graph = equations.graph
    straight = STEPS[8].index(graph.steps[0])  # 4 of diagonal neighbours alone
    halves: dict[str, FloatArray | SingleArray] = {}  # one row for two opposite directions
    terms: dict[str, FloatArray | SingleArray] = {
        "offset": equations.offset,
        "gamma": equations.gamma,
    }
    step = 1
    if isinstance(equations, IntervalEquations):
        step = 2  # of even directions alone: these equations serve both
        inside = graph.scatter(graph.pixels, fill=-1)  # what joins them is found for parts alone
        work.point("component", work.machine.put(inside.ravel()))
        halves = {name: getattr(equations, name) for name in ("half_width", "sigma", "lead")}
    elif equations.gamma_weight is not equations.gamma:
        terms["gamma_weight"] = equations.gamma_weight
    for name, values in terms.items():
        for k, row in enumerate(values):
            _put_image(work, graph, f"{name}{straight + step * k}", row)
        nothing = work.machine.zeros(work.pixels if straight else 0, np.float32)
        for d in range(0, straight, step):
            work.point(f"{name}{d}", nothing)
    for name, values in halves.items():
        for pair, row in enumerate(values):
            _put_image(work, graph, f"{name}{straight // 2 + pair}", row)
    if "gamma_weight" not in terms:
        work.grid["gamma_weight"] = work.grid["gamma"]
    work.grid["wraps"] = graph.wraps
    work.grid["logarithmic"] = equations.unknown == "log-depth"
    scalars = np.zeros(1, SCALARS)
    scalars["nodes"], scalars["components"] = graph.size, graph.component_count
    if isinstance(equations, IntervalEquations):
        scalars["noise"] = equations.noise
    work.point("s", work.machine.put(scalars.view(np.int64)))


def _put_image(
    work: Workspace, graph: PixelGraph, name: str, values: FloatArray | SingleArray
) -> None:
    image = graph.scatter(values.astype(np.float32), fill=0.0)
    work.point(name, work.machine.put(image.ravel()))


def put_components(work: Workspace, segments: Segments) -> None:
    """Tell kernels the components, where there are several."""
    count, components = len(segments.component), len(segments.first) - 1
    work.grid["segments"] = count
    work.place("segment_sum", 3 * count, np.float64)
    work.place("component_mean", components, np.float64)
    lists = {
        "order": segments.order,
        "segment_start": segments.start,
        "segment_of": segments.component,
        "component_start": segments.first,
    }
    for name, values in lists.items():
        work.point(name, work.machine.put(values))


class NodeImages:
    """Values at the nodes of a graph as images, and back, without the constant of each component.

    Where anchors hold a component, its constant is what they ask for on average.
    """

    def __init__(self, graph: PixelGraph, anchors: Anchors | None) -> None:
        self.graph = graph
        self._weights = np.ones(graph.size)
        self._constant = np.zeros(graph.component_count)
        self.anchored: BoolArray = np.zeros(graph.component_count, dtype=np.bool_)
        if anchors is not None:
            self.anchored = self._sums(anchors.weights.astype(np.float64)) > 0
            held = self.anchored[graph.component_of_node]
            self._weights = np.where(held, anchors.weights, 1.0)
            self._constant = np.where(self.anchored, self._means(anchors.values), 0.0)

    def image(self, x: FloatArray) -> FloatArray:
        """x (N,) without each component's mean, as its anchors weigh it: (H * W,), 0 outside."""
        image: FloatArray = self.graph.scatter(x - self._spread(self._means(x)), fill=0.0)
        return image.ravel()

    def values(self, image: FloatArray) -> FloatArray:
        """(N,) of an image (H * W,), with what the anchors ask for."""
        values: FloatArray = np.take(image, self.graph.pixels) + self._spread(self._constant)
        return values

    def put_anchors(self, work: Workspace, anchors: Anchors) -> None:
        """Copy anchors to a workspace."""
        _put_image(work, self.graph, "anchor", anchors.weights)
        apart = np.where(anchors.weights > 0, anchors.values - self._spread(self._constant), 0.0)
        image: FloatArray = self.graph.scatter(apart, fill=0.0)
        work.point("anchor_value", work.machine.put(image.ravel()))

    def put_components(self, work: Workspace) -> None:
        """Tell kernels the components."""
        put_components(work, Segments.of(self.graph.pixels, self.graph.starts))

    def _means(self, x: FloatArray) -> FloatArray:
        means: FloatArray = self._sums(self._weights * x) / self._sums(self._weights)
        return means

    def _sums(self, x: FloatArray) -> FloatArray:
        sums: FloatArray = np.add.reduceat(x, self.graph.starts[:-1])
        return sums

    def _spread(self, constants: FloatArray) -> FloatArray:
        spread: FloatArray = np.take(constants, self.graph.component_of_node)
        return spread
