"""An engine whose workers stay from one set of tasks to the next."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor
from contextlib import ExitStack, contextmanager
from typing import Any

from rayrelief.batch.base import Engine, Share


class Kept:
    """Workers of another engine, begun when first asked for; new ones take the place of lost ones.

    Leave it as a context to end them.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._begun: ExitStack | None = None
        self._executor: Executor | None = None

    def __enter__(self) -> Kept:
        """Begin nothing yet."""
        return self

    def __exit__(self, *error: Any) -> None:
        """End the workers, at once if there was an error."""
        begun, self._begun, self._executor = self._begun, None, None
        if begun is not None:
            begun.__exit__(*error)

    @property
    def at_a_time(self) -> int:
        """As the engine says."""
        return self._engine.at_a_time

    def share(self) -> Share:
        """As the engine says."""
        return self._engine.share()

    @contextmanager
    def executor(self) -> Iterator[Executor]:
        """Workers, which outlast the context unless it is left by an exception."""
        if self._executor is None:
            self._begun = ExitStack()
            self._executor = self._begun.enter_context(self._engine.executor())
        try:
            yield self._executor
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        try:
            self._executor.submit(int).result()
        except BrokenExecutor:  # a process was lost: the next ones are new
            self.__exit__(None, None, None)
