"""Transfers between levels, and the Laplacian that the coarse level sees through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import get_num_threads, get_thread_id, njit, prange, set_num_threads

from rayrelief.conventions import SingleArray
from rayrelief.solvers.kernels import entries
from rayrelief.solvers.multigrid.aggregation import Aggregates
from rayrelief.solvers.multigrid.rows import CompressedRows, Rows

SMOOTHING = 2 / 3  # of a Jacobi step, for the interpolation
ROWS_PER_BLOCK = 512
CAPACITY = 48  # entries of a coarse row: enough nearly always, since rows have 9 to 16 on average
MOST_THREADS = 4  # of a product: each takes five bytes a node
PART = 1 << 15  # rows that are filled at a time
MORE = 1.2  # times the entries that the first rows suggest


class Transfer(CompressedRows):
    """Weights with which values at the nodes of one level make up those of another."""


def interpolation(rows: Rows, aggregates: Aggregates) -> Transfer:
    """Constant on aggregates, then smoothed by one Jacobi step along strong edges.

    Its rows sum to one, so that constants are kept. No row reaches across a weak edge, so that what
    weak edges join stays apart, except those of nodes that have no strong edge at all.
    """
    longest = len(rows.column) // rows.size if len(rows.start) == 0 else np.diff(rows.start).max()

    def fill(*part: Any) -> None:
        _interpolate(rows.arrays, aggregates.strong, aggregates.of_node, *part)

    return Transfer(*_compressed(rows.size, 1 + int(longest), fill))


def transposed(transfer: Transfer, columns: int) -> Transfer:
    """Swap rows and columns."""
    start = np.zeros(columns + 1, dtype=np.int32)
    column = np.empty_like(transfer.column)
    weight = np.empty_like(transfer.value)
    _transpose(*transfer.arrays, start, column, weight)
    return Transfer(start, column, weight)


def coarse_rows(rows: Rows, up: Transfer, down: Transfer) -> Rows:
    """Galerkin product: the energy of a coarse function is that of its interpolation.

    Off-diagonal entries only, summed from conductances, so that couplings through weak edges keep
    all their digits beside strong ones. The diagonal follows from the rows' sums being zero.
    """
    size = len(down.start) - 1
    with _at_most(MOST_THREADS) as threads:
        fine_place = np.full((threads, rows.size), -1, dtype=np.int32)
        coarse_place = np.full((threads, size), -1, dtype=np.int32)

        def fill(*part: Any) -> None:
            _multiply(rows.arrays, up.arrays, down.arrays, fine_place, coarse_place, *part)

        return Rows(*_compressed(size, CAPACITY, fill), size)


@contextmanager
def _at_most(threads: int) -> Iterator[int]:
    """Run kernels on no more than so many of the threads that they have now; yields how many."""
    available = get_num_threads()
    set_num_threads(min(available, threads))
    try:
        yield get_num_threads()
    finally:
        set_num_threads(available)


def _compressed(size: int, capacity: int, fill: Callable[..., None]) -> tuple[Any, Any, Any]:
    """Compressed rows (start, column, value), filled and packed some at a time.

    ``fill(first, column, value, count)`` writes rows from the first one on into arrays with room
    for so many entries each, and how many there are; of a row that is too long only that.
    """
    start = np.zeros(size + 1, dtype=np.int32)
    packed = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.float32)
    count = np.empty(min(PART, size), dtype=np.int32)
    rows = _room((len(count), capacity))
    for lo in range(0, size, PART):
        length = min(PART, size - lo)
        while True:
            part = tuple(array[:length] for array in rows)
            fill(lo, *part, count[:length])
            longest = int(count[:length].max())
            if longest <= rows[0].shape[1]:
                break
            rows = _room((len(count), longest))
        hi = lo + length
        np.cumsum(count[:length], out=start[lo + 1 : hi + 1])
        start[lo + 1 : hi + 1] += start[lo]
        if start[hi] > len(packed[0]):
            # For all rows if they are like these, and some more: what is not used takes no memory.
            room = start[hi] if hi == size else max(start[hi], int(MORE * start[hi] / hi * size))
            longer = _room(room)
            for new, old in zip(longer, packed, strict=True):
                new[: start[lo]] = old[: start[lo]]
            packed = longer
        _pack(*part, start[lo:], *packed)
    column, value = (array[: start[size]] for array in packed)
    return start, column, value


def _room(shape: int | tuple[int, int]) -> tuple[npt.NDArray[np.uint32], SingleArray]:
    """Arrays for columns and values."""
    return np.empty(shape, dtype=np.uint32), np.empty(shape, dtype=np.float32)


@njit(cache=True, parallel=True)
def _interpolate(
    rows: Any, strong: Any, of_node: Any, begin: int, column: Any, weight: Any, count: Any
) -> None:
    """Aggregates and their weights in each row from ``begin`` on, and how many there are."""
    _, row_column, conductance = rows
    for block in prange((len(count) + ROWS_PER_BLOCK - 1) // ROWS_PER_BLOCK):
        for n in range(block * ROWS_PER_BLOCK, min((block + 1) * ROWS_PER_BLOCK, len(count))):
            i = begin + n
            first, end, step = entries(rows, i, len(of_node))
            found, share = column[n], weight[n]
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
            count[n] = length
            if strength > 0.0:
                for k in range(length):
                    share[k] *= SMOOTHING / strength
                share[0] += 1.0 - SMOOTHING
            else:
                share[0] = 1.0


@njit(cache=True)
def _transpose(
    row_start: Any, row_column: Any, row_weight: Any, start: Any, column: Any, weight: Any
) -> None:
    for e in range(len(row_column)):
        start[row_column[e] + 1] += 1
    for j in range(len(start) - 1):
        start[j + 1] += start[j]
    for i in range(len(row_start) - 1):
        for e in range(row_start[i], row_start[i + 1]):
            j = row_column[e]
            at = start[j]
            column[at], weight[at] = i, row_weight[e]
            start[j] = at + 1
    for j in range(len(start) - 1, 0, -1):
        start[j] = start[j - 1]
    start[0] = 0


@njit(cache=True, parallel=True)
def _multiply(
    rows: Any,
    up: Any,
    down: Any,
    fine_place: Any,
    coarse_place: Any,
    begin: int,
    column: Any,
    conductance: Any,
    count: Any,
) -> None:
    """Rows of the product from ``begin`` on; of a row that is too long only the length is found.

    Row J: first (P^T L)_J over the fine nodes near J, then this times P. The places of nodes in
    the two lists are -1 outside of the row under way. Unsigned indices spare checks of each access.
    """
    _, row_column, row_conductance = rows
    up_start, up_column, up_weight = up
    down_start, down_column, down_weight = down
    size, capacity = column.shape
    for block in prange((size + ROWS_PER_BLOCK - 1) // ROWS_PER_BLOCK):
        near_place, place = fine_place[get_thread_id()], coarse_place[get_thread_id()]
        near, flow = np.empty(64, dtype=np.uint32), np.empty(64)
        for n in range(block * ROWS_PER_BLOCK, min((block + 1) * ROWS_PER_BLOCK, size)):
            J, nears = begin + n, 0
            for member in range(np.uint64(down_start[J]), np.uint64(down_start[J + 1])):
                i, share = down_column[member], np.float64(down_weight[member])
                first, end, step = entries(rows, i, len(up_start) - 1)
                room = nears + (end - first) // step + 2
                if room > len(near):
                    near, flow = _longer(near, nears, 2 * room), _longer(flow, nears, 2 * room)
                joined = 0.0
                for e in range(np.uint64(first), np.uint64(end), np.uint64(step)):
                    c = row_conductance[e]
                    if c == 0.0:
                        continue
                    joined += c
                    j = row_column[e]
                    at = near_place[j]
                    if at < 0:
                        near_place[j], near[nears], flow[nears] = nears, j, share * c
                        nears += 1
                    else:
                        flow[np.uint32(at)] += share * c
                at = near_place[i]
                if at < 0:
                    near_place[i], near[nears], flow[nears] = nears, i, -share * joined
                    nears += 1
                else:
                    flow[at] -= share * joined
            length = 0
            row, values = column[n], conductance[n]
            for m in range(nears):
                j, f = near[m], flow[m]
                near_place[j] = -1
                for u in range(np.uint64(up_start[j]), np.uint64(up_start[j + 1])):
                    K = up_column[u]
                    at = place[K]
                    if at < 0 and K != J:
                        place[K] = length
                        if length < capacity:
                            row[length], values[length] = K, f * up_weight[u]
                        length += 1
                    elif K != J and at < capacity:
                        values[np.uint32(at)] += f * up_weight[u]
            count[n] = length
            for at in range(min(length, capacity)):
                place[row[at]] = -1
            if length > capacity:  # the others are found in the same way as they were marked
                for m in range(nears):
                    for u in range(up_start[near[m]], up_start[near[m] + 1]):
                        place[up_column[u]] = -1


@njit
def _longer(array: Any, used: int, length: int) -> Any:
    """The same array with more room."""
    longer = np.empty(length, dtype=array.dtype)
    for n in range(used):
        longer[n] = array[n]
    return longer


@njit(cache=True, parallel=True)
def _pack(column: Any, value: Any, start: Any, packed_column: Any, packed_value: Any) -> None:
    """Leave out the room that rows did not use."""
    size = len(column)
    for block in prange((size + ROWS_PER_BLOCK - 1) // ROWS_PER_BLOCK):
        for i in range(block * ROWS_PER_BLOCK, min((block + 1) * ROWS_PER_BLOCK, size)):
            lo, hi = start[i], start[i + 1]
            packed_column[lo:hi] = column[i, : hi - lo]
            packed_value[lo:hi] = value[i, : hi - lo]
