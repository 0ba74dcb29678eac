"""Time, memory and cycles from a quarter of a megapixel to sixteen, on a crowd of objects."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.report import Check, Column, Row, Table, UnavailableError, progress
from benchmarks.speed.environment import ROOT
from benchmarks.speed.scaling_worker import METHODS, ON_A_JUMP, OUTER, RTOL, STATUS

SIZES = (512, 1024, 2048, 4096)  # sides of the squares
SMALL, LARGE = 1024, 4096  # sides between which growth has a limit
GROWTH = 1.5
MOST_SECONDS = {"RayPlane": 480, "Smooth": 60}  # at the large side
LEAST_SIDE = 512  # smaller pictures serve a quick run, and have no limits

Measured = dict[tuple[str, int], dict[str, Any]]  # by task and side; empty where it failed


def tables(sizes: Sequence[int]) -> Iterator[Table]:
    """Time and memory of integrate; cycles from zero."""
    if not STATUS.exists():
        raise UnavailableError("peak memory is measured on Linux only")
    measured = measure(sizes)
    yield time_and_memory(measured, sizes)
    yield cycles(measured, sizes)


def measure(sizes: Sequence[int]) -> Measured:
    """All tasks at all sizes, each in a process of its own."""
    measured: Measured = {}
    for side in sizes:
        with tempfile.TemporaryDirectory() as folder:
            progress(f"scaling: rendering {side}x{side} pixels")
            _work("render", folder, str(side))
            for task in (*METHODS, "cycles"):
                progress(f"scaling: {task} on {side}x{side} pixels")
                measured[task, side] = _work(task, folder)
    return measured


def time_and_memory(measured: Measured, sizes: Sequence[int]) -> Table:
    """One row for each method and size."""
    rows, checks = [], []
    for method in METHODS:
        first = _per_pixel(measured[method, sizes[0]])
        for side in sizes:
            found = measured[method, side]
            share = 100 * _get(found, "jump_share") if method == "RayPlane" else None
            rows.append(
                (
                    method,
                    f"{side}x{side}",
                    _get(found, "seconds"),
                    _per_pixel(found),
                    _per_pixel(found) / first,
                    _get(found, "bytes_per_pixel"),
                    _get(found, "iterations"),
                    _get(found, "cycles"),
                    share,
                    _get(found, "relative_error"),
                    found.get("outcome", "failed"),
                )
            )
            where = f"{method}, {side}x{side}"
            if side >= LEAST_SIDE:
                peak = _get(found, "bytes_per_pixel")
                checks.append(Check(f"{where}: bytes per pixel", peak, below=300))
            if side >= LEAST_SIDE and share is not None:
                what = f"{where}: % of the directed edges with w < {ON_A_JUMP}"
                checks.append(Check(what, share, at_least=1))
            if side == LARGE:
                seconds, limit = _get(found, "seconds"), MOST_SECONDS[method]
                checks.append(Check(f"{where}: seconds", seconds, at_most=limit))
        if {SMALL, LARGE} <= set(sizes):
            growth = _per_pixel(measured[method, LARGE]) / _per_pixel(measured[method, SMALL])
            what = f"{method}: time per pixel, {LARGE}x{LARGE} over {SMALL}x{SMALL}"
            checks.append(Check(what, growth, at_most=GROWTH))
    return Table(
        "Growing pictures of objects that hide one another",
        (
            Column("method"),
            Column("pixels"),
            Column("seconds", ".2f"),
            Column("ns per pixel", ",.0f"),
            Column("over the smallest", ".2f"),
            Column("bytes per pixel", ".0f"),
            Column("iterations", ".0f"),
            Column("cycles per solve", ".1f"),
            Column(f"w < {ON_A_JUMP}, %", ".2f"),
            Column("RE, %", ".3f"),
            Column("outcome"),
        ),
        tuple(rows),
        (
            "`rayrelief.synthetic.crowd` with normals in single precision; each row in a fresh "
            "process with compiled kernels.",
            "Bytes are the peak of the process beyond what it held with the inputs loaded.",
        ),
        tuple(checks),
    )


def cycles(measured: Measured, sizes: Sequence[int]) -> Table:
    """Cycles from zero, one row for each size."""
    kinds = {"smooth": "Smooth's system", "jumps": f"RayPlane's system in iteration {OUTER}"}
    rows: list[Row] = [
        (f"{side}x{side}", *(_get(measured["cycles", side], kind) for kind in kinds))
        for side in sizes
    ]
    checks = []
    if {SMALL, LARGE} <= set(sizes):
        for kind, name in kinds.items():
            large, small = (_get(measured["cycles", side], kind) for side in (LARGE, SMALL))
            what = f"{name}: cycles, {LARGE}x{LARGE} over {SMALL}x{SMALL}"
            checks.append(Check(what, large / small, at_most=GROWTH))
    return Table(
        f"Cycles to {RTOL:g} from zero on the same pictures",
        (Column("pixels"), *(Column(name, ".0f") for name in kinds.values())),
        tuple(rows),
        checks=tuple(checks),
    )


def _work(task: str, *arguments: str) -> dict[str, Any]:
    """Run one task; what it measured, or nothing if it failed, for instance for want of memory."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.scaling_worker", task, *arguments],
        check=False,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    if done.returncode:
        progress(f"scaling: {task} failed with exit code {done.returncode}")
        return {}
    measured: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return measured


def _get(found: dict[str, Any], name: str) -> float:
    """A number, or NaN where the measurement failed: NaN meets no limit."""
    return float(found.get(name, "nan"))


def _per_pixel(found: dict[str, Any]) -> float:
    return 1e9 * _get(found, "seconds") / _get(found, "pixels")
