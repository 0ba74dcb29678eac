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

import numpy as np

from rayrelief.cli.app import app
from rayrelief.cli.terminal.signals import Handled
from rayrelief.io.reports import REPORT_NAME
from rayrelief.synthetic.gallery import sphere
from rayrelief.viewer.layers import NAME as LAYERS
from reference.layout import write_layout

Contents = dict[str, bytes]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
TRACES = ("Traceback", "Exception ignored")


def kills(count: int, seed: int, folder: Path) -> Iterator[str]:
    """Kill so many runs, every other one in a folder that holds results; tells what is wrong."""
    random = Random(seed)
    scene = write_layout(folder / "scene", sphere(40, 48))
    quiet = contextlib.redirect_stdout(StringIO()), contextlib.redirect_stderr(StringIO())
    with quiet[0], quiet[1], contextlib.suppress(SystemExit):
        app(_arguments(scene, folder / "first", "1.5"))  # loads all that the forks then have
    times = []
    for name, sharpness in 2 * (("first", "1.5"), ("second", "2.5")):
        began = time.monotonic()
        _wait(_start(scene, folder / name, sharpness))
        times.append(time.monotonic() - began)
    whole = min(times)  # of a machine that others use too: few runs are over before they are killed
    runs = [_contents(folder / name) for name in ("first", "second")]
    codes: Counter[str] = Counter()
    for number in range(count):
        out = folder / f"out{number}"
        if number // len(SIGNALS) % 2 == 0:  # 101 of 200
            shutil.copytree(folder / "first", out)
        kind = SIGNALS[number % len(SIGNALS)]
        after = random.uniform(0, whole)
        process = _start(scene, out, "2.5")
        time.sleep(after)
        os.kill(process, kind)
        code, said = _wait(process), _messages(out).read_text()
        codes[f"{kind.name} {code}"] += 1
        for problem in _problems(out, runs, kind, code, said):
            yield f"broken: kill {number}, {kind.name} after {after:.2f} s: {problem}"
        if kind is signal.SIGKILL:
            _wait(_start(scene, out, "2.5"))
            left = [path.name for path in out.iterdir() if path.name.startswith(".")]
            if left or _contents(out) != runs[1]:
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


def _problems(
    out: Path, runs: list[Contents], kind: signal.Signals, code: int, said: str
) -> Iterator[str]:
    if any(trace in said for trace in TRACES):
        yield said
    if kind is signal.SIGINT and code not in (130, 0):  # 0: it was over
        yield f"exit code {code}"
    found = _contents(out)
    hidden = {name for name in found if name.startswith(".")}
    if hidden and kind is not signal.SIGKILL:
        yield f"left {hidden}"
    places = {name: found[name] for name in found.keys() - hidden}
    # The report comes last: without it a part of the files may be there.
    if not any(
        places == run or (REPORT_NAME not in places and places.items() <= run.items())
        for run in runs
    ):
        yield f"files of two runs, or not whole: {sorted(places)}"


def _contents(out: Path) -> Contents:
    """Files of a folder; of the report only what does not change with the time."""
    found = {path.name: path.read_bytes() for path in out.iterdir()} if out.exists() else {}
    if REPORT_NAME in found:
        report = json.loads(found[REPORT_NAME])
        found[REPORT_NAME] = json.dumps([report["method"], report["files"]]).encode()
    if LAYERS in found:  # an archive tells the time
        with np.load(out / LAYERS) as layers:
            found[LAYERS] = b"".join(layers[name].tobytes() for name in layers.files)
    return found
