"""A dask cluster: its scheduler hands out tasks, and does those of a lost worker again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from rayrelief.batch.base import (
    SHARE,
    EngineLostError,
    Share,
    WorkersLostError,
    left_for_a_map,
)
from rayrelief.errors import InputError
from rayrelief.optional import library

DASK = ("distributed", "--scheduler", "dask")
TIMEOUT = 10.0  # seconds


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
        self._identity()  # a client that nobody answers does not end in peace
        try:
            client = distributed.Client(self.address, timeout=TIMEOUT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise _unreachable(self.address, error) from error
        with client:
            executor = _InTurn(client, self.address)
            left_in_order = False
            try:
                yield executor
                left_in_order = True
            finally:
                executor.shutdown(wait=left_in_order)

    def share(self) -> Share:
        """Threads of the worker that asks, and its memory for a map: its maps take turns."""
        worker = library(*DASK).get_worker()
        limit = worker.memory_manager.memory_limit
        memory = left_for_a_map(int(SHARE * limit)) if limit else None
        return Share(self.threads or worker.state.nthreads, memory)

    def workers(self) -> tuple[int, Share]:
        """How many workers there are by now, and what each has at least; InputError for none."""
        found = [*self._identity()["workers"].values()]
        if not found:
            raise InputError(
                f"the scheduler at {self.address} has no workers",
                expected="at least one when a run begins",
                remedy=f"Start some with 'dask worker {self.address}'",
            )
        limits = [each["memory_limit"] for each in found if each["memory_limit"]]
        threads = self.threads or min(each["nthreads"] for each in found)
        return len(found), Share(threads, min(limits, default=None))

    def _identity(self) -> dict[str, Any]:
        """What the scheduler says of itself."""
        library(*DASK)
        try:
            identity = asyncio.run(_asked(self.address))
        except (OSError, ValueError) as error:
            raise _unreachable(self.address, error) from error
        if identity["type"] != "Scheduler":
            raise _unreachable(self.address, f"a {identity['type']} does")
        return identity


class _InTurn(Executor):
    """The executor of a client, whose tasks take turns in each worker and end in our words."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address
        self._executor: Executor = client.get_executor(pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        ours: Future[Any] = Future()
        try:
            theirs = self._executor.submit(_in_turn, fn, *args, **kwargs)
        except library(*DASK).client.ClosedClientError:
            ours.set_exception(_lost(self._address))
        else:
            theirs.add_done_callback(partial(self._end, ours))
        return ours

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        try:
            self._executor.shutdown(wait=wait)
        except library(*DASK).client.ClosedClientError:
            pass  # nothing is left to cancel

    def _end(self, ours: Future[Any], theirs: Future[Any]) -> None:
        """Pass on how a task ended."""
        if theirs.cancelled():
            ours.set_exception(_lost(self._address))
            return
        error = theirs.exception()
        if isinstance(error, library(*DASK).KilledWorker):
            ours.set_exception(_killed(error.allowed_failures + 1))
        elif error is not None:
            ours.set_exception(error)
        else:
            ours.set_result(theirs.result())


# A worker has as many tasks at a time as threads: here one has all of them, and all of the memory.
_TURN = threading.Lock()


def _in_turn(task: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with _TURN:
        return task(*args, **kwargs)


async def _asked(address: str) -> dict[str, Any]:
    distributed = library(*DASK)
    arguments = distributed.Security().get_connection_args("client")
    async with distributed.rpc(address, timeout=TIMEOUT, connection_args=arguments) as scheduler:
        identity: dict[str, Any] = await asyncio.wait_for(scheduler.identity(), TIMEOUT)
    return identity


def _unreachable(address: str, cause: Exception | str) -> InputError:
    return InputError(
        f"no scheduler answers at {address}: {str(cause) or f'not within {TIMEOUT:g} s'}",
        expected="the address of a dask scheduler, such as tcp://10.0.0.1:8786",
        remedy="Start one with 'dask scheduler', and workers with 'dask worker ADDRESS'",
    )


def _lost(address: str) -> EngineLostError:
    return EngineLostError(
        f"the scheduler at {address} has been lost, or has dropped its tasks",
        expected="one that lasts as long as the run",
        remedy="Start scheduler and workers again; the same command goes on with what is left",
    )


def _killed(workers: int) -> WorkersLostError:
    return WorkersLostError(
        f"each worker that computed this map was lost, {workers} in all; most likely for want of "
        "memory",
        expected="workers that last",
        remedy="Start workers with more memory, or crop the map; the same command goes on",
    )
