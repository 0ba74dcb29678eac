"""The seam between many maps and what computes them: an executor, and each worker's share."""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from rayrelief.errors import IntegrationError

SHARE = 0.75  # of the memory, unless told otherwise: beyond 95 % dask ends a worker
PROCESS = 450_000_000  # bytes of a process with its libraries and compiled kernels


@dataclass(frozen=True)
class Share:
    """What one map may use while others are computed beside it.

    Attributes
    ----------
    threads, memory
        Threads of its kernels, and bytes: None where only the machine sets a limit.
    """

    threads: int
    memory: int | None


class WorkersLostError(IntegrationError):
    """The workers of one task have been lost, each of them that tried it; the others go on."""


class EngineLostError(IntegrationError):
    """All that computes has been lost: no task can be done any more."""


class Engine(Protocol):
    """Where tasks are computed; it travels to the workers with them."""

    @property
    def at_a_time(self) -> int:
        """Tasks that it is given before one of them is done."""

    def executor(self) -> AbstractContextManager[Executor]:
        """Workers for as long as the context lasts; one that is left by an exception ends them."""

    def share(self) -> Share:
        """Share of the worker that asks."""


def left_for_a_map(memory: int) -> int:
    """Bytes that a process of so many has beside its libraries; enough for the smallest maps.

    What these take is mostly the libraries themselves: they are tried wherever a process begins.
    """
    from rayrelief.estimate import LOADED_CODE  # which loads kernels, and those threads

    return max(LOADED_CODE, memory - PROCESS)
