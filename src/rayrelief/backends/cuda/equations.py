"""Equations of a problem as images, and its components as lists of pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rayrelief.backends.cuda.layout import SCALARS, Workspace
from rayrelief.conventions import FloatArray, SingleArray
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.graph import PixelGraph

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


def put_equations(work: Workspace, equations: EdgeEquations) -> None:
    """Copy offsets and factors of all directions to a workspace, and what belongs to them."""
    graph, put = equations.graph, work.machine.put
    terms: dict[str, FloatArray | SingleArray] = {
        "offset": equations.offset,
        "gamma": equations.gamma,
    }
    if equations.gamma_weight is not equations.gamma:
        terms["gamma_weight"] = equations.gamma_weight
    for name, values in terms.items():
        for d, row in enumerate(values):
            image = graph.scatter(row.astype(np.float32), fill=0.0)
            work.point(f"{name}{d}", put(image.ravel()))
    if equations.gamma_weight is equations.gamma:
        work.grid["gamma_weight"] = work.grid["gamma"]
    work.grid["wraps"] = graph.wraps
    work.grid["logarithmic"] = equations.unknown == "log-depth"
    scalars = np.zeros(1, SCALARS)
    scalars["nodes"], scalars["components"] = graph.size, graph.component_count
    work.point("s", put(scalars.view(np.int64)))
    if graph.component_count > 1:
        put_components(work, Segments.of(graph.pixels, graph.starts))


def put_components(work: Workspace, segments: Segments) -> None:
    """Tell kernels the components, where there are several."""
    count, components = len(segments.component), len(segments.first) - 1
    work.grid["segments"] = count
    work.place("segment_sum", count, np.float64)
    work.place("component_mean", components, np.float64)
    lists = {
        "order": segments.order,
        "segment_start": segments.start,
        "segment_of": segments.component,
        "component_start": segments.first,
    }
    for name, values in lists.items():
        work.point(name, work.machine.put(values))


def centred(graph: PixelGraph, x: FloatArray) -> FloatArray:
    """x (N,) without the mean of each component, as an image (H * W,), 0 outside."""
    means = np.add.reduceat(x, graph.starts[:-1]) / np.diff(graph.starts)
    image: FloatArray = graph.scatter(x - means[graph.component_of_node], fill=0.0)
    return image.ravel()
