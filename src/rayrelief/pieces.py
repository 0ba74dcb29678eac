"""Large arrays piece by piece, on several threads of Python side by side.

For NumPy, and for kernels that release the GIL: a kernel with a parallel loop of its own takes ten
times as long to compile. Pieces are fixed, so that any number of threads gives the same bits.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from threading import Condition
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from rayrelief.compiled import numba

NODES_PER_THREAD = 65536  # fewer do not pay for waking another thread

ROWS = 1 << 15  # that are copied at a time, at least
SHARES = 2  # of each thread, so that none waits long for the last one

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


class _Task(Generic[Piece, Made]):
    """Pieces that threads take one after the other, until it is closed."""

    def __init__(self, work: Callable[[Piece], Made], pieces: Iterable[Piece]) -> None:
        self._work: Callable[[Piece], Made] | None = work
        self._left = deque(enumerate(pieces))
        self._made: dict[int, Made] = {}
        self._errors: list[BaseException] = []
        self._helpers, self._closed, self._changed = 0, False, Condition()
        self.count = len(self._left)

    def go_on(self) -> None:
        """Take pieces while there are any: a task for each would cost more than a small one."""
        work = self._work
        try:
            while work is not None:
                try:
                    number, piece = self._left.popleft()
                except IndexError:
                    return
                self._made[number] = work(piece)
        except BaseException:
            self._left.clear()  # the others end, too
            raise

    def help_out(self) -> None:
        """Take pieces, too, on another thread; nothing once it is closed."""
        with self._changed:
            if self._closed:
                return
            self._helpers += 1
        _COUNT.set(1)
        try:
            self.go_on()
        except BaseException as error:
            self._errors.append(error)
        finally:
            with self._changed:
                self._helpers -= 1
                self._changed.notify_all()

    def closed(self) -> dict[int, Made]:
        """What was made, once no thread is at work, and none can begin; raises what one has.

        A thread that is asked in vain may keep the task for long, and must not keep its arrays.
        """
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._helpers == 0)
        made, self._made, self._work = self._made, {}, None
        for error in self._errors:
            raise error
        return made


def side_by_side(work: Callable[[Piece], Made], pieces: Iterable[Piece]) -> list[Made]:
    """What the work makes of each piece, in their order; on one thread outside ``threads_for``.

    Where no other thread can be started, as when the interpreter ends, this one does it all.
    """
    task = _Task(work, pieces)
    with suppress(RuntimeError):
        for _ in range(min(_COUNT.get(), task.count) - 1):
            # In the caller's context, which NumPy's errstate is part of.
            _HELPERS.pool.submit(copy_context().run, task.help_out)
    try:
        task.go_on()
    finally:
        made = task.closed()
    return [made[number] for number in range(task.count)]


def slices(size: int, length: int) -> Iterator[slice]:
    """Pieces of so many elements, a length each."""
    for start in range(0, size, length):
        yield slice(start, min(start + length, size))


def shares(end: int, least: int, start: int = 0) -> Iterator[slice]:
    """Some pieces for each thread, of so many elements at least, but for the last one.

    For work on elements each by itself: where pieces begin depends on the number of threads.
    """
    length = max(least, -(-(end - start) // (SHARES * _COUNT.get())))
    for first in range(start, end, length):
        yield slice(first, min(first + length, end))


def copied(values: npt.NDArray[Any], dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """Copy an array (n, ...), to another type if one is given."""
    copy = np.empty(values.shape, dtype or values.dtype)

    def copy_some(some: slice) -> None:
        copy[some] = values[some]

    side_by_side(copy_some, shares(len(values), ROWS))
    return copy


def taken(rows: npt.NDArray[Scalar], indices: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Scalar]:
    """Rows (n, ...) of these indices (n,), a copy."""
    rows = np.ascontiguousarray(rows)  # else NumPy copies all of them for each piece
    found = np.empty((len(indices), *rows.shape[1:]), dtype=rows.dtype)

    def take(some: slice) -> None:
        found[some] = np.take(rows, indices[some], axis=0)  # several times as fast as rows[indices]

    side_by_side(take, shares(len(indices), ROWS))
    return found


def put(rows: npt.NDArray[Scalar], indices: Any, values: npt.NDArray[Scalar]) -> None:
    """Put values (n, ...) into the rows of these indices (n,), each of which is another."""

    def put_some(some: slice) -> None:
        rows[indices[some]] = values[some]

    side_by_side(put_some, shares(len(indices), ROWS))
