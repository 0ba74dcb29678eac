"""Processes on this machine, each with its share of cores and memory.

They are spawned and not forked, since threads of the parent do not survive a fork. What is heavy is
imported after a process has been told its number of threads, which libraries read when they load.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context, parent_process
from types import FrameType

from rayrelief.batch.base import PROCESS, Share, left_for_a_map
from rayrelief.memory import memory_available

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
PATIENCE = 5.0  # seconds that a process has to discard its files


@dataclass(frozen=True)
class Processes:
    """Processes on this machine.

    Attributes
    ----------
    workers
        How many.
    threads
        Threads of each.
    memory
        Bytes of each, its libraries among them.
    """

    workers: int
    threads: int
    memory: int

    @classmethod
    def sharing_this_machine(
        cls, tasks: int, workers: int | None = None, threads: int | None = None
    ) -> Processes:
        """As many processes as there are cores for, or as asked for, but no more than tasks.

        Unless asked for, no more either than leave each other as much for maps as their libraries
        take: where there is little memory, fewer processes with more threads refuse fewer maps.
        """
        available, memory = cores(), memory_available()
        if workers is None:
            workers = min(available // (threads or 1), memory // (2 * PROCESS))
        count = max(1, min(workers, tasks))
        return cls(count, threads or max(1, available // count), memory // count)

    @property
    def at_a_time(self) -> int:
        """One task each: when a process is lost, so few are in doubt."""
        return self.workers

    @contextmanager
    def executor(self) -> Iterator[Executor]:
        """Processes for as long as the context lasts."""
        others = set(active_children())
        executor = process_pool(self.workers, self.threads)
        left_in_order = False
        try:
            yield executor
            left_in_order = True
        finally:
            if not left_in_order:
                # The pool takes the exit of a task for its result: told that none follows, it lets
                # the process go.
                executor.shutdown(wait=False, cancel_futures=True)
                _end([child for child in active_children() if child not in others])
            executor.shutdown(cancel_futures=True)

    def share(self) -> Share:
        """Equal parts of this machine."""
        return Share(self.threads, left_for_a_map(self.memory))


def process_pool(workers: int, threads: int) -> ProcessPoolExecutor:
    """Pool of processes whose libraries use so many threads each."""
    spawn = get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=spawn, initializer=_begin, initargs=(threads,))


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _begin(threads: int) -> None:
    """Prepare a process: its threads, its signals, and its end with that of the parent."""
    for name in VARIABLES:
        os.environ.setdefault(name, str(threads))
    # Ctrl-C reaches every process of a terminal: the parent alone decides what to do.
    for signal_name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, signal_name):
            signal.signal(getattr(signal, signal_name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _leave_with_parent() -> None:
    """End this process when its parent has been killed, which nobody else would tell it."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _end(children: list) -> None:  # type: ignore[type-arg]
    """End processes, with time to discard what they were writing."""
    for child in children:
        child.terminate()
    for child in children:
        child.join(PATIENCE)
        child.kill()
