"""A dask cluster: its scheduler hands out tasks, and does those of a lost worker again."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rayrelief.batch.base import Share
from rayrelief.errors import InputError

TIMEOUT = "10s"


@dataclass(frozen=True)
class Cluster:
    """Workers of a dask cluster that see the same files under the same paths.

    Attributes
    ----------
    address
        Address of its scheduler, such as "tcp://10.0.0.1:8786".
    threads
        Threads of each map; None for those of its worker.
    """

    address: str
    threads: int | None = None

    @property
    def at_a_time(self) -> int:
        """Enough for a thousand workers, and few enough to be watched one by one."""
        return 2000

    @contextmanager
    def executor(self) -> Iterator[Executor]:
        """Connect to the scheduler for as long as the context lasts."""
        distributed = _distributed()
        try:
            client = distributed.Client(self.address, timeout=TIMEOUT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(
                f"no scheduler answers at {self.address}: {error}",
                expected="the address of a dask scheduler, such as tcp://10.0.0.1:8786",
                remedy="Start one with 'dask scheduler', and workers with 'dask worker ADDRESS'",
            ) from error
        with client:
            executor: Executor = client.get_executor(pure=False)
            left_in_order = False
            try:
                yield executor
                left_in_order = True
            finally:
                executor.shutdown(wait=left_in_order)

    def share(self) -> Share:
        """Threads and memory of the worker that asks, whose maps take turns."""
        worker = _distributed().get_worker()
        limit = worker.memory_manager.memory_limit
        return Share(self.threads or worker.state.nthreads, limit or None)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise InputError(
            "dask is not installed",
            expected="dask and its package distributed, for --scheduler",
            remedy="Install it with: pip install 'rayrelief[dask]'",
        ) from error
    return distributed
