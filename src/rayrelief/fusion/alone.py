"""Components of which one depth is known at most: it tells their constant, and not their shape."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.graph import PixelGraph
from rayrelief.methods.base import Solution


def are_several(graph: PixelGraph, nodes: npt.NDArray[np.int64]) -> BoolArray:
    """Components (C,) of which more than one of these nodes is a part."""
    several: BoolArray = (
        np.bincount(graph.component_of_node[nodes], minlength=graph.component_count) > 1
    )
    return several


def keep_shape(graph: PixelGraph, several: BoolArray) -> BoolArray:
    """Components (C,) that have a shape, and of which not several (C,) depths are known."""
    kept: BoolArray = ~several & (np.diff(graph.starts) > 1)
    return kept


def joined(graph: PixelGraph, kept: BoolArray, fused: Solution, free: Solution) -> Solution:
    """What was found with known depths, but for the components that are kept (C,) as they were."""
    own = kept[graph.component_of_node]
    merged = replace(
        fused,
        x=np.where(own, free.x, fused.x),
        outcome=fused.outcome if free.outcome.ok else free.outcome,
        notes=tuple(dict.fromkeys((*fused.notes, *free.notes))),
    )
    for name in ("cuts", "weights", "activation"):
        one, other = getattr(fused, name), getattr(free, name)
        if one is not None and other is not None:
            merged = replace(merged, **{name: np.where(own, other, one)})
    if fused.segments is None or free.segments is None or not fused.support or not free.support:
        return merged
    every = (*fused.support, *free.support)
    labels = np.where(own, free.segments + len(fused.support), fused.segments)
    left, segments = np.unique(labels, return_inverse=True)
    support = tuple(every[label] for label in left)
    return replace(merged, segments=segments.astype(np.int32), support=support)


def placed(
    graph: PixelGraph, solution: Solution, nodes: npt.NDArray[np.int64], values: FloatArray
) -> Solution:
    """Shift each component of which one of these nodes alone is a part to its value (M,) there."""
    component = graph.component_of_node[nodes]
    alone = np.bincount(component, minlength=graph.component_count)[component] == 1
    shift, held = np.zeros(graph.component_count), np.zeros(graph.component_count, dtype=np.bool_)
    shift[component[alone]] = (values - solution.x[nodes])[alone]
    held[component[alone]] = True
    if solution.anchored is not None:
        held |= solution.anchored
    x = solution.x + shift[graph.component_of_node]
    return replace(solution, x=x, anchored=held)
