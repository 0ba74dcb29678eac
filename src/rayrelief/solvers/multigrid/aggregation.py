"""Aggregates: nodes that one coarse node stands for, grown along strong edges.

Fixed blocks of nodes are aggregated side by side, so that any number of threads gives the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.compiled import njit
from rayrelief.conventions import BoolArray
from rayrelief.pieces import shares, side_by_side
from rayrelief.solvers.kernels import entries
from rayrelief.solvers.multigrid.rows import Rows

# An edge is strong if no edge at either end is more than so many times stronger. Asking one end
# only lets aggregates cross discontinuities: three to five times the cycles.
STRENGTH = 0.1
NODES_PER_BLOCK = 16384  # a good part of a strip, since aggregates are grown within one block
MAX_BLOCKS = 64
BLOCKS_AT_A_TIME = 2  # that a thread takes, at least
STALLED = 0.8  # aggregates per node, from which on a level hardly shrinks
FREE = 0xFFFFFFFF


@dataclass(frozen=True, eq=False)
class Aggregates:
    """Which nodes belong together.

    Attributes
    ----------
    count
        Number of aggregates.
    of_node
        (N,) aggregate of each node.
    strong
        (entries,) whether an entry is a strong edge.
    """

    count: int
    of_node: npt.NDArray[np.uint32]
    strong: BoolArray


def aggregate(rows: Rows) -> Aggregates:
    """Group nodes around roots whose strong neighbours are all free, then attach the others.

    A node without any strong edge hangs on its strongest neighbour: next to nothing joins it, so
    that its own equation gives its value as soon as the neighbour's is right.
    """
    blocks = min(MAX_BLOCKS, max(1, rows.size // NODES_PER_BLOCK))
    aggregates = _aggregate(rows, blocks)
    # Pairs that a block boundary parts do not find each other: look at all nodes at once where
    # little else is left.
    if blocks > 1 and aggregates.count > STALLED * rows.size:
        aggregates = _aggregate(rows, 1)
    return aggregates


def _aggregate(rows: Rows, blocks: int) -> Aggregates:
    bounds = np.linspace(0, rows.size, blocks + 1).astype(np.int64)
    strongest = np.empty(rows.size, dtype=np.float32)
    strong = np.empty(len(rows.column), dtype=np.bool_)
    label = np.full(rows.size, FREE, dtype=np.uint32)
    attached = np.empty_like(label)
    roots = np.zeros(blocks + 1, dtype=np.int64)
    _on_blocks(bounds, (_find_strongest, rows.arrays, strongest))
    _on_blocks(
        bounds,
        (_find_strong, rows.arrays, strongest, strong),
        (_group, rows.arrays, strong, label, False),
    )
    _on_blocks(bounds, (_attach, rows.arrays, strong, label, attached, False))
    _on_blocks(
        bounds,
        (_attach, rows.arrays, strong, attached, label, True),
        (_group, rows.arrays, strong, label, True),
        (_count_roots, label, roots),
    )
    np.cumsum(roots, out=roots)
    number, of_node = np.empty_like(label), attached
    _on_blocks(bounds, (_number_roots, label, roots, number))
    _on_blocks(bounds, (_name_nodes, label, number, of_node))
    return Aggregates(int(roots[-1]), of_node, strong)


def _on_blocks(bounds: Any, *calls: tuple[Any, ...]) -> None:
    """Call kernels with their arguments for all blocks, one after the other for each."""

    def call(some: slice) -> None:
        for kernel, *arguments in calls:
            kernel(bounds, *arguments, some)

    side_by_side(call, shares(len(bounds) - 1, BLOCKS_AT_A_TIME))


@njit(cache=True, nogil=True)
def _find_strongest(bounds: Any, rows: Any, strongest: Any, some: Any) -> None:
    for block in range(some.start, some.stop):
        for i in range(bounds[block], bounds[block + 1]):
            first, end, step = entries(rows, i, len(strongest))
            largest = np.float32(0.0)
            for e in range(first, end, step):
                largest = max(largest, rows[2][e])
            strongest[i] = largest


@njit(cache=True, nogil=True)
def _find_strong(bounds: Any, rows: Any, strongest: Any, strong: Any, some: Any) -> None:
    _, column, conductance = rows
    for block in range(some.start, some.stop):
        for i in range(bounds[block], bounds[block + 1]):
            first, end, step = entries(rows, i, len(strongest))
            for e in range(first, end, step):
                largest = max(strongest[i], strongest[column[e]])
                strong[e] = conductance[e] > 0.0 and conductance[e] >= STRENGTH * largest


@njit(cache=True, nogil=True)
def _group(bounds: Any, rows: Any, strong: Any, label: Any, rest: bool, some: Any) -> None:
    """Roots take all free strong neighbours of their block; a label is the root's number.

    A root has strong neighbours in its block, all of them free; of the rest any free node is one.
    """
    _, column, _ = rows
    for block in range(some.start, some.stop):
        lo, hi = bounds[block], bounds[block + 1]
        for i in range(lo, hi):
            if label[i] != FREE:
                continue
            first, end, step = entries(rows, i, len(label))
            free, neighbours = True, 0
            for e in range(first, end, step):
                j = column[e]
                if strong[e] and lo <= j and j < hi:
                    neighbours += 1
                    if label[j] != FREE:
                        free = False
                        break
            if not (rest or (free and neighbours > 0)):
                continue
            label[i] = i
            for e in range(first, end, step):
                j = column[e]
                if strong[e] and lo <= j and j < hi and label[j] == FREE:
                    label[j] = i


@njit(cache=True, nogil=True)
def _attach(
    bounds: Any, rows: Any, strong: Any, label: Any, attached: Any, lonely: bool, some: Any
) -> None:
    """Free nodes join the aggregate of their strongest labelled neighbour by a strong edge.

    Lonely ones, which have no strong edge at all, join their strongest neighbour if it is labelled.
    """
    _, column, conductance = rows
    for block in range(some.start, some.stop):
        for i in range(bounds[block], bounds[block + 1]):
            attached[i] = label[i]
            if label[i] != FREE:
                continue
            first, end, step = entries(rows, i, len(label))
            largest, is_lonely = 0.0, True
            for e in range(first, end, step):
                is_lonely &= not strong[e]
                joins = lonely or (strong[e] and label[column[e]] != FREE)
                if joins and conductance[e] > largest:
                    largest = conductance[e]
                    attached[i] = label[column[e]]
            if lonely and not is_lonely:
                attached[i] = FREE


@njit(cache=True, nogil=True)
def _count_roots(bounds: Any, label: Any, roots: Any, some: Any) -> None:
    """How many roots each block has, behind its own place."""
    for block in range(some.start, some.stop):
        for i in range(bounds[block], bounds[block + 1]):
            roots[block + 1] += label[i] == i


@njit(cache=True, nogil=True)
def _number_roots(bounds: Any, label: Any, before: Any, number: Any, some: Any) -> None:
    """Number the roots in the order of the nodes, with so many before each block."""
    for block in range(some.start, some.stop):
        next_root = before[block]
        for i in range(bounds[block], bounds[block + 1]):
            if label[i] == i:
                number[i] = next_root
                next_root += 1


@njit(cache=True, nogil=True)
def _name_nodes(bounds: Any, label: Any, number: Any, of_node: Any, some: Any) -> None:
    """Nodes are known by the numbers of their roots."""
    for block in range(some.start, some.stop):
        for i in range(bounds[block], bounds[block + 1]):
            of_node[i] = number[label[i]]
