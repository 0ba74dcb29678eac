"""What the user sees: results on stdout, everything else on stderr, and no traceback."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

from rayrelief.cli import signals
from rayrelief.errors import FileError, IntegrationWarning, RayreliefError, printable

if TYPE_CHECKING:
    from rayrelief.methods.base import Iteration

EXIT_FAILED = 1
COMPILING = "compiling kernels: first run only, up to a minute"


def say(text: str) -> None:
    """Tell the user something that is not a result, on one line."""
    with suppress(OSError, ValueError):  # nobody may be there to listen
        typer.echo(printable(text), err=True)


def show(text: str) -> None:
    """Print a result, whose lines hold nothing that a terminal would take as a command."""
    typer.echo("\n".join(map(printable, text.split("\n"))))


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn expected failures into one message and an exit code, and warnings into one line each."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        # Each time: the same words may be about the next of several folders.
        warnings.simplefilter("always", IntegrationWarning)
        try:
            with signals.Interruptible(typer.Exit):
                yield
        except RayreliefError as error:
            say(f"error: {error}")
            raise typer.Exit(EXIT_FAILED) from None
        except MemoryError:
            say("error: not enough memory. Use a smaller mask, or resize the normal map.")
            raise typer.Exit(EXIT_FAILED) from None
        except OSError as error:
            if error.errno == errno.EPIPE:  # nobody reads on, as in "| head": typer ends quietly
                raise
            say(f"error: {_system_error(error)}")
            raise typer.Exit(EXIT_FAILED) from None
        except KeyboardInterrupt:
            say("interrupted: incomplete files were discarded")
            raise typer.Exit(signals.exit_code()) from None


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
    """Keep C libraries, which print what our own messages say better, off both streams."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # it was closed by the caller
            stream.flush()
    saved = {}
    for number in (1, 2):
        with suppress(OSError):  # a closed one needs no quiet
            saved[number] = os.dup(number)
    with open(os.devnull, "wb") as nowhere:
        for number in saved:
            os.dup2(nowhere.fileno(), number)
        try:
            yield
        finally:
            for number, copy in saved.items():
                os.dup2(copy, number)
                os.close(copy)


@contextmanager
def progress(title: str, total: int | None) -> Iterator[Callable[[Iteration], None]]:
    """Show a bar over the outer iterations on a terminal; elsewhere only say what takes long."""
    from rayrelief.backends.compilation import on_compilation

    if sys.stderr is None or not sys.stderr.isatty():
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

        def compiling() -> None:
            signals.check()
            bar.update(task, state=COMPILING)

        with on_compilation(compiling):
            yield advance


@contextmanager
def bar(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar over so many steps on a terminal; elsewhere nothing."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield signals.check
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as steps:
        task = steps.add_task(printable(title).replace("[", "\\["), total=total)

        def advance() -> None:
            signals.check()
            steps.advance(task)

        yield advance
