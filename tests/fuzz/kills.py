"""Runs that are killed at random times: what lies in their folder is whole, and of one run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from rayrelief.synthetic.gallery import sphere
from reference.layout import write_layout

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
LOADING = 0.3  # seconds until Python has handed over: before, no signal is ours to handle
TRACES = ("Traceback", "Exception ignored")


def kills(count: int, seed: int, folder: Path) -> Iterator[str]:
    """Kill so many runs, every other one in a folder that holds results; tells what is wrong."""
    random = Random(seed)
    scene = write_layout(folder / "scene", sphere(40, 48))
    began = time.monotonic()
    _command(scene, folder / "first", "1.5").communicate()
    whole = time.monotonic() - began
    for number in range(count):
        out = folder / f"out{number}"
        if number // len(SIGNALS) % 2:
            shutil.copytree(folder / "first", out)
        kind = SIGNALS[number % len(SIGNALS)]
        after = random.uniform(LOADING, whole)
        process = _command(scene, out, "2.5")
        time.sleep(after)
        process.send_signal(kind)
        _, said = process.communicate()
        for problem in _problems(out, kind, process.returncode, said):
            yield f"kill {number}, {kind.name} after {after:.2f} s: {problem}"
        if kind is signal.SIGKILL:
            _command(scene, out, "2.5").communicate()
            left = [path.name for path in out.iterdir() if path.name.startswith(".")]
            if left or not _is_of_one_run(out):
                yield f"kill {number}, {kind.name} after {after:.2f} s: {left} after the next run"
        shutil.rmtree(out, ignore_errors=True)


def _command(scene: Path, out: Path, sharpness: str) -> subprocess.Popen[str]:
    code = "from rayrelief.cli import main; main()"
    arguments = ["integrate", str(scene), "-o", str(out), "--threads", "1"]
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments, "--sharpness", sharpness],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


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
