"""Runs that are killed at random times: what lies in their folder is whole, and of one run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from random import Random

from rayrelief.cli.app import app
from rayrelief.cli.terminal.signals import Handled
from rayrelief.synthetic.gallery import sphere
from reference.layout import write_layout

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
TRACES = ("Traceback", "Exception ignored")


def kills(count: int, seed: int, folder: Path) -> Iterator[str]:
    """Kill so many runs, every other one in a folder that holds results; tells what is wrong."""
    random = Random(seed)
    scene = write_layout(folder / "scene", sphere(40, 48))
    quiet = contextlib.redirect_stdout(StringIO()), contextlib.redirect_stderr(StringIO())
    with quiet[0], quiet[1], contextlib.suppress(SystemExit):
        app(_arguments(scene, folder / "first", "1.5"))  # loads all that the forks then have
    began = time.monotonic()
    _wait(_start(scene, folder / "first", "1.5"))
    whole = time.monotonic() - began
    codes: Counter[str] = Counter()
    for number in range(count):
        out = folder / f"out{number}"
        if number // len(SIGNALS) % 2:
            shutil.copytree(folder / "first", out)
        kind = SIGNALS[number % len(SIGNALS)]
        after = random.uniform(0, whole)
        process = _start(scene, out, "2.5")
        time.sleep(after)
        os.kill(process, kind)
        code, said = _wait(process), _messages(out).read_text()
        codes[f"{kind.name} {code}"] += 1
        for problem in _problems(out, kind, code, said):
            yield f"broken: kill {number}, {kind.name} after {after:.2f} s: {problem}"
        if kind is signal.SIGKILL:
            _wait(_start(scene, out, "2.5"))
            left = [path.name for path in out.iterdir() if path.name.startswith(".")]
            if left or not _is_of_one_run(out):
                yield f"broken: {left} after the run that follows kill {number}"
        shutil.rmtree(out, ignore_errors=True)
    yield "exit codes: " + ", ".join(f"{codes[code]} times {code}" for code in sorted(codes))


def _start(scene: Path, out: Path, sharpness: str) -> int:
    """Run the command in a forked process, which has everything loaded; returns its number.

    It is ready for signals when this returns.
    """
    ready, tell = os.pipe()
    process = os.fork()
    if process:
        os.close(tell)
        os.read(ready, 1)
        os.close(ready)
        return process
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have ignored
        for number in (1, 2):
            os.dup2(os.open(_messages(out), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        with Handled():
            os.write(tell, b".")
            app(_arguments(scene, out, sharpness))
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _arguments(scene: Path, out: Path, sharpness: str) -> list[str]:
    where = ["integrate", str(scene), "-o", str(out)]
    return [*where, "--threads", "1", "--method", "ray-plane", "--sharpness", sharpness]


def _wait(process: int) -> int:
    """Exit code of a process, negative for the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _messages(out: Path) -> Path:
    return out.with_suffix(".txt")


def _problems(out: Path, kind: signal.Signals, code: int, said: str) -> Iterator[str]:
    if any(trace in said for trace in TRACES):
        yield said
    if kind is signal.SIGINT and code not in (130, 0):  # 0: it was over
        yield f"exit code {code}"
    names = {path.name for path in out.iterdir()} if out.exists() else set()
    hidden = {name for name in names if name.startswith(".")}
    if hidden and kind is not signal.SIGKILL:
        yield f"left {hidden}"
    if (out / "report.json").exists() and not _is_of_one_run(out):
        yield f"files of two runs: {names}"


def _is_of_one_run(out: Path) -> bool:
    """Whether a folder holds all files that its report names, and all were written together."""
    report = json.loads((out / "report.json").read_text())
    files = [out / name for name in report["files"]]
    if not all(path.stat().st_size for path in files):
        return False
    times = [path.stat().st_mtime for path in files]
    return max(times) - min(times) < 60
