"""Connected components: the free constant of each, fixed explicitly and reported."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import in_number
from rayrelief.graph import PixelGraph, pixel_graph
from rayrelief.pieces import shares, side_by_side

NODES_AT_A_TIME = 1 << 16
Labels = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Components:
    """Parts of the mask that no equation connects; each has its own scale (or shift).

    Attributes
    ----------
    labels
        (H, W) component of each pixel, the largest is 0; -1 outside.
    sizes
        Number of pixels of each component.
    free
        How many of them have a scale (a shift) that nothing determines; the others are anchored.
    """

    labels: Labels
    sizes: tuple[int, ...]
    free: int

    @property
    def count(self) -> int:
        """Number of components."""
        return len(self.sizes)

    def __repr__(self) -> str:
        shown = ", ".join(f"{size:,}" for size in self.sizes[:3])
        more = ", ..." if self.count > 3 else ""
        return f"Components({self.count}: {shown}{more} pixels)"


def free_note(
    free: int, central: bool, with_prior: bool = False, with_start: bool = False
) -> tuple[str, ...]:
    """Say that components have a constant each that nothing determines: all but one, or any."""
    if free <= (0 if with_prior else 1):
        return ()
    without, place = "", ""
    if with_prior:
        without = " without a known depth"
        median = f"it has the median {'depth' if central else 'height'} of the others"
        place = " (it is that of the start)" if with_start else f" ({median})"
    constant = "scale" if central else "shift"
    return (
        f"{in_number(free, 'separate component')}{without}: the {constant} of each is arbitrary"
        f"{place}, so depths can be compared only within a component",
    )


def fix_constants(
    graph: PixelGraph,
    x: FloatArray,
    start: FloatArray | None,
    anchored: BoolArray | None = None,
) -> tuple[FloatArray, Components]:
    """Shift each component of x (N,) to the median 0, or to that of the start (N,).

    Components that are anchored (C,) stay as they are; without a start the others are shifted to
    the median of these, so that all can be looked at together. The two colours of a diagonal graph
    interleave like those of a chessboard: they are aligned by the median difference of 4-neighbours
    and count as one component.
    """
    straight = any(0 in step for step in graph.steps)
    labels, aligned = (graph.component_of_node, x) if straight else _aligned_colours(graph, x)
    fixed = _shifted(aligned, labels, -label_medians(aligned, labels))
    if start is not None:
        fixed = _shifted(fixed, labels, label_medians(start, labels))
    sizes = np.bincount(labels)
    held = np.zeros(len(sizes), dtype=np.bool_)
    if anchored is not None and anchored.any():
        nodes = anchored[graph.component_of_node]
        held[labels[nodes]] = True
        # A group that was aligned follows the first of its components that is held.
        first = np.zeros(len(sizes))
        first[labels[nodes][::-1]] = (x - aligned)[nodes][::-1]
        if start is None:
            fixed = fixed + np.median(x[nodes])
        fixed = np.where(nodes, x, np.where(held[labels], aligned + first[labels], fixed))
    free = int(np.count_nonzero(~held))
    return fixed, Components(graph.scatter(labels, fill=-1), tuple(sizes.tolist()), free)


def _shifted(values: FloatArray, labels: Labels, shifts: FloatArray) -> FloatArray:
    """Add to values (N,) the shift (labels,) of the label of each."""
    moved = np.empty_like(values)

    def shift(some: slice) -> None:
        np.add(values[some], np.take(shifts, labels[some]), out=moved[some])

    side_by_side(shift, shares(len(values), NODES_AT_A_TIME))
    return moved


def label_medians(values: FloatArray, labels: Labels) -> FloatArray:
    """Median of the values (N,) that have each label."""
    is_sorted = bool(np.all(labels[:-1] <= labels[1:]))
    order = slice(None) if is_sorted else np.argsort(labels, kind="stable")
    return _run_medians(values[order], np.bincount(labels))


def _run_medians(values: FloatArray, lengths: Numbers) -> FloatArray:
    """Medians of consecutive runs of values, of these lengths; equally long ones all at once."""
    starts = np.cumsum(lengths) - lengths
    medians = np.empty(len(lengths))
    by_length = np.argsort(lengths, kind="stable")
    longer = np.flatnonzero(np.diff(lengths[by_length], prepend=0))
    for runs in np.split(by_length, longer)[1:]:
        length = lengths[runs[0]]
        if len(runs) == 1:  # as a large one is: spares the indices of all of its values
            medians[runs] = np.median(values[starts[runs[0]] :][:length])
        else:
            inside = starts[runs][:, None] + np.arange(length)
            medians[runs] = np.median(values[inside], axis=1)
    return medians


def _aligned_colours(graph: PixelGraph, x: FloatArray) -> tuple[Labels, FloatArray]:
    """Join components that are 4-neighbours: labels (N,), and x with each component shifted."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    count = graph.component_count
    first, second, gap = _median_gaps(graph, x)
    touching = coo_array((np.ones(len(gap)), (first, second)), shape=(count, count))
    groups = connected_components(touching, directed=False)[1]
    # One more component, numbered last, touches the first of each group: one search finds all.
    roots = np.unique(groups, return_index=True)[1]
    ends = np.concatenate((first, roots)), np.concatenate((second, np.full(len(roots), count)))
    joined = coo_array((np.ones(len(ends[0])), ends), shape=(count + 1, count + 1)).tocsr()
    order, parents = (found.astype(np.int64) for found in breadth_first_order(joined, count, False))
    children, above = order[1:], parents[order[1:]]
    pairs = np.minimum(children, above) * count + np.maximum(children, above)
    between = above < count  # a root's own shift stays 0
    step = np.zeros(len(children))
    step[between] = gap[np.searchsorted(first * count + second, pairs[between])]
    step[above > children] *= -1
    shift = [0.0] * (count + 1)
    for child, parent, up in zip(children.tolist(), above.tolist(), step.tolist(), strict=True):
        shift[child] = shift[parent] - up
    # Components are sorted by size; so are the groups, by their pixels.
    by_size = np.argsort(-np.bincount(groups, weights=np.diff(graph.starts)), kind="stable")
    rank = np.empty(len(by_size), dtype=np.int32)
    rank[by_size] = np.arange(len(by_size))
    component = graph.component_of_node
    return rank[groups][component], x + np.array(shift)[component]


def _median_gaps(graph: PixelGraph, x: FloatArray) -> tuple[Numbers, Numbers, FloatArray]:
    """Median of x[second] - x[first] over the 4-neighbours of each pair, first < second."""
    inside = graph.scatter(np.ones(graph.size, dtype=np.bool_), fill=False)
    straight = pixel_graph(inside, wraps=graph.wraps)
    own = straight.gather(graph.scatter(graph.component_of_node, fill=-1)).astype(np.int64)
    values = straight.gather(graph.scatter(x))
    firsts, seconds, gaps = [], [], []
    for d, a, b in straight.edges():
        if d % 2 == 0:
            across = own[a] != own[b]
            i, j = a[across], b[across]
            i, j = np.where(own[i] < own[j], (i, j), (j, i))
            firsts.append(own[i])
            seconds.append(own[j])
            gaps.append(values[j] - values[i])
    first, second, gap = np.concatenate(firsts), np.concatenate(seconds), np.concatenate(gaps)
    order = np.lexsort((second, first))
    first, second, gap = first[order], second[order], gap[order]
    another = (np.diff(first, prepend=-1) != 0) | (np.diff(second, prepend=-1) != 0)
    starts = np.flatnonzero(another)
    lengths = np.diff(starts, append=len(gap))
    return first[starts], second[starts], _run_medians(gap, lengths)
