"""Ctrl-C, and the signals that ask a process to end: files are discarded, and no traceback shown.

Python turns Ctrl-C into an exception, which compiled code may swallow, or turn into another one:
the signal is remembered, and whatever became of the exception, the command ends as interrupted.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # where the system has them


class _State:
    received: int | None = None
    postponed = False
    is_over = False  # nothing is left to do but to leave


_STATE = _State()


class Handled:
    """Context of a whole command: a signal in it ends the process with 128 + its number."""

    def __enter__(self) -> None:
        _STATE.received, _STATE.postponed, _STATE.is_over = None, False, False
        if threading.current_thread() is not threading.main_thread():
            return  # nobody else is told of signals
        for name in NAMES:
            number = getattr(signal, name, None)
            # One that the caller ignores, as nohup does, stays ignored.
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _receive)
        sys.unraisablehook = _told_unless_interrupted

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        _STATE.is_over = True
        if _STATE.received is not None or kind is KeyboardInterrupt:
            raise SystemExit(exit_code()) from None


class Interruptible:
    """Context in which an interruption that was swallowed or renamed is one again at the end."""

    def __init__(self, *told: type[BaseException]) -> None:
        self._told = told  # exceptions with which it has been told and dealt with

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not issubclass(kind, self._told):
            check()


def check() -> None:
    """Raise KeyboardInterrupt if a signal has been received."""
    if _STATE.received is not None:
        raise KeyboardInterrupt


def exit_code() -> int:
    """Exit code of the command after a signal, as shells count them."""
    return 128 + (_STATE.received or signal.SIGINT)


@contextmanager
def postponed() -> Iterator[None]:
    """Context that a signal does not end half-way, only afterwards."""
    _STATE.postponed = True
    try:
        yield
    finally:
        _STATE.postponed = False
    check()


def _receive(number: int, _: FrameType | None) -> None:
    _STATE.received = number
    atexit.unregister(leave_at_once)
    atexit.register(leave_at_once)  # the last one is called first
    if _STATE.is_over:
        os._exit(exit_code())
    if not _STATE.postponed:
        raise KeyboardInterrupt


def leave_at_once() -> None:
    """End the process without taking it down piece by piece.

    LLVM that was interrupted while it compiled crashes then, which would be the exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(exit_code())


def _told_unless_interrupted(problem: Any) -> None:
    """Tell of an exception that nobody can catch, but not that of Ctrl-C in a callback of C."""
    if not issubclass(problem.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(problem)
