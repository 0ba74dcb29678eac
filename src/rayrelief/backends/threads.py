"""Threads of the compiled kernels: how many, and that they wait without burning the cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numba

NODES_PER_THREAD = 65536  # fewer do not pay for waking another thread

# Some of numba's threading layers must not be entered twice at a time: runs started from several
# Python threads take turns. A callback may start a run of its own.
_ONE_AT_A_TIME = threading.RLock()


@contextmanager
def kernel_threads(threads: int | None, nodes: int) -> Iterator[None]:
    """Run kernels on so many threads (all cores by default), fewer for few nodes."""
    with _ONE_AT_A_TIME:
        _start_waiting_passively()
        available = int(numba.config.NUMBA_NUM_THREADS)
        useful = max(1, nodes // NODES_PER_THREAD)
        before = numba.get_num_threads()
        numba.set_num_threads(min(int(threads or available), available, useful))
        try:
            yield
        finally:
            numba.set_num_threads(before)


def _start_waiting_passively() -> None:
    """Start numba's threads with OpenMP's passive waiting, unless the user chose otherwise.

    By default they spin at every barrier, and a solve has three per step: beside one other busy
    process that was measured to cost a factor of a hundred. OpenMP reads the variable only once,
    when it is loaded, so that it need not stay set.
    """
    variable = "OMP_WAIT_POLICY"
    if variable in os.environ:
        numba.get_num_threads()
        return
    os.environ[variable] = "passive"
    try:
        numba.get_num_threads()
    finally:
        del os.environ[variable]
