"""Mask -> pixel graph: nodes, directed edges, opposite edges, connected components.

A directed edge b -> a is addressed by (direction d, node a): ``b = neighbours[d, a]``. Directions
come in opposite pairs, so ``d ^ 1`` turns back, and the edge a -> b is (d ^ 1, b). A missing
neighbour is the node itself: every difference along it vanishes, and no kernel needs a branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from rayrelief.checks import one_of
from rayrelief.compiled import njit
from rayrelief.conventions import BoolArray
from rayrelief.errors import InputError
from rayrelief.pieces import put, taken

Connectivity = Literal[4, "diagonal", 8]
IndexArray = npt.NDArray[np.uint32]
Int32Array = npt.NDArray[np.int32]
Scalar = TypeVar("Scalar", bound=np.generic)

_STRAIGHT = ((1, 0), (-1, 0), (0, 1), (0, -1))
_DIAGONAL = ((1, 1), (-1, -1), (1, -1), (-1, 1))
# (du, dv) of each direction; neighbours in this list are opposite.
STEPS: dict[Connectivity, tuple[tuple[int, int], ...]] = {
    4: _STRAIGHT,
    "diagonal": _DIAGONAL,
    8: _STRAIGHT + _DIAGONAL,
}
CONNECTIVITIES = one_of(STEPS, "Use 4, the paper's choice")
STRIP = 512  # columns
MOST_PIXELS = 2**31 - 1  # their indices are kept in 32 bits, with a sign


@dataclass(frozen=True, eq=False)
class PixelGraph:
    """Pixels of a mask as nodes, sorted by connected component, strip by strip within each.

    Strips are ``STRIP`` columns wide, and go row by row: neighbours above and below each other are
    then near each other in memory, however wide the image.

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
    wraps
        Whether the last column of the image joins the first.
    turn
        Of an image that repeats: how far apart in x and y its copies are, in the unit of the rays'
        origins; 0 where it does not repeat.
    """

    shape: tuple[int, int]
    steps: tuple[tuple[int, int], ...]
    pixels: Int32Array
    neighbours: IndexArray
    starts: npt.NDArray[np.int64]
    wraps: bool = False
    turn: tuple[float, float] = (0.0, 0.0)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.pixels)

    @property
    def component_count(self) -> int:
        """Number of connected components."""
        return len(self.starts) - 1

    # Neither of the next two is kept: they are cheaper to make anew than to hold for a whole run.
    @property
    def exists(self) -> BoolArray:
        """(D, N): whether the edge into each node from each direction exists."""
        exists: BoolArray = self.neighbours != np.arange(self.size, dtype=np.uint32)
        return exists

    @property
    def component_of_node(self) -> Int32Array:
        """(N,): component of each node."""
        return np.repeat(np.arange(self.component_count, dtype=np.int32), np.diff(self.starts))

    def turns(self, d: int, nodes: slice = slice(None)) -> Int32Array:
        """How often each edge of a direction crosses the seam in x and y (n, 2): -1, 0 or 1."""
        width = self.shape[1]
        here, there = self.pixels[nodes], self.pixels[self.neighbours[d, nodes]]
        apart = np.stack((there % width - here % width, there // width - here // width), axis=-1)
        return np.where(np.abs(apart) > 1, -np.sign(apart), 0).astype(np.int32)

    def edges(self) -> Iterator[tuple[int, npt.NDArray[np.int64], IndexArray]]:
        """For each direction: its index, the nodes a with a neighbour there, that neighbour b."""
        nodes = np.arange(self.size, dtype=np.uint32)
        for d in range(len(self.steps)):
            a = np.flatnonzero(self.neighbours[d] != nodes)
            yield d, a, self.neighbours[d, a]

    def gather(self, image: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """Values of an image (H, W, ...) at the nodes, (N, ...); read-only where not a copy."""
        rows = image.reshape(-1, *image.shape[2:])
        all_pixels = self.component_count == 1 and self.size == len(rows)
        if all_pixels and self.shape[1] <= STRIP:  # row by row
            rows = rows.view()
            rows.flags.writeable = False
            return rows
        return taken(rows, self.pixels)

    def scatter(self, values: npt.NDArray[Scalar], fill: Any = np.nan) -> npt.NDArray[Scalar]:
        """Image (H, W, ...) of values (N, ...) at the nodes, and ``fill`` elsewhere."""
        image = np.full((self.shape[0] * self.shape[1], *values.shape[1:]), fill, values.dtype)
        put(image, self.pixels, values)
        return image.reshape(*self.shape, *values.shape[1:])

    def without(self, edges: BoolArray) -> tuple[PixelGraph, IndexArray]:
        """Leave out edges (D, N) and their opposites; the new graph and its order of the nodes.

        Leaving out edges can split components, so the nodes are sorted again: values (..., N)
        on the old graph are ``values[..., order]`` on the new one.
        """
        nodes = np.arange(self.size, dtype=np.uint32)
        neighbours = self.neighbours.copy()
        for d in range(len(self.steps)):
            left_out = edges[d] | edges[d ^ 1, self.neighbours[d]]
            neighbours[d, left_out] = nodes[left_out]
        graph, order = _sorted_by_component(self.shape, self.steps, self.pixels, neighbours)
        return replace(graph, wraps=self.wraps, turn=self.turn), order

    def parts(self, joined: BoolArray) -> Int32Array:
        """Label (N,) of each node's part if only these edges towards even directions join nodes."""
        if joined.shape != (half := (len(self.steps) // 2, self.size)):
            found, remedy = f"joined has the shape {joined.shape}", "Of all directions give [::2]"
            raise InputError(found, expected=f"{half}, of even directions", remedy=remedy)
        labels = np.empty(self.size, dtype=np.int32)
        _label_parts(self.neighbours, np.ascontiguousarray(joined), labels)
        return labels


def pixel_graph(
    mask: BoolArray,
    connectivity: Connectivity = 4,
    *,
    wraps: bool = False,
    turn: tuple[float, float] = (0.0, 0.0),
) -> PixelGraph:
    """Graph of the pixels inside a mask (H, W); where it wraps, the last column joins the first.

    An image that repeats has a ``turn``: the same goes for its columns, its rows, or both.
    """
    CONNECTIVITIES.check("connectivity", connectivity)
    if mask.size > MOST_PIXELS:
        raise InputError(
            f"the image has {mask.size:,} pixels",
            expected=f"at most {MOST_PIXELS:,}",
            remedy="Crop it, or reduce its resolution",
        )
    steps = STEPS[connectivity]
    count = int(np.count_nonzero(mask))
    pixels = np.empty(count, dtype=np.int32)
    neighbours = np.empty((len(steps), count), dtype=np.uint32)
    # A copy: a kernel is compiled anew for each layout, and for what is read-only.
    # Around fewer than three columns a pixel would be its own neighbour, or have one twice.
    around = wraps and mask.shape[1] > 2
    columns, rows = ((t > 0 and n > 2) for t, n in zip(turn, mask.shape[::-1], strict=True))
    joined = around or columns, rows
    _join_pixels(np.array(mask, order="C"), np.array(steps), joined, pixels, neighbours)
    graph, _ = _sorted_by_component((mask.shape[0], mask.shape[1]), steps, pixels, neighbours)
    return replace(graph, wraps=around, turn=turn)


def _sorted_by_component(
    shape: tuple[int, int],
    steps: tuple[tuple[int, int], ...],
    pixels: Int32Array,
    neighbours: IndexArray,
) -> tuple[PixelGraph, IndexArray]:
    """Sort nodes by component, larger ones first; the graph, and its order of the given nodes."""
    nodes = np.arange(len(pixels), dtype=np.uint32)
    labels = np.empty(len(pixels), dtype=np.int32)
    count = label_components(neighbours, labels)
    if count == 1:
        whole = np.array([0, len(pixels)])
        return PixelGraph(shape, steps, pixels, neighbours, whole), nodes
    sizes = np.bincount(labels, minlength=count)
    by_size = np.argsort(-sizes, kind="stable")
    starts = np.concatenate(([0], np.cumsum(sizes[by_size])))
    first = np.empty(count, dtype=np.int64)
    first[by_size] = starts[:-1]
    place = np.empty_like(nodes)
    _place_nodes(labels, first, place)
    order = np.empty_like(nodes)
    order[place] = nodes
    sorted_neighbours = np.empty_like(neighbours)
    for d in range(len(steps)):
        sorted_neighbours[d, place] = place[neighbours[d]]
    return PixelGraph(shape, steps, pixels[order], sorted_neighbours, starts), order


@njit(cache=True)
def _join_pixels(mask: Any, steps: Any, around: Any, pixels: Any, neighbours: Any) -> None:
    """Number the pixels of a mask strip by strip, and find the neighbours of each."""
    height, width = mask.shape
    numbers = np.empty((height, width), dtype=np.uint32)
    count = 0
    for left in range(0, width, STRIP):
        for v in range(height):
            for u in range(left, min(left + STRIP, width)):
                if mask[v, u]:
                    numbers[v, u] = count
                    pixels[count] = v * width + u
                    count += 1
    for v in range(height):
        for u in range(width):
            if mask[v, u]:
                a = numbers[v, u]
                for d in range(len(steps)):
                    x, y = u + steps[d, 0], v + steps[d, 1]
                    if around[0]:
                        x = (x + width) % width
                    if around[1]:
                        y = (y + height) % height
                    joined = 0 <= x < width and 0 <= y < height and mask[y, x]
                    neighbours[d, a] = numbers[y, x] if joined else a


@njit(cache=True)
def label_components(neighbours: Any, labels: Any) -> int:
    """Number the components in the order of their first nodes; returns how many there are."""
    directions, nodes = neighbours.shape
    for a in range(nodes):
        labels[a] = a
    for a in range(nodes):
        for d in range(0, directions, 2):
            join_nodes(labels, a, neighbours[d, a])
    count: int = _number(labels)
    return count


@njit(cache=True)
def _label_parts(neighbours: Any, joined: Any, labels: Any) -> None:
    """Number the components of edges that are joined."""
    nodes = len(labels)
    for a in range(nodes):
        labels[a] = a
    for a in range(nodes):
        for d in range(len(joined)):
            if joined[d, a]:
                join_nodes(labels, a, neighbours[2 * d, a])
    _number(labels)


@njit(inline="always")
def join_nodes(labels: Any, a: Any, b: Any) -> None:
    """Put two nodes into one component: a label is a node before this one in it, or the node."""
    if b != a:
        root, other = first_node(labels, a), first_node(labels, b)
        labels[max(root, other)] = min(root, other)


@njit(inline="always")
def _number(labels: Any) -> Any:
    """Number components whose nodes are labelled by nodes before them; returns how many."""
    count = 0
    for a in range(len(labels)):
        if labels[a] == a:
            labels[a] = count
            count += 1
        else:
            labels[a] = labels[labels[a]]
    return count


@njit(inline="always")
def first_node(before: Any, node: Any) -> Any:
    """Follow a node to the first of its component as known so far, and halve the way there."""
    while before[node] != node:
        before[node] = before[before[node]]
        node = before[node]
    return node


@njit(cache=True)
def _place_nodes(labels: Any, first: Any, place: Any) -> None:
    """Place of each node when sorted by component; ``first`` free place of each is used up."""
    for a in range(len(labels)):
        place[a] = first[labels[a]]
        first[labels[a]] += 1
