"""What the user sees: results on stdout, everything else on stderr, and no traceback."""

from __future__ import annotations

import errno
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING

import typer

from rayrelief.cli.terminal import signals
from rayrelief.errors import (
    FileError,
    IntegrationError,
    IntegrationWarning,
    RayreliefError,
    printable,
)

if TYPE_CHECKING:
    from rayrelief.methods.base import Iteration

EXIT_FAILED = 1
COMPILING = "compiling kernels: first run only, up to a minute"

_STREAMS = threading.RLock()
_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
NOTE = "note: "
# What an input or a machine may be to blame for: without memory, libraries cannot be loaded either.
EXPECTED = (RayreliefError, MemoryError, OSError, ImportError)


@contextmanager
def quiet(wanted: bool) -> Iterator[None]:
    """Leave out notes, bars and summaries, if that is wanted."""
    token = _QUIET.set(wanted)
    try:
        yield
    finally:
        _QUIET.reset(token)


def say(text: str) -> None:
    """Tell the user something that is not a result, on one line."""
    if _QUIET.get() and text.startswith(NOTE):
        return
    with suppress(OSError, ValueError):  # nobody may be there to listen
        typer.echo(printable(text), err=True)


def show(text: str) -> None:
    """Print a result, whose lines hold nothing that a terminal would take as a command."""
    typer.echo("\n".join(map(printable, text.split("\n"))))


def tell(text: str) -> None:
    """Print a summary of results that are in files."""
    if not _QUIET.get():
        show(text)


@contextmanager
def spoken_warnings() -> Iterator[None]:
    """Turn warnings into one line each."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        # Each time: the same words may be about the next of several folders.
        warnings.simplefilter("always", IntegrationWarning)
        yield


@contextmanager
def beyond_range(is_told: bool) -> Iterator[None]:
    """Let numbers leave their range without a warning, where a status has told that they do."""
    import numpy as np

    with warnings.catch_warnings(), np.errstate(all="ignore" if is_told else None):
        if is_told:
            warnings.simplefilter("ignore", RuntimeWarning)
        yield


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn expected failures into one message and an exit code, and warnings into one line each."""
    with spoken_warnings():
        try:
            with signals.Interruptible(typer.Exit):
                yield
        except EXPECTED as error:
            if getattr(error, "errno", None) == errno.EPIPE:
                raise  # nobody reads on, as in "| head": typer ends quietly
            say(f"error: {in_words(error)}")
            raise typer.Exit(EXIT_FAILED) from None
        except KeyboardInterrupt:
            say("interrupted: incomplete files were discarded")
            raise typer.Exit(signals.exit_code()) from None


def in_words(error: BaseException) -> str:
    """What to tell about an error."""
    return str(in_parts(error))


def in_parts(error: BaseException) -> RayreliefError:
    """The same, with cause and remedy apart."""
    if isinstance(error, RayreliefError):
        return error
    if isinstance(error, MemoryError):
        remedy = "Use a smaller mask, or resize the normal map"
        return IntegrationError("not enough memory", remedy=remedy)
    if isinstance(error, OSError):
        return _system_error(error)
    if isinstance(error, ImportError):
        remedy = "Free some memory, or install rayrelief again"
        return IntegrationError(f"a library cannot be loaded: {error}", remedy=remedy)
    return IntegrationError(f"unexpected {type(error).__name__}: {error}")


def _system_error(error: OSError) -> FileError:
    """Say what the system refused, outside of the readers and writers that say it better."""
    return FileError(
        f"{error.filename or 'the output'} cannot be used: {error.strerror or error}",
        expected="a path or a stream that can be read or written",
        remedy="Check the path, its permissions and the free space",
    )


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    say(f"warning: {message}")


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Keep C libraries, which print what our own messages say better, off both streams.

    One thread at a time: the streams belong to all of them, and the last one to leave would put
    back what it had found, which is nowhere.
    """
    with _STREAMS, open(os.devnull, "wb") as nowhere:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        saved = {number: os.dup(number) for number in (1, 2)}
        for number in saved:
            os.dup2(nowhere.fileno(), number)
        try:
            yield
        finally:
            for number, copy in saved.items():
                os.dup2(copy, number)
                os.close(copy)


def has_bar() -> bool:
    """Whether somebody watches who wants a bar."""
    return sys.stderr is not None and sys.stderr.isatty() and not _QUIET.get()


@contextmanager
def counting(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar over tasks on a terminal; what is yielded tells that one more is done."""
    if not has_bar():
        yield signals.check
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(printable(title).replace("[", "\\["), total=total)

        def advance() -> None:
            signals.check()
            bar.advance(task)

        yield advance


@contextmanager
def progress(title: str, total: int | None) -> Iterator[Callable[[Iteration], None]]:
    """Show a bar over the outer iterations on a terminal; elsewhere only say what takes long."""
    from rayrelief.backends.compilation import on_compilation

    if not has_bar():
        said: list[str] = []

        def say_once() -> None:
            signals.check()
            if not said:
                said.append(COMPILING)
                say(f"note: {COMPILING}")

        with on_compilation(say_once):
            yield lambda _: signals.check()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[state]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(printable(title), total=total, state="")

        def advance(iteration: Iteration) -> None:
            signals.check()
            number = iteration.number if total is None else f"{iteration.number}/{total}"
            state = f"{number}  change {iteration.change:.1e}"
            bar.update(task, completed=iteration.number, state=state)

        kernels = count(1)

        def compiling() -> None:
            signals.check()
            bar.update(task, state=f"{COMPILING}; {next(kernels)} so far")

        with on_compilation(compiling):
            yield advance
