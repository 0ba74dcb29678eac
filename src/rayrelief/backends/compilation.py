"""Notice that kernels are compiled, which the first run on a machine waits for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rayrelief.compiled import event


@dataclass
class Compiled:
    """Seconds that kernels have been compiled for."""

    seconds: float = 0.0


@contextmanager
def on_compilation(tell: Callable[[], object]) -> Iterator[Compiled]:
    """Call a function each time that a kernel is compiled, not loaded from numba's cache."""
    found, began = Compiled(), list[float]()

    class Listener(event.Listener):  # type: ignore[misc]  # numba has no types
        def on_start(self, event: Any) -> None:
            began.append(time.perf_counter())
            tell()

        def on_end(self, event: Any) -> None:
            start = began.pop() if began else time.perf_counter()
            if not began:  # a kernel may have others compiled
                found.seconds += time.perf_counter() - start

    with event.install_listener("numba:compile", Listener()):
        yield found
