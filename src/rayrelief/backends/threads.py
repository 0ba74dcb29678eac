"""Threads of the compiled kernels: how many, of which kind, and that they survive a fork."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rayrelief.compiled import numba, parallel
from rayrelief.errors import IntegrationError
from rayrelief.pieces import threads_for


class _Threads:
    """State of numba's threads in this process."""

    def __init__(self) -> None:
        # Some of numba's threading layers must not be entered twice at a time: runs started from
        # several Python threads take turns. A callback may start a run of its own.
        self.one_at_a_time = threading.RLock()
        self.lost = False

    def after_fork(self) -> None:
        """Forget the threads of the parent, one of which may have held the lock."""
        self.one_at_a_time = threading.RLock()
        # numba's lock is that of all forks of a process: one that is killed while it holds it would
        # have all others wait for ever. Without one, numba makes a new one.
        if hasattr(parallel, "_backend_init_process_lock"):
            parallel._backend_init_process_lock = None
        self.lost = sys.platform == "linux" and _layer() == "omp"


_THREADS = _Threads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_THREADS.after_fork)


@contextmanager
def kernel_threads(threads: int | None, nodes: int) -> Iterator[None]:
    """Run kernels on so many threads (all cores by default), fewer for few nodes."""
    if _THREADS.lost:
        raise IntegrationError(
            "this process was forked from one that had used OpenMP, whose threads do not "
            "survive that",
            expected="a process of its own, or threads that do",
            remedy="Start processes with multiprocessing.get_context('spawn') or 'forkserver', or "
            "leave NUMBA_THREADING_LAYER unset, or set it to 'workqueue'",
        )
    with _THREADS.one_at_a_time, threads_for(nodes, threads) as count:
        _start()
        before = numba.get_num_threads()
        numba.set_num_threads(count)
        try:
            yield
        finally:
            numba.set_num_threads(before)


def _layer() -> str | None:
    """Kind of numba's threads; None before they are started."""
    try:
        return str(numba.threading_layer())
    except ValueError:
        return None


def _start() -> None:
    """Start numba's threads, unless the user chose otherwise such that a fork does not lose them.

    On Linux that excludes GNU OpenMP, numba's own choice, which ends every forked process that uses
    it after its parent did; on two threads it is no faster than the others. Elsewhere, and where it
    was asked for, it waits passively: by default its threads spin at every barrier, and a solve has
    three per step, which beside one other busy process was measured to cost a factor of a hundred.
    OpenMP reads the variable only once, when it is loaded, so that it need not stay set.
    """
    if str(numba.config.THREADING_LAYER) == "default":
        numba.config.THREADING_LAYER = "forksafe"
    variable = "OMP_WAIT_POLICY"
    is_set = variable in os.environ
    os.environ.setdefault(variable, "passive")
    try:
        numba.get_num_threads()
    except ValueError as error:
        raise IntegrationError(
            f"numba cannot start its threads: {error}",
            expected="settings that this machine can follow",
            remedy="Unset NUMBA_NUM_THREADS and NUMBA_THREADING_LAYER",
        ) from error
    finally:
        if not is_set:
            del os.environ[variable]
