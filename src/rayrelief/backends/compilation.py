"""Notice that kernels are compiled, which the first run on a machine waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rayrelief.compiled import event


@contextmanager
def on_compilation(tell: Callable[[], object]) -> Iterator[None]:
    """Call a function each time that a kernel is compiled, not loaded from numba's cache."""

    class Listener(event.Listener):  # type: ignore[misc]  # numba has no types
        def on_start(self, event: Any) -> None:
            tell()

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield
