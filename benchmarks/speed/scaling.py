"""Time, memory and cycles from a quarter of a megapixel to sixteen, on a crowd of objects."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.report import Check, Row, Table, UnavailableError, columns, progress
from benchmarks.speed.environment import ROOT
from benchmarks.speed.scaling_worker import METHODS, ON_A_JUMP, OUTER, RTOL, STATUS

SIZES = (512, 1024, 2048, 4096)  # sides of the squares
SMALL, LARGE = 1024, 4096  # sides between which growth has a limit
GROWTH = 1.5
MOST_SECONDS = {"RayPlane": 480, "Smooth": 60, "Ordered": 480}  # at the large side
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
    rows: list[Row] = []
    checks = []
    for method in METHODS:
        for side in sizes:
            found, where = measured[method, side], f"{method}, {side}x{side}"
            seconds, peak = _get(found, "seconds"), _get(found, "bytes_per_pixel")
            share = 100 * _get(found, "jump_share") if method == "RayPlane" else None
            times = seconds, _per_pixel(found)
            counts = [_get(found, name) for name in ("iterations", "cycles")]
            end = _get(found, "relative_error"), found.get("outcome", "failed")
            rows.append((method, f"{side}x{side}", *times, peak, *counts, share, *end))
            if side >= LEAST_SIDE:
                checks.append(Check(f"{where}: bytes per pixel", peak, below=300))
                if share is not None:
                    what = f"{where}: % of the directed edges with w < {ON_A_JUMP}"
                    checks.append(Check(what, share, at_least=1))
            if side == LARGE:
                limit = MOST_SECONDS[method]
                checks.append(Check(f"{where}: seconds", seconds, at_most=limit))
        if {SMALL, LARGE} <= set(sizes):
            large, small = (_per_pixel(measured[method, side]) for side in (LARGE, SMALL))
            checks.append(_growth(f"{method}: time per pixel", large / small))
    return Table(
        "Growing pictures of objects that hide one another",
        columns(
            "method | pixels | seconds:.2f | ns per pixel:,.0f | bytes per pixel:.0f "
            f"| iterations:.0f | cycles per solve:.1f | w < {ON_A_JUMP}, %:.2f | RE, %:.3f "
            "| outcome"
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
    checks = []
    if {SMALL, LARGE} <= set(sizes):
        for kind, name in kinds.items():
            large, small = (_get(measured["cycles", side], kind) for side in (LARGE, SMALL))
            checks.append(_growth(f"{name}: cycles", large / small))
    return Table(
        f"Cycles to {RTOL:g} from zero on the same pictures",
        columns(" | ".join(["pixels", *(f"{name}:.0f" for name in kinds.values())])),
        tuple(
            (f"{side}x{side}", *(_get(measured["cycles", side], kind) for kind in kinds))
            for side in sizes
        ),
        checks=tuple(checks),
    )


def _growth(what: str, found: float) -> Check:
    return Check(f"{what}, {LARGE}x{LARGE} over {SMALL}x{SMALL}", found, at_most=GROWTH)


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
