"""A dask cluster: its scheduler hands out tasks, and does those of a lost worker again."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass

from rayrelief.batch.base import Share
from rayrelief.errors import InputError
from rayrelief.optional import library

DASK = ("distributed", "--scheduler", "dask")
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
        distributed = library(*DASK)
        try:
            client = distributed.Client(self.address, timeout=TIMEOUT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise _unreachable(self.address, error) from error
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
        worker = library(*DASK).get_worker()
        limit = worker.memory_manager.memory_limit
        return Share(self.threads or worker.state.nthreads, limit or None)


def _unreachable(address: str, cause: Exception) -> InputError:
    return InputError(
        f"no scheduler answers at {address}: {cause}",
        expected="the address of a dask scheduler, such as tcp://10.0.0.1:8786",
        remedy="Start one with 'dask scheduler', and workers with 'dask worker ADDRESS'",
    )
