"""Large arrays piece by piece, on several threads of Python side by side.

For NumPy, and for kernels that release the GIL: a kernel with a parallel loop of its own takes ten
times as long to compile. Pieces are fixed, so that any number of threads gives the same bits.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
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


class _Helpers:
    """Threads that are started when they are first asked for, and kept: runs ask often."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """As many as there are cores beside this thread; no thread survives a fork."""
        self.pool = ThreadPoolExecutor(max(1, int(numba.config.NUMBA_NUM_THREADS) - 1))


_HELPERS = _Helpers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_HELPERS.begin)


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
    """What the work makes of each piece, in their order; on one thread outside ``threads_for``.

    Where no other thread can be started, as when the interpreter ends, this one does it all.
    """
    left = deque(enumerate(pieces))
    made: dict[int, Made] = {}
    others = min(_COUNT.get(), len(left)) - 1

    def work_on() -> None:
        # Piece after piece: a task for each would cost more than a small piece takes.
        while True:
            try:
                number, piece = left.popleft()
            except IndexError:
                return
            made[number] = work(piece)

    def help_out() -> None:
        _COUNT.set(1)
        try:
            work_on()
        except BaseException:
            left.clear()  # the others end, too
            raise

    if others < 1:
        work_on()
        return [made[number] for number in range(len(made))]
    helpers: list[Future[None]] = []
    try:
        with suppress(RuntimeError):
            while len(helpers) < others:
                # In the caller's context, which NumPy's errstate is part of.
                helpers.append(_HELPERS.pool.submit(copy_context().run, help_out))
        work_on()
    except BaseException:
        left.clear()
        raise
    finally:
        helpers = [helper for helper in helpers if not helper.cancel()]
        wait(helpers)
    for helper in helpers:
        helper.result()
    return [made[number] for number in range(len(made))]


def slices(size: int, length: int) -> Iterator[slice]:
    """Pieces of so many elements, a length each."""
    for start in range(0, size, length):
        yield slice(start, min(start + length, size))


def taken(rows: npt.NDArray[Scalar], indices: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Scalar]:
    """Rows (n, ...) of these indices (n,), a copy."""
    rows = np.ascontiguousarray(rows)  # else NumPy copies all of them for each piece
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
