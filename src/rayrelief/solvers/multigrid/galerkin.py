"""Transfers between levels, and the Laplacian that the coarse level sees through them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rayrelief.compiled import njit
from rayrelief.pieces import shares, side_by_side
from rayrelief.solvers.kernels import entries
from rayrelief.solvers.multigrid.aggregation import Aggregates
from rayrelief.solvers.multigrid.packing import compressed
from rayrelief.solvers.multigrid.rows import CompressedRows, Rows

SMOOTHING = 2 / 3  # of a Jacobi step, for the interpolation
COLUMNS_AT_A_TIME = 1 << 15
ROWS_PER_PIECE, MOST_PIECES = 1 << 16, 16  # of rows that are swapped with columns side by side
CAPACITY = 48  # entries of a coarse row: enough nearly always, since rows have 9 to 16 on average
TABLE = 16  # places of a table of nodes for each entry of a row that there is room for
# Scatters nodes over a table: rows of pixels, often a power of two long, would pile up.
SCATTER = np.uint64(0x9E3779B1)


class Transfer(CompressedRows):
    """Weights with which values at the nodes of one level make up those of another."""


def interpolation(rows: Rows, aggregates: Aggregates) -> Transfer:
    """Constant on aggregates, then smoothed by one Jacobi step along strong edges.

    Its rows sum to one, so that constants are kept. No row reaches across a weak edge, so that what
    weak edges join stays apart, except those of nodes that have no strong edge at all.
    """
    longest = len(rows.column) // rows.size if len(rows.start) == 0 else np.diff(rows.start).max()
    fill = partial(_interpolate, rows.arrays, aggregates.strong, aggregates.of_node)
    return Transfer(*compressed(rows.size, 1 + int(longest), fill))


def transposed(transfer: Transfer, columns: int) -> Transfer:
    """Swap rows and columns."""
    rows = len(transfer.start) - 1
    pieces = min(MOST_PIECES, max(1, rows // ROWS_PER_PIECE))
    bounds = np.linspace(0, rows, pieces + 1).astype(np.int64)
    counts = np.zeros((pieces, columns), dtype=np.int32)
    start = np.zeros(columns + 1, dtype=np.int32)
    column = np.empty_like(transfer.column)
    weight = np.empty_like(transfer.value)
    side_by_side(partial(_count_columns, transfer.arrays, bounds, counts), range(pieces))
    side_by_side(partial(_add_counts, counts, start[1:]), shares(columns, COLUMNS_AT_A_TIME))
    np.cumsum(start, dtype=np.int32, out=start)  # with a dtype it is several times as fast
    transpose = partial(_transpose, transfer.arrays, bounds, start, counts, column, weight)
    side_by_side(transpose, range(pieces))
    return Transfer(start, column, weight)


def coarse_rows(rows: Rows, up: Transfer, down: Transfer) -> Rows:
    """Galerkin product: the energy of a coarse function is that of its interpolation.

    Off-diagonal entries only, summed from conductances, so that couplings through weak edges keep
    all their digits beside strong ones. The diagonal follows from the rows' sums being zero.
    """
    size = len(down.start) - 1
    fill = partial(_multiply, rows.arrays, up.arrays, down.arrays)
    return Rows(*compressed(size, CAPACITY, fill), size)


@njit(cache=True, nogil=True)
def _interpolate(
    rows: Any,
    strong: Any,
    of_node: Any,
    row_end: Any,
    column: Any,
    weight: Any,
    some: Any,
) -> Any:
    """Aggregates and their weights, some rows; how many there are."""
    _, row_column, conductance = rows
    at = 0
    for i in range(some.start, some.stop):
        first, end, step = entries(rows, i, len(of_node))
        found, share = column[at:], weight[at:]
        found[0], share[0] = of_node[i], 0.0
        length, strength = 1, 0.0
        for e in range(np.uint64(first), np.uint64(end), np.uint64(step)):
            if not strong[e]:
                continue
            strength += conductance[e]
            k, aggregate = 0, of_node[row_column[e]]
            while k < length and found[k] != aggregate:
                k += 1
            if k == length:
                found[k], share[k] = aggregate, 0.0
                length += 1
            share[k] += conductance[e]
        if strength > 0.0:
            for k in range(length):
                share[k] *= SMOOTHING / strength
            share[0] += 1.0 - SMOOTHING
        else:
            share[0] = 1.0
        at += length
        row_end[i + 1] = at
    return at


@njit(cache=True, nogil=True)
def _count_columns(rows: Any, bounds: Any, counts: Any, piece: int) -> None:
    """How many entries a piece of the rows has in each column."""
    start, column, _ = rows
    count = counts[piece]
    for e in range(np.uint64(start[bounds[piece]]), np.uint64(start[bounds[piece + 1]])):
        count[column[e]] += 1


@njit(cache=True, nogil=True)
def _add_counts(counts: Any, total: Any, some: Any) -> None:
    """Entries of each column in the pieces before each piece, in place, and in all of them."""
    for j in range(some.start, some.stop):
        before = 0
        for piece in range(len(counts)):
            count = counts[piece, j]
            counts[piece, j] = before
            before += count
        total[j] = before


@njit(cache=True, nogil=True)
def _transpose(
    rows: Any, bounds: Any, column_start: Any, counts: Any, column: Any, weight: Any, piece: int
) -> None:
    """Entries of a piece by column, each in the order of the rows; counts are used up."""
    start, row_column, row_weight = rows
    before = counts[piece]
    for i in range(np.uint64(bounds[piece]), np.uint64(bounds[piece + 1])):
        for e in range(np.uint64(start[i]), np.uint64(start[i + np.uint64(1)])):
            j = row_column[e]
            at = np.uint64(column_start[j] + before[j])
            before[j] += 1
            column[at], weight[at] = i, row_weight[e]


@njit(cache=True, nogil=True)
def _multiply(
    rows: Any,
    up: Any,
    down: Any,
    row_end: Any,
    column: Any,
    conductance: Any,
    some: Any,
) -> Any:
    """Some rows of the product, and how many entries they have; less than none, if a row is longer.

    Row J: first (P^T L)_J over the fine nodes near J, then this times P. Where a node stands in
    one of the two lists is looked up in a table that is small: it stays in the cache, and no thread
    needs memory for all nodes. Unsigned indices spare checks of each access.
    """
    _, row_column, row_conductance = rows
    up_start, up_column, up_weight = up
    down_start, down_column, down_weight = down
    capacity = len(column) // (some.stop - some.start)
    places = 1
    while places < TABLE * capacity:
        places *= 2
    near, nodes, flow = _table(places), np.empty(places, dtype=np.uint32), np.empty(places)
    found, most = _table(places), places // 2
    before_near = before_found = 0  # numbers of earlier rows are less
    begin = 0
    for J in range(some.start, some.stop):
        nears, length = 0, 0
        for member in range(np.uint64(down_start[J]), np.uint64(down_start[J + 1])):
            i, share = down_column[member], np.float64(down_weight[member])
            first, end, step = entries(rows, i, len(up_start) - 1)
            if nears + (end - first) // step >= most:
                return -2 * capacity
            joined = 0.0
            for e in range(np.uint64(first), np.uint64(end), np.uint64(step)):
                c = row_conductance[e]
                if c == 0.0:
                    continue
                joined += c
                j = row_column[e]
                slot = _place(near, before_near, j)
                at = near[slot, 1] - before_near
                if at < 0:
                    near[slot, 0], near[slot, 1] = j, before_near + nears
                    nodes[np.uint64(nears)], flow[np.uint64(nears)] = j, share * c
                    nears += 1
                else:
                    flow[np.uint64(at)] += share * c
            slot = _place(near, before_near, i)
            at = near[slot, 1] - before_near
            if at < 0:
                near[slot, 0], near[slot, 1] = i, before_near + nears
                nodes[np.uint64(nears)], flow[np.uint64(nears)] = i, -share * joined
                nears += 1
            else:
                flow[np.uint64(at)] -= share * joined
        row, values = column[begin : begin + capacity], conductance[begin : begin + capacity]
        for m in range(np.uint64(nears)):
            j, f = np.uint64(nodes[m]), flow[m]
            for u in range(np.uint64(up_start[j]), np.uint64(up_start[j + np.uint64(1)])):
                K = up_column[u]
                if K == J:
                    continue
                slot = _place(found, before_found, K)
                at = found[slot, 1] - before_found
                if at < 0 and length < capacity:
                    found[slot, 0], found[slot, 1] = K, before_found + length
                    row[np.uint64(length)], values[np.uint64(length)] = K, f * up_weight[u]
                    length += 1
                elif at < 0:
                    return -2 * capacity
                else:
                    values[np.uint64(at)] += f * up_weight[u]
        begin += length
        row_end[J + 1] = begin
        before_near += nears
        before_found += length
    return begin


@njit(inline="always")
def _table(places: int) -> Any:
    """Nodes and their numbers, none at first."""
    return np.full((places, 2), -1, dtype=np.int32)


@njit(inline="always")
def _place(table: Any, before: int, node: Any) -> Any:
    """Where a node stands in a table, or would; numbers of other rows are less than before."""
    last = np.uint64(len(table) - 1)
    slot = (np.uint64(node) * SCATTER >> np.uint64(16)) & last
    while table[slot, 1] >= before and table[slot, 0] != node:
        slot = (slot + np.uint64(1)) & last
    return slot
