"""Lone normals: wrong ones, which differ from all around them, while those agree with each other.

What is real turns the normals of several pixels: those of a dent, of a groove and of an edge have
others beside them that are turned as well.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from rayrelief.compiled import njit
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.formulation.edge_equations import node_pieces
from rayrelief.graph import PixelGraph
from rayrelief.pieces import side_by_side

APART = math.cos(math.radians(25.0))  # a lone normal differs by more from each one around it,
TOGETHER = math.cos(math.radians(20.0))  # and from one of these so many, of eight, by less:
AGREEING = 7  # with fewer, what is small and real would be lost
SURE = 6.0  # deviations of these from their mean, by which a lone one differs from it at least
FEWEST = 1e-3  # share of lone normals: if there are fewer, they may as well be real


def without_lone(graph: PixelGraph, normals: FloatArray) -> tuple[FloatArray, int]:
    """Unit normals (N, 3), each lone one the mean of those around it; and how many were lone.

    Normals that may be written are replaced in place. With four neighbours none is lone: what is
    seen of two of them is not enough.
    """
    if len(graph.steps) < AGREEING:
        return normals, 0
    is_lone: BoolArray = np.zeros(graph.size, dtype=np.bool_)
    side_by_side(partial(_find_lone, graph.neighbours, normals, is_lone), node_pieces(graph))
    lone = np.flatnonzero(is_lone)
    if lone.size <= FEWEST * graph.size:
        return normals, 0
    means = np.empty((lone.size, 3))
    _average(graph.neighbours, normals, lone, means)
    normals = normals if normals.flags.writeable else normals.copy()
    normals[lone] = means
    return normals, lone.size


@njit(cache=True, nogil=True)
def _find_lone(neighbours: Any, normals: Any, is_lone: Any, some: Any) -> None:
    mean = np.empty(3)
    for a in range(some.start, some.stop):
        alone = True
        for d in range(len(neighbours)):
            b = neighbours[d, a]
            if b != a and _dot(normals, a, b) > APART:
                alone = False
                break
        if alone and _put_mean(neighbours, normals, a, mean):
            is_lone[a] = True


@njit(cache=True)
def _average(neighbours: Any, normals: Any, nodes: Any, means: Any) -> None:
    for k in range(len(nodes)):
        _put_mean(neighbours, normals, nodes[k], means[k])


@njit(cache=True)
def _put_mean(neighbours: Any, normals: Any, a: int, mean: Any) -> Any:
    """Mean of the normals around a node that agree; whether it is surely another than its own."""
    for d in range(len(neighbours)):
        reference = neighbours[d, a]
        mean[:], count = 0.0, 0
        for e in range(len(neighbours)):
            b = neighbours[e, a]
            if a not in (b, reference) and _dot(normals, reference, b) > TOGETHER:
                mean += normals[b]
                count += 1
        if count < AGREEING:
            continue
        # Of unit vectors the mean square distance from their mean is 1 - length^2.
        length = math.sqrt(mean[0] ** 2 + mean[1] ** 2 + mean[2] ** 2)
        spread = 1.0 - (length / count) ** 2
        mean /= length
        apart = 2.0 - 2.0 * (
            mean[0] * normals[a, 0] + mean[1] * normals[a, 1] + mean[2] * normals[a, 2]
        )
        return apart > SURE**2 * spread
    return False


@njit(inline="always")
def _dot(normals: Any, a: int, b: int) -> Any:
    return (
        normals[a, 0] * normals[b, 0]
        + normals[a, 1] * normals[b, 1]
        + normals[a, 2] * normals[b, 2]
    )
