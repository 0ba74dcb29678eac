"""Large arrays piece by piece, on several threads of Python side by side.

For NumPy, and for kernels that release the GIL: a kernel with a parallel loop of its own takes ten
times as long to compile. Pieces are fixed, so that any number of threads gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rayrelief.compiled import numba

NODES_PER_THREAD = 65536  # fewer do not pay for waking another thread

ROWS = 1 << 15  # that are copied at a time

Piece = TypeVar("Piece")
Scalar = TypeVar("Scalar", bound=np.generic)
Made = TypeVar("Made")
_COUNT: ContextVar[int] = ContextVar("threads", default=1)


@contextmanager
def threads_for(nodes: int, threads: int | None) -> Iterator[int]:
    """Work on so many threads (all cores by default), fewer for few nodes; yields how many."""
    available = int(numba.config.NUMBA_NUM_THREADS)
    useful = max(1, nodes // NODES_PER_THREAD)
    count, before = min(int(threads or available), available, useful), _COUNT.get()
    _COUNT.set(count)
    try:
        yield count
    finally:
        _COUNT.set(before)


def side_by_side(work: Callable[[Piece], Made], pieces: Iterable[Piece]) -> list[Made]:
    """What the work makes of each piece, in their order; on one thread outside ``threads_for``."""
    pieces = list(pieces)
    count = min(_COUNT.get(), len(pieces))
    if count < 2:
        return [work(piece) for piece in pieces]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, pieces))


def slices(size: int, length: int) -> Iterator[slice]:
    """Pieces of so many elements, a length each."""
    for start in range(0, size, length):
        yield slice(start, min(start + length, size))


def taken(rows: npt.NDArray[Scalar], indices: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Scalar]:
    """Rows (n, ...) of these indices (n,), a copy."""
    found = np.empty((len(indices), *rows.shape[1:]), dtype=rows.dtype)

    def take(some: slice) -> None:
        found[some] = np.take(rows, indices[some], axis=0)  # several times as fast as rows[indices]

    side_by_side(take, slices(len(indices), ROWS))
    return found


def put(rows: npt.NDArray[Scalar], indices: Any, values: npt.NDArray[Scalar]) -> None:
    """Put values (n, ...) into the rows of these indices (n,), each of which is another."""

    def put_some(some: slice) -> None:
        rows[indices[some]] = values[some]

    side_by_side(put_some, slices(len(indices), ROWS))
