"""Compressed rows, filled by several threads, whose lengths nobody knows before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.checks import require
from rayrelief.compiled import njit
from rayrelief.conventions import SingleArray
from rayrelief.pieces import shares, side_by_side

# Room for entries that are filled at a time, at least and as a share of all, and by one thread.
ROOM, BATCHES, LEAST_ROOM = 1 << 20, 4, 1 << 15
MORE = 1.2  # times the entries that the first rows suggest
MOST = 2**31 - 1  # entries, which are counted in 32 bits


def compressed(size: int, capacity: int, fill: Callable[..., int]) -> tuple[Any, Any, Any]:
    """Compressed rows (start, column, value), filled into spare room and packed, some at a time.

    ``fill(start, column, value, some)`` writes a slice of the rows one after the other into arrays
    with room for so many entries of each, and where row i ends at ``start[i + 1]``. It returns how
    many entries there are, or if a row is too long, minus a room to try.
    """
    start = np.zeros(size + 1, dtype=np.int32)
    most = min(size, max(ROOM // capacity, size // BATCHES))
    room, packed = _room(most * capacity), _room(0)
    for lo in range(0, size, most):
        hi = min(lo + most, size)
        some = list(shares(hi, LEAST_ROOM // capacity, lo))
        while True:
            found = side_by_side(partial(_fill, fill, start, room, capacity, lo), some)
            if min(found) >= 0:
                break
            capacity = -min(found)
            room = _room(most * capacity)
        ends = (start[lo] + np.cumsum(found)).tolist()
        require(
            ends[-1] < MOST,
            f"more than {MOST:,} entries in a level of the solver",
            "fewer: some 700 million pixels in one piece",
            "Integrate it in blocks (docs/large_maps.md)",
        )
        if ends[-1] > len(packed[0]):
            # For all rows if they are like these, and some more: what is not used takes no memory.
            enough = ends[-1] if hi == size else max(ends[-1], int(MORE * ends[-1] / hi * size))
            longer = _room(int(enough))
            for new, old in zip(longer, packed, strict=True):
                new[: start[lo]] = old[: start[lo]]
            packed = longer
        pack = partial(_pack, start, room, packed, capacity, lo)
        lengths = zip(some, found, ends, strict=True)
        side_by_side(pack, [(each.start, each.stop, *filled) for each, *filled in lengths])
    column, value = (array[: start[size]] for array in packed)
    return start, column, value


def _room(entries: int) -> tuple[npt.NDArray[np.uint32], SingleArray]:
    """Arrays for columns and values."""
    return np.empty(entries, dtype=np.uint32), np.empty(entries, dtype=np.float32)


def _fill(
    fill: Callable[..., int], start: Any, room: Any, capacity: int, lo: int, some: slice
) -> int:
    """Fill the room of some of the rows from ``lo`` on."""
    begin, end = (some.start - lo) * capacity, (some.stop - lo) * capacity
    return fill(start, *(array[begin:end] for array in room), some)


@njit(cache=True, nogil=True)  # one kernel: between calls of NumPy threads would wait for the GIL
def _pack(start: Any, room: Any, packed: Any, capacity: int, lo: int, piece: Any) -> None:
    """Leave out the room that some of the rows from ``lo`` on did not use."""
    first, stop, length, end = piece
    column, value = room
    packed_column, packed_value = packed
    source, target = np.uint64((first - lo) * capacity), np.uint64(end - length)
    for k in range(np.uint64(length)):
        packed_column[target + k] = column[source + k]
        packed_value[target + k] = value[source + k]
    for i in range(first + 1, stop + 1):
        start[i] += end - length
