"""A small folder to run on, and the command line in this process or in one of its own."""

from __future__ import annotations

import atexit
import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rayrelief.cli import main
from rayrelief.cli.terminal import signals
from rayrelief.cli.terminal.console import COMPILING
from rayrelief.cli.terminal.signals import NAMES
from rayrelief.synthetic import gallery
from reference.layout import write_layout

HEIGHT, WIDTH = 24, 32
HANDLED = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
TIMEOUT = 600  # seconds: only a run that hangs gets there
PREFIXES = ("note: ", "warning: ", "error: ", "interrupted: ")


def strict_json(text: str) -> Any:
    """Content of JSON without the numbers that only Python knows."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@dataclass(frozen=True)
class Run:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    def lines(self, prefix: str) -> list[str]:
        """Lines on stderr that begin with a prefix; nothing but such lines may stand there."""
        lines = self.err.splitlines()
        assert all(line.startswith(PREFIXES) for line in lines), self.err
        # Whether kernels are compiled depends on what ran before.
        return [line for line in lines if line.startswith(prefix) and COMPILING not in line]

    def json(self) -> Any:
        """What stands on stdout, which must be JSON and nothing else."""
        return strict_json(self.out)

    def error(self) -> str:
        """The one error of a run that failed as it should."""
        assert self.code == 1, self
        assert self.out == ""
        assert "Traceback" not in self.err
        (line,) = self.lines("error: ")
        assert "; expected " in line
        return line


@pytest.fixture
def sphere(tmp_path: Path) -> Path:
    """Folder of a sphere before nothing."""
    return write_layout(tmp_path / "sphere", gallery.sphere(HEIGHT, WIDTH))


@pytest.fixture
def plane(tmp_path: Path) -> Path:
    """Folder of a slanted plane that fills the picture."""
    return write_layout(tmp_path / "plane", gallery.plane(HEIGHT, WIDTH))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Folder for results, not there yet."""
    return tmp_path / "results"


@pytest.fixture
def read_report() -> Callable[[Path], Any]:
    """Reader of the report in a folder of results."""
    return lambda folder: strict_json((folder / "report.json").read_text(encoding="utf-8"))


@pytest.fixture
def run(monkeypatch, capsys) -> Callable[..., Run]:
    """Run the command in this process; only the exit that a shell would see may leave it."""

    def run_here(*arguments: object) -> Run:
        monkeypatch.setattr(sys, "argv", ["rayrelief", *map(str, arguments)])
        capsys.readouterr()
        before = {number: signal.getsignal(number) for number in HANDLED}
        for number in HANDLED:  # which a shell may have ignored
            signal.signal(number, signal.default_int_handler)
        hook = sys.unraisablehook
        try:
            with pytest.raises(SystemExit) as end:
                main()
        finally:
            sys.unraisablehook = hook
            atexit.unregister(signals.leave_at_once)
            for number, handler in before.items():
                signal.signal(number, handler)
        out, err = capsys.readouterr()
        code = end.value.code or 0
        assert isinstance(code, int), code  # a text would be printed by the interpreter
        return Run(code, out, err)

    return run_here


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command as a process of its own; whatever still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start_process(*arguments: object, **options: Any) -> subprocess.Popen[str]:
        code = (
            "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
            "from rayrelief.cli import main; main()"
        )
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "FORCE_COLOR": "1"}
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            env=environment,
            text=True,
            **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options),
        )
        started.append(process)
        return process

    yield start_process
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture
def start_on_terminal(start) -> Callable[..., str]:
    """Run the command on a terminal of its own; all that it shows there."""

    def run_there(*arguments: object) -> str:
        terminal, theirs = os.openpty()
        process = start(*arguments, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = _read_until_closed(terminal)
        assert process.wait(timeout=TIMEOUT) == 0
        return shown

    return run_there


def _read_until_closed(terminal: int) -> str:
    """All that a process writes to a terminal whose other end it holds alone."""
    shown = b""
    try:
        while part := os.read(terminal, 65536):
            shown += part
    except OSError as error:  # how Linux tells the end
        if error.errno != errno.EIO:
            raise
    finally:
        os.close(terminal)
    return shown.decode()
