"""Fresh processes: import, first surface with an empty cache, and with a full one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks.report import Table, columns, progress

FIRST_SURFACE = """
import numpy as np, rayrelief
normals = np.zeros((64, 64, 3)); normals[..., 2] = -1.0
rayrelief.integrate(normals, rayrelief.cameras.Pinhole(100, 100, 31.5, 31.5))
"""
PROGRAMS = (
    ("python alone", "pass"),
    ("import rayrelief", "import rayrelief"),
    ("first surface, 64x64, compiles", FIRST_SURFACE),
    ("the same again, from the cache", FIRST_SURFACE),
)


def tables() -> Iterator[Table]:
    """Time programs, each in a process of its own, with one cache that is empty at first."""
    seconds = []
    with tempfile.TemporaryDirectory() as cache:
        for what, code in PROGRAMS:
            progress(f"cold start: {what}")
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", code],
                check=True,
                env={**os.environ, "NUMBA_CACHE_DIR": cache},
            )
            seconds.append(time.perf_counter() - began)
    yield Table(
        "Cold start of a fresh process",
        columns("what | seconds:.2f | over the first row:.1f"),
        tuple(
            (what, each, each / seconds[0])
            for (what, _), each in zip(PROGRAMS, seconds, strict=True)
        ),
    )
