"""Mask -> pixel graph: nodes, directed edges, opposite edges, connected components.

A directed edge b -> a is addressed by (direction d, node a): ``b = neighbours[d, a]``. Directions
come in opposite pairs, so ``d ^ 1`` turns back, and the edge a -> b is (d ^ 1, b). A missing
neighbour is the node itself: every difference along it vanishes, and no kernel needs a branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray
from rayrelief.errors import InputError

Connectivity = Literal[4, "diagonal", 8]
IndexArray = npt.NDArray[np.uint32]
Scalar = TypeVar("Scalar", bound=np.generic)

_STRAIGHT = ((1, 0), (-1, 0), (0, 1), (0, -1))
_DIAGONAL = ((1, 1), (-1, -1), (1, -1), (-1, 1))
# (du, dv) of each direction; neighbours in this list are opposite.
STEPS: dict[Connectivity, tuple[tuple[int, int], ...]] = {
    4: _STRAIGHT,
    "diagonal": _DIAGONAL,
    8: _STRAIGHT + _DIAGONAL,
}


@dataclass(frozen=True, eq=False)
class PixelGraph:
    """Pixels of a mask as nodes, sorted by connected component, row by row within each.

    Attributes
    ----------
    shape
        (height, width) of the image.
    steps
        (du, dv) of each direction.
    pixels
        (N,) flat index of each node's pixel.
    neighbours
        (D, N) node in each direction; the node itself where there is none.
    starts
        (C + 1,) first node of each component, and N.
    """

    shape: tuple[int, int]
    steps: tuple[tuple[int, int], ...]
    pixels: npt.NDArray[np.int64]
    neighbours: IndexArray
    starts: npt.NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.pixels)

    @property
    def component_count(self) -> int:
        """Number of connected components."""
        return len(self.starts) - 1

    @cached_property
    def exists(self) -> BoolArray:
        """(D, N): whether the edge into each node from each direction exists."""
        exists: BoolArray = self.neighbours != np.arange(self.size, dtype=np.uint32)
        return exists

    @cached_property
    def component_of_node(self) -> npt.NDArray[np.int64]:
        """(N,): component of each node."""
        return np.repeat(np.arange(self.component_count), np.diff(self.starts))

    def edges(self) -> Iterator[tuple[int, npt.NDArray[np.int64], IndexArray]]:
        """For each direction: its index, the nodes a with a neighbour there, that neighbour b."""
        for d in range(len(self.steps)):
            a = np.flatnonzero(self.exists[d])
            yield d, a, self.neighbours[d, a]

    def gather(self, image: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """Values of an image (H, W, ...) at the nodes, (N, ...)."""
        return image.reshape(-1, *image.shape[2:])[self.pixels]

    def scatter(self, values: npt.NDArray[Scalar], fill: Any = np.nan) -> npt.NDArray[Scalar]:
        """Image (H, W, ...) of values (N, ...) at the nodes, and ``fill`` elsewhere."""
        image = np.full((self.shape[0] * self.shape[1], *values.shape[1:]), fill, values.dtype)
        image[self.pixels] = values
        return image.reshape(*self.shape, *values.shape[1:])

    def without(self, edges: BoolArray) -> tuple[PixelGraph, npt.NDArray[np.int64]]:
        """Leave out edges (D, N) and their opposites; the new graph and its order of the nodes.

        Leaving out edges can split components, so that the nodes are sorted anew: values (..., N)
        on the old graph are ``values[..., order]`` on the new one.
        """
        nodes = np.arange(self.size, dtype=np.uint32)
        neighbours = self.neighbours.copy()
        for d in range(len(self.steps)):
            left_out = edges[d] | edges[d ^ 1, self.neighbours[d]]
            neighbours[d, left_out] = nodes[left_out]
        return _sorted_by_component(self.shape, self.steps, self.pixels, neighbours)


def pixel_graph(mask: BoolArray, connectivity: Connectivity = 4) -> PixelGraph:
    """Graph of the pixels inside a mask (H, W)."""
    if connectivity not in STEPS:
        raise InputError(
            f"connectivity is {connectivity!r}",
            expected="4, 'diagonal' or 8",
            remedy="Use 4, the paper's choice",
        )
    height, width = mask.shape
    steps = STEPS[connectivity]
    pixels = np.flatnonzero(mask)
    nodes = np.arange(len(pixels), dtype=np.uint32)
    padded = np.full((height + 2, width + 2), -1, dtype=np.int64)
    padded[1:-1, 1:-1][mask] = nodes
    neighbours = np.empty((len(steps), len(pixels)), dtype=np.uint32)
    for d, (du, dv) in enumerate(steps):
        found = padded[1 + dv : 1 + dv + height, 1 + du : 1 + du + width][mask]
        neighbours[d] = np.where(found < 0, nodes, found)
    return _sorted_by_component((height, width), steps, pixels, neighbours)[0]


def _sorted_by_component(
    shape: tuple[int, int],
    steps: tuple[tuple[int, int], ...],
    pixels: npt.NDArray[np.int64],
    neighbours: IndexArray,
) -> tuple[PixelGraph, npt.NDArray[np.int64]]:
    """Sort nodes by component, larger ones first; the graph, and its order of the given nodes."""
    labels = _connected_components(neighbours)
    sizes = np.bincount(labels)
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    order = np.argsort(rank[labels], kind="stable")
    place = np.empty(len(order), dtype=np.uint32)
    place[order] = np.arange(len(order), dtype=np.uint32)
    starts = np.concatenate(([0], np.cumsum(np.sort(sizes)[::-1]))).astype(np.int64)
    graph = PixelGraph(shape, steps, pixels[order], place[neighbours[:, order]], starts)
    return graph, order


def _connected_components(neighbours: IndexArray) -> npt.NDArray[np.int32]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = neighbours.shape[1]
    nodes = np.tile(np.arange(count, dtype=np.int32), len(neighbours) // 2)
    ends = neighbours[::2].ravel().astype(np.int32)
    matrix = coo_array((np.ones(len(ends), dtype=np.int8), (nodes, ends)), shape=(count, count))
    labels: npt.NDArray[np.int32] = connected_components(matrix, directed=False)[1]
    return labels
