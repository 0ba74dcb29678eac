"""Worker processes that predict, with lines of progress; they stop when they are asked to."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.synchronize import Event
from pathlib import Path
from unittest.mock import patch

from benchmarks.accuracy.predictions import Cache, Task, library_state, predict
from benchmarks.report import progress

_STOP: list[Event] = []  # in a worker: the wish of the process that started it


def predict_missing(tasks: Mapping[str, Task], cache: Cache, workers: int) -> None:
    """Make the predictions that the cache does not hold, of tasks by key."""
    missing = [task for key, task in tasks.items() if cache.load(key) is None]
    progress(f"{len(tasks)} predictions, {len(missing)} of them to be made")
    if not missing:
        return
    began = time.monotonic()
    with worker_pool(min(workers, len(missing)), cache) as pool:
        futures = [pool.submit(work, task, cache) for task in missing]
        for done, future in enumerate(as_completed(futures), start=1):
            future.result()
            left = round((time.monotonic() - began) / done * (len(missing) - done))
            progress(f"{done} / {len(missing)} predictions, {timedelta(seconds=left)} left")


def work(task: Task, cache: Cache) -> None:
    """Predict and keep, in a worker: the key is that of the map and the library as it sees them."""
    prediction = None if _stopped() else predict(task, _stopped)
    if prediction is not None:
        cache.store(task.key, prediction)


@contextmanager
def worker_pool(count: int, cache: Cache) -> Iterator[Executor]:
    """Processes of one thread that in the end, whatever the reason, drop all and are waited for."""
    # numba overlooks changes of inlined functions: a prediction must not come from an old kernel.
    kernels = os.environ.get("NUMBA_CACHE_DIR") or cache.folder.with_name("kernels")
    inherited = {
        "NUMBA_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "NUMBA_CACHE_DIR": str(Path(kernels) / library_state()),
    }
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(count, context, _begin, (stop,))
    try:
        with patch.dict(os.environ, inherited):
            yield pool
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _begin(stop: Event) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    _STOP.append(stop)
    library_state()  # of the source that was just imported
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Wait for the end of the process that started this one, however it came, and end too."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _stopped() -> bool:
    return any(stop.is_set() for stop in _STOP)
