"""A surface while it is integrated: every iterate is seen, and some of them are drawn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rayrelief.backends.base import Backend
from rayrelief.conventions import FloatArray
from rayrelief.laws.base import Law
from rayrelief.problem import Problem
from rayrelief.solvers.base import Solver

SHARE = 4.0  # times as long as a drawing took, the next one waits

Show = Callable[[FloatArray], None]


class Watched:
    """A backend that computes as another one does, and shows the depth (H, W) of its iterates."""

    def __init__(self, backend: Backend, show: Show) -> None:
        self._backend, self._show, self._next = backend, show, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    @contextmanager
    def compute(self, problem: Problem, solver: Solver) -> Iterator[_Watched]:
        """Start a computation that is watched."""
        with self._backend.compute(problem, solver) as computation:
            yield _Watched(computation, lambda x: self._seen(problem, x))

    def _seen(self, problem: Problem, x: FloatArray) -> None:
        began = time.monotonic()
        if began >= self._next:
            self._show(problem.depth(x))
            ended = time.monotonic()
            self._next = ended + SHARE * (ended - began)


class _Watched:
    """A computation whose iterates are seen."""

    def __init__(self, computation: Any, seen: Callable[[FloatArray], None]) -> None:
        self._computation, self._seen = computation, seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._computation, name)

    def linearise(self, law: Law, x: FloatArray, *, last: bool = False) -> float:
        """See an iterate, and go on from it."""
        self._seen(x)
        energy: float = self._computation.linearise(law, x, last=last)
        return energy
