"""The one shape of equation that every formulation returns.

For each directed edge b -> a: ``gamma * (x[a] - x[b]) = gamma * offset``. The unknown x is the
logarithm of the depth for central cameras and the depth itself for orthographic ones. With weights
it becomes a weighted graph Laplacian, whose free constant per component is fixed outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.graph import IndexArray, PixelGraph, Scalar
from rayrelief.pieces import side_by_side, slices

COINCIDENT = 1e-9  # rays of unit length that differ by less are one ray
NODES_AT_A_TIME = 1 << 13  # whose edges are evaluated: their vectors stay in the cache
# Large maps take many times as many, up to a share of the map, although they do not then: each of
# several threads holds the interpreter between two operations of NumPy, for which the others wait.
MOST_BLOCKS, LEAST_PIECES = 16, 64

Unknown = Literal["log-depth", "depth"]
_Terms = TypeVar("_Terms", FloatArray, SingleArray)


@dataclass(frozen=True, eq=False)
class EdgeEquations:
    """Directed edges of a pixel graph with ``gamma * (x[a] - x[b]) = gamma * offset``.

    Attributes
    ----------
    graph
        Its missing edges carry zeros below.
    offset
        (D, N) what x[a] - x[b] is on a continuous surface: log(omega), or delta / gamma.
    gamma
        (D, N) factor of the equation in the cost. It is only a weight, so single precision is
        enough.
    gamma_weight
        (D, N) factor of the difference in the bilateral weights.

    Where opposite directions say the same a subclass holds these three of even ``directions``
    alone, (D / 2, N); ``offset_of`` and ``gamma_of`` know all.
    unknown
        What x means.
    left_out
        Number of directed edges that the normals make impossible (omega <= 0), with their
        opposites.
    """

    graph: PixelGraph
    offset: FloatArray
    gamma: SingleArray
    gamma_weight: SingleArray
    unknown: Unknown
    left_out: int = 0

    @property
    def directions(self) -> range:
        """Directions that the rows of offset, gamma and gamma_weight are of."""
        return range(0, len(self.graph.steps), len(self.graph.steps) // len(self.offset))

    def offset_of(self, d: int, nodes: slice = slice(None)) -> FloatArray:
        """Offset (n,) of the edges of one direction into some nodes; 0 where there is none."""
        return self.offset[d, nodes]

    def gamma_of(self, d: int) -> SingleArray:
        """Gamma (N,) of the edges of one direction into all nodes; 0 where there is none."""
        gamma: SingleArray = self.gamma[d]
        return gamma

    def precision(self, d: int) -> FloatArray:
        """(N,): what the squared residual of an edge of weight 1 counts, in one direction."""
        gamma: FloatArray = self.gamma_of(d).astype(np.float64)
        return np.square(gamma, out=gamma)

    def without_impossible(self) -> EdgeEquations:
        """Leave out, and count, edges whose offset is NaN; splits components if needed."""
        pieces = node_pieces(self.graph)
        if not any(side_by_side(lambda some: np.isnan(self.offset[:, some]).any(), pieces)):
            return self
        impossible = np.isnan(self.offset)
        graph, order = self.graph.without(impossible)
        keep = graph.exists
        gamma = kept(self.gamma, order, keep)
        shared = self.gamma_weight is self.gamma
        return replace(
            self,
            graph=graph,
            offset=kept(self.offset, order, keep),
            gamma=gamma,
            gamma_weight=gamma if shared else kept(self.gamma_weight, order, keep),
            left_out=int(self.graph.exists.sum()) - int(keep.sum()),
        )


@dataclass(frozen=True, eq=False)
class EdgeBlock:
    """Edges b -> a of one direction into consecutive nodes, with what formulations see of them.

    Attributes
    ----------
    direction, nodes
        Index of the direction from a to b, and the nodes a.
    exists
        (n,): False where there is no b; the values at a then stand in for those at b.
    n_a, n_b, r_a, r_b
        (n, 3) normals and rays (or origins) at both ends.
    """

    direction: int
    nodes: slice
    exists: BoolArray
    n_a: FloatArray
    n_b: FloatArray
    r_a: FloatArray
    r_b: FloatArray


def on_edge_blocks(
    work: Callable[[EdgeBlock], None],
    graph: PixelGraph,
    normals: FloatArray,
    rays: FloatArray,
    *,
    every: int = 1,
) -> None:
    """Work on all edges with normals (N, 3) and rays or origins (N, 3), a block of nodes at a time.

    Of ``every`` so many directions the first: with 2 each edge comes once. Blocks of different
    nodes are worked on side by side.
    """

    def on_nodes(nodes: slice) -> None:
        here = np.arange(nodes.start, nodes.stop, dtype=np.uint32)
        n_a, r_a = _by_component(normals[nodes]), _by_component(rays[nodes])
        for d in range(0, len(graph.steps), every):
            b = graph.neighbours[d, nodes]
            n_b = _by_component(np.take(normals, b, axis=0))
            r_b = _by_component(np.take(rays, b, axis=0))
            if any(graph.turn):
                r_b[:, :2] += graph.turns(d, nodes) * graph.turn
            work(EdgeBlock(d, nodes, b != here, n_a, n_b, r_a, r_b))

    side_by_side(on_nodes, node_pieces(graph))


def node_pieces(graph: PixelGraph) -> Iterator[slice]:
    """Consecutive nodes that threads work on side by side."""
    blocks = graph.size // (LEAST_PIECES * NODES_AT_A_TIME)
    return slices(graph.size, min(max(blocks, 1), MOST_BLOCKS) * NODES_AT_A_TIME)


def node_blocks(graph: PixelGraph) -> Iterator[tuple[slice, IndexArray]]:
    """Blocks of consecutive nodes, as a slice and as numbers."""
    for nodes in slices(graph.size, NODES_AT_A_TIME):
        yield nodes, np.arange(nodes.start, nodes.stop, dtype=np.uint32)


def empty_terms(graph: PixelGraph) -> FloatArray:
    """Room for one number per directed edge, (D, N)."""
    return np.empty((len(graph.steps), graph.size))


def empty_factors(graph: PixelGraph) -> SingleArray:
    """Room for the factor of each directed edge, (D, N)."""
    return np.empty((len(graph.steps), graph.size), dtype=np.float32)


def pixels_per_ray(
    step: tuple[int, int], apart: FloatArray, coincident: float = COINCIDENT
) -> FloatArray:
    """f = |u_b - u_a| / |tau_b - tau_a| of differences (N, 3) of rays; 0 where two coincide.

    Rays coincide at the poles of a panorama: the edge then says nothing, and weighs nothing.
    Origins are as close as the pixels are small, and ``coincident`` is 0 for them.
    """
    length = np.sqrt(dot(apart, apart))
    focal: FloatArray = np.zeros_like(length)
    np.divide(np.hypot(*step), length, out=focal, where=length > coincident)
    return focal


def dot(left: FloatArray, right: FloatArray) -> FloatArray:
    """Dot product over the last axis, of length 3."""
    # Not einsum: how that adds up depends on the layout, and on how many vectors there are.
    product: FloatArray = left[..., 0] * right[..., 0]
    product += left[..., 1] * right[..., 1]
    product += left[..., 2] * right[..., 2]
    return product


def _by_component(vectors: FloatArray) -> FloatArray:
    """Vectors (n, 3) with all x before all y before all z in memory, where arithmetic is fast."""
    return np.asfortranarray(vectors)


def kept(values: _Terms, order: IndexArray, keep: BoolArray) -> _Terms:
    """Values on edges in a new order of the nodes (N,); 0 on the edges that are not kept."""
    kept = np.empty_like(values)
    for d, row in enumerate(values):
        kept[d] = np.where(keep[d], row[order], 0)
    return kept


def both_ways(
    graph: PixelGraph, values: npt.NDArray[Scalar], d: int
) -> tuple[npt.NDArray[Scalar], npt.NDArray[Scalar]]:
    """Of values (D, N) on directed edges: those into each node from direction d, and back."""
    return values[d], np.take(values[d ^ 1], graph.neighbours[d])
