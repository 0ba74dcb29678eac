"""Where a benchmark ran: versions, hardware, date."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numba

ROOT = Path(__file__).parents[2]
PACKAGES = ("rayrelief", "numpy", "numba", "scipy", "pyamg", "pypardiso")


def environment() -> dict[str, str]:
    """What a number depends on, as text by name."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "threads": str(numba.config.NUMBA_NUM_THREADS),
    }


def _commit() -> str:
    """Commit of the source, with a word if files differ from it."""
    describe = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=12", "--dirty"]
    try:
        done = subprocess.run(describe, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return "not known"
    return done.stdout.strip()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    """Model of the processor: Linux tells it in a file only."""
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
