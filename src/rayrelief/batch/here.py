"""One process, that which asks: tasks one after the other, each on all threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rayrelief.batch.base import Share


@dataclass(frozen=True)
class Here:
    """The process that asks, without others beside it.

    Attributes
    ----------
    threads
        Threads of each task.
    """

    threads: int

    @property
    def at_a_time(self) -> int:
        """One: it is done when it is given."""
        return 1

    @contextmanager
    def executor(self) -> Iterator[Executor]:
        """Nothing to begin or to end."""
        yield _AtOnce()

    def share(self) -> Share:
        """All of this machine."""
        return Share(self.threads, None)


class _AtOnce(Executor):
    """Does a task when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # as executors do: whoever asks for the result is told
            future.set_exception(error)
        return future
