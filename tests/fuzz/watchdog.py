"""Attempts in a process of their own, which may hang, crash, print and take much memory.

``Watchdog`` starts ``python -m fuzz.watchdog``, hands it one file after the other, and tells what
became of each. The limits are those of ``resource``; time is that of the processor.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import select
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil

TESTS = Path(__file__).parents[1]
SECONDS = 5.0  # of processor time
PATIENCE = 300.0  # seconds of the clock until a process is given up, busy or not
BUSY = 20.0  # seconds of processor time, also
GROWTH = 1_000_000_000  # bytes of memory beyond what there was before
# What no file may lead to: other programs, and other machines.
OUTSIDE = ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec")
ADDRESS_SPACE = 3_000_000_000  # bytes, beyond what is loaded: what a file may declare and get


@dataclass(frozen=True)
class Verdict:
    """What became of a file.

    Attributes
    ----------
    refused
        The message, where the library refused it; None where it was read.
    fault
        What was not as it must be; None if nothing.
    """

    refused: str | None = None
    fault: str | None = None
    seconds: float = 0.0
    growth: int = 0


class Watchdog:
    """A process that tries files, replaced by another one where a file ends or hangs it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Watchdog:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def attempt(self, path: Path, role: str, patience: float = PATIENCE) -> Verdict:
        """Let the process try a file."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fuzz.watchdog"],
                cwd=TESTS,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(["../src", *sys.path])},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            assert self._process.stdout is not None
            self._process.stdout.readline()  # it is ready
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([str(path), role]).encode() + b"\n")
        process.stdin.flush()
        ready = _answers(process, patience)
        line = process.stdout.readline() if ready else b""
        if line:
            return Verdict(**json.loads(line))
        self._stop()
        how = f"crashed with {process.returncode}" if ready else "hangs"
        return Verdict(fault=how)

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _answers(process: subprocess.Popen[bytes], patience: float) -> bool:
    """Wait for an answer; False if none comes after some work, or after a longer while."""
    usage = psutil.Process(process.pid)
    began, busy = time.monotonic(), sum(usage.cpu_times()[:2])
    while time.monotonic() - began < patience and sum(usage.cpu_times()[:2]) - busy < BUSY:
        assert process.stdout is not None
        if select.select([process.stdout], [], [], min(patience, 1.0))[0]:
            return True
    return False


def _serve() -> None:
    """Try the files named on the standard input."""
    import resource

    import numpy as np

    from fuzz.attempts import ATTEMPTS, BY_COMMAND

    answers = os.fdopen(os.dup(1), "w")
    printed = tempfile.TemporaryFile()  # noqa: SIM115
    os.dup2(printed.fileno(), 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:  # kernels and libraries are loaded beforehand
        path = Path(folder) / "mask.npy"  # also a depth
        np.save(path, np.ones((12, 16)))
        for role in ("mask", "mask" + BY_COMMAND, "depth" + BY_COMMAND):
            ATTEMPTS[role](path)
    for name in ("h5py", "PIL.Image", "tifffile", "trimesh", "zarr"):
        with contextlib.suppress(ImportError):
            import_module(name)
    platform.platform()  # which asks a program, once
    space = _status("VmSize") + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=_integration_warning())
    reached: list[str] = []
    sys.addaudithook(lambda event, _: reached.append(event) if event in OUTSIDE else None)
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        path, role = json.loads(line)
        printed.truncate(0)
        reached.clear()
        Path("/proc/self/clear_refs").write_text("5")  # from here on the peak is counted anew
        before, began = _status("VmHWM"), time.process_time()
        verdict = _verdict(lambda path=path, role=role: ATTEMPTS[role](Path(path)))
        verdict["seconds"] = time.process_time() - began
        verdict["growth"] = _status("VmHWM") - before
        sys.stdout.flush()
        ctypes.CDLL(None).fflush(None)
        if verdict["fault"] is None:
            size = os.fstat(printed.fileno()).st_size
            verdict["fault"] = f"led to {reached}" if reached else _excess(verdict, size)
        answers.write(json.dumps(verdict) + "\n")
        answers.flush()


def _integration_warning() -> type[Warning]:
    from rayrelief.errors import IntegrationWarning

    return IntegrationWarning


def _verdict(attempt: Any) -> dict[str, Any]:
    from rayrelief.errors import RayreliefError

    try:
        attempt()
    except RayreliefError as error:
        return {"refused": str(error), "fault": None}
    except BaseException:  # all others are what is looked for
        return {"refused": None, "fault": traceback.format_exc()}
    return {"refused": None, "fault": None}


def _excess(verdict: dict[str, Any], printed: int) -> str | None:
    found = []
    if printed:
        found.append(f"{printed} bytes on the standard output")
    if verdict["seconds"] > SECONDS:
        found.append(f"{verdict['seconds']:.1f} s of processor time")
    if verdict["growth"] > GROWTH:
        found.append(f"{verdict['growth'] / 1e6:,.0f} MB of memory")
    return ", ".join(found) or None


def _status(name: str) -> int:
    """Bytes that /proc tells of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


if __name__ == "__main__":
    _serve()
