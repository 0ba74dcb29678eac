"""Worker processes that predict, with a line of progress; they stop when they are asked to."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import TextIO

from benchmarks.accuracy.predictions import Cache, Task, library_state, predict
from benchmarks.report import progress

_STOP: list[Event] = []  # in a worker: the wish of the process that started it


@dataclass
class Tally:
    """How many predictions there are, how many are new, and the seconds that all took."""

    total: int
    made: int = 0
    seconds: float = 0.0

    def tell(self, what: str) -> None:
        """Say it."""
        spent = _duration(self.seconds)
        progress(
            f"{self.total} {what}, {self.made} of them made now; all took {spent} of one worker"
        )


def predict_missing(
    tasks: Sequence[Task], cache: Cache, workers: int, library: str, what: str = "predictions"
) -> Tally:
    """Make the predictions that the cache does not hold.

    Workers take the source as it is now, the keys are of that state of the library.
    """
    unique = {task.key: task for task in tasks}
    tally, missing = Tally(len(unique)), []
    for task in unique.values():
        known = cache.load(task.key)
        if known is None:
            missing.append(task)
        else:
            tally.seconds += known.seconds
    if not missing:
        return tally
    if library_state() != library:
        raise SystemExit("the source has changed during the run; start the same command again")
    bar = Progress(tally.total, tally.total - len(missing), what)
    with worker_pool(min(workers, len(missing))) as pool, bar:
        with _conditions_of_workers(cache):
            futures = [pool.submit(work, task, cache) for task in missing]
        for future in as_completed(futures):
            tally.seconds += future.result()
            tally.made += 1
            bar.advance()
    return tally


def work(task: Task, cache: Cache) -> float:
    """Predict and keep, in a worker; the seconds that it took, 0 if it was stopped."""
    prediction = None if _stopped() else predict(task, _stopped)
    if prediction is None:
        return 0.0
    cache.store(task.key, prediction)
    return prediction.seconds


@contextmanager
def worker_pool(count: int) -> Iterator[Executor]:
    """Processes that at the end, whatever the reason, drop their work and are waited for."""
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(count, context, _begin, (stop,))
    try:
        yield pool
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _begin(stop: Event) -> None:
    _STOP.append(stop)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Wait for the end of the process that started this one, however it came, and end too."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _stopped() -> bool:
    return any(stop.is_set() for stop in _STOP)


@contextmanager
def _conditions_of_workers(cache: Cache) -> Iterator[None]:
    """Processes started meanwhile have one thread, and leave Ctrl-C to this one."""
    # numba overlooks changes of inlined functions: a prediction must not come from an old kernel.
    kernels = os.environ.get("NUMBA_CACHE_DIR") or cache.folder.with_name("kernels")
    wanted = {
        "NUMBA_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "NUMBA_CACHE_DIR": str(Path(kernels) / library_state()),
    }
    before = {name: os.environ.get(name) for name in wanted}
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited from the very first moment
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        signal.signal(signal.SIGINT, handler)


@dataclass
class Progress:
    """How many of all predictions are there, and the time that the others may take."""

    total: int
    done: int
    what: str
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    made: int = 0
    began: float = field(default_factory=time.monotonic)

    def __enter__(self) -> None:
        self.show(", the first of a new folder compile for a minute")

    def __exit__(self, *_: object) -> None:
        if self.stream.isatty():
            print(file=self.stream)

    def advance(self) -> None:
        """Count one more."""
        self.made += 1
        self.done += 1
        each = (time.monotonic() - self.began) / self.made
        self.show(f", {_duration(each * (self.total - self.done))} left")

    def show(self, left: str) -> None:
        """Write the line, on a terminal always the same."""
        text = f"... {self.done} / {self.total} {self.what}{left}"
        rewritten = self.stream.isatty()
        print(
            f"\r{text:<60}" if rewritten else text,
            end="" if rewritten else "\n",
            file=self.stream,
            flush=True,
        )


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:d}:{minutes:02d}:{seconds:02d}"
