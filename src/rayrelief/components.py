"""Connected components: the free constant of each, fixed explicitly and reported."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import FloatArray
from rayrelief.graph import PixelGraph, pixel_graph

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Components:
    """Parts of the mask that no equation joins; each has a scale (a shift) of its own.

    Attributes
    ----------
    labels
        (H, W) component of each pixel, the largest is 0; -1 outside.
    sizes
        Pixels of each component.
    """

    labels: npt.NDArray[np.int32]
    sizes: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of components."""
        return len(self.sizes)

    def __repr__(self) -> str:
        shown = ", ".join(f"{size:,}" for size in self.sizes[:3])
        more = ", ..." if self.count > 3 else ""
        return f"Components({self.count}: {shown}{more} pixels)"


def fix_constants(
    graph: PixelGraph, x: FloatArray, start: FloatArray | None
) -> tuple[FloatArray, Components]:
    """Shift each component of x (N,) to the median 0, or to that of the start (N,).

    The two colours of a diagonal graph interleave like those of a chessboard: they are
    aligned by the median difference of 4-neighbours and count as one component.
    """
    if any(0 in step for step in graph.steps):
        labels = graph.component_of_node
    else:
        labels, x = _aligned_colours(graph, x)
    order = np.argsort(labels, kind="stable")
    bounds = np.concatenate(([0], np.cumsum(np.bincount(labels))))
    fixed = np.empty_like(x)
    for lo, hi in pairwise(bounds):
        nodes = order[lo:hi]
        target = 0.0 if start is None else np.median(start[nodes])
        fixed[nodes] = x[nodes] - np.median(x[nodes]) + target
    image = graph.scatter(labels.astype(np.int32), fill=-1)
    return fixed, Components(image, tuple(int(n) for n in np.diff(bounds)))


def _aligned_colours(graph: PixelGraph, x: FloatArray) -> tuple[Labels, FloatArray]:
    """Join components that are 4-neighbours: labels (N,), and x with each component shifted."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    gaps = _median_gaps(graph, x)
    count = graph.component_count
    ends = np.array(list(gaps), dtype=np.int64).reshape(-1, 2)
    touching = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
    groups = connected_components(touching, directed=False)[1]
    shift = np.zeros(count)
    for root in np.unique(groups, return_index=True)[1]:
        order, parents = breadth_first_order(touching.tocsr(), root, directed=False)
        for child in order[1:]:
            parent = parents[child]
            gap = gaps[parent, child] if parent < child else -gaps[child, parent]
            shift[child] = shift[parent] - gap
    # Components are sorted by size; so are the groups, by their pixels.
    by_size = np.argsort(-np.bincount(groups, weights=np.diff(graph.starts)), kind="stable")
    rank = np.empty(len(by_size), dtype=np.int64)
    rank[by_size] = np.arange(len(by_size))
    component = graph.component_of_node
    return rank[groups][component], x + shift[component]


def _median_gaps(graph: PixelGraph, x: FloatArray) -> dict[tuple[int, int], float]:
    """Median of x[second] - x[first] over the 4-neighbours of each pair, first < second."""
    straight = pixel_graph(graph.scatter(np.ones(graph.size, dtype=np.bool_), fill=False))
    own = straight.gather(graph.scatter(graph.component_of_node, fill=-1))
    values = straight.gather(graph.scatter(x))
    firsts, seconds, gaps = [], [], []
    for d, a, b in straight.edges():
        if d % 2 == 0:
            swap = own[a] > own[b]
            firsts.append(np.where(swap, own[b], own[a]))
            seconds.append(np.where(swap, own[a], own[b]))
            gaps.append(np.where(swap, values[a] - values[b], values[b] - values[a]))
    first, second, gap = np.concatenate(firsts), np.concatenate(seconds), np.concatenate(gaps)
    across = first != second
    first, second, gap = first[across], second[across], gap[across]
    order = np.lexsort((second, first))
    first, second, gap = first[order], second[order], gap[order]
    breaks = np.flatnonzero((np.diff(first) != 0) | (np.diff(second) != 0)) + 1
    begins = np.concatenate(([0], breaks)) if len(first) else breaks
    return {
        (int(first[i]), int(second[i])): float(np.median(part))
        for i, part in zip(begins, np.split(gap, breaks), strict=len(first) > 0)
    }
