"""rayrelief integrate --dry-run of a map in blocks: what a run would take; nothing is written."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import rayrelief
from rayrelief.backends.cpu import CPU
from rayrelief.cameras.base import Camera
from rayrelief.cli.runs.report import to_json
from rayrelief.cli.terminal.console import show
from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError, in_number
from rayrelief.estimate import directions_of
from rayrelief.large.arrays import MapFile
from rayrelief.large.judging import of_a_part
from rayrelief.large.layout import Layout, Window, shape_of, size_of
from rayrelief.large.results import disk_needed, size_of_folder
from rayrelief.large.samples import spread
from rayrelief.memory import in_words, memory_available
from rayrelief.methods.base import Method
from rayrelief.problem import assemble
from rayrelief.synthetic.gallery import sphere

SAMPLE_SIDE, PLACES = 300, 5  # pixels along a side of what is integrated, and places along a side
# Of docs/large_maps.md: sweeps of a map, by how many more where blocks are looked at again, what
# that takes of the first run, and seconds per pixel of a block and sweep, by the neighbours.
SWEEPS, AGAIN, LOOK = 8, 1.5, 0.1
SWEEP_SECONDS = {4: 1.8e-6, 8: 3.4e-6}


def plan(
    found: MapFile,
    camera: Camera,
    layout: Layout,
    method: Method,
    *,
    notes: list[str],
    memory: int,
    workers: int,
    threads: int,
    work: Path,
    mesh: bool,
) -> dict[str, Any]:
    """What a run would take, as plain values: blocks, memory, disk and time."""
    (height, width), blocks = found.shape, [layout.block(n) for n in range(len(layout))]
    seconds, inside, sampled = _measured(found, camera, method, threads)
    pixels = sum(size_of(block.whole) for block in blocks)
    again = len(layout) > 1 and hasattr(method, "continued")
    deciding = pixels * inside * seconds * (1 + LOOK * again)
    sweeps = 0 if len(layout) == 1 else round(SWEEPS * (AGAIN if again else 1))
    per_sweep = pixels * inside * SWEEP_SECONDS[directions_of(method)]
    rounds = -(-len(layout) // workers) / len(layout)  # of what one worker would take for all
    return {
        "rayrelief": rayrelief.__version__,
        "map": str(found.path),
        "input": {"size": [width, height], "notes": notes},
        "inside": inside,
        "blocks": {
            "number": len(layout),
            "size": [max(shape_of(block.whole)[k] for block in blocks) for k in (1, 0)],
            "overlap": layout.overlap,
            "pixels": pixels,
        },
        "workers": workers,
        "memory_bytes": {"limit": memory, "available": memory_available()},
        "disk_bytes": {
            "needed": disk_needed(layout, method, mesh=mesh),
            "there": size_of_folder(work),
            "free": shutil.disk_usage(work.parent).free,
        },
        "expected": {
            "seconds": rounds * (deciding + sweeps * per_sweep),
            "deciding_seconds": rounds * deciding,
            "sweeps": sweeps,
        },
        "sample": {"pixels": sampled, "seconds_per_pixel": seconds},
    }


def tell_plan(report: dict[str, Any], *, as_json: bool) -> None:
    """Print a plan."""
    show(to_json(report) if as_json else _summary(report))


def _measured(
    found: MapFile, camera: Camera, method: Method, threads: int
) -> tuple[float, float, int]:
    """Seconds per pixel of the method, the share of pixels inside, and how many were timed."""
    windows = [*spread(*found.shape, SAMPLE_SIDE, PLACES)]
    down, across = _counting_once(found.shape, windows)
    best, most, inside, looked_at = None, 0, 0.0, 0.0
    for window in windows:
        normals, mask = found.read(window)
        mask = mask & np.isfinite(normals).all(axis=-1) & normals.any(axis=-1)
        counts = np.outer(down[window[0]], across[window[1]])
        inside += float(counts[mask].sum())
        looked_at += float(counts.sum())
        count = int(np.count_nonzero(mask))
        if count > most:
            most, best = count, (window, normals, mask)
    if best is None:
        raise InputError(
            f"no normal in {len(windows)} windows of {found.path}",
            expected="a map that shows something where it is looked at",
            remedy="Check the map and its mask, or run it without --dry-run",
        )
    (rows, columns), normals, mask = best
    own = camera.crop(columns.start, rows.start, *mask.shape[::-1])
    small = sphere(64, 64)
    _seconds(small.normals, small.camera, small.mask, method, threads)  # compiles and loads
    seconds = _seconds(normals, own, mask, method, threads)
    return seconds / most, inside / looked_at, most


def _counting_once(
    shape: tuple[int, int], windows: Sequence[Window]
) -> tuple[FloatArray, FloatArray]:
    """What rows and columns count so that each pixel of windows which overlap counts once.

    On small maps they do, in the middle most often, where mostly more is inside.
    """
    times = [np.zeros(length) for length in shape]
    for along, parts in zip(times, zip(*windows, strict=True), strict=True):
        for start, stop in {(part.start, part.stop) for part in parts}:
            along[start:stop] += 1.0
    down, across = (1.0 / np.maximum(along, 1.0) for along in times)
    return down, across


def _seconds(normals: Any, camera: Camera, mask: Any, method: Any, threads: int) -> float:
    began = time.perf_counter()
    method, _ = of_a_part(method)
    problem = assemble(normals, camera, mask=mask, method=method, threads=threads)
    method.solve(problem, CPU(threads))
    return time.perf_counter() - began


def _summary(report: dict[str, Any]) -> str:
    width, height = report["input"]["size"]
    blocks, disk, expected = report["blocks"], report["disk_bytes"], report["expected"]
    memory, sample = report["memory_bytes"], report["sample"]
    there = f", {in_words(disk['there'])} of it there already" if disk["there"] else ""
    return "\n".join(
        (
            f"Dry run of {width}x{height} pixels, about {100 * report['inside']:.0f} % inside",
            f"  blocks: {blocks['number']:,} of at most {blocks['size'][0]}x{blocks['size'][1]} "
            f"pixels, overlap {blocks['overlap']}",
            f"  memory: {in_words(memory['limit'])} for "
            f"{in_number(report['workers'], 'worker')}, {in_words(memory['available'])} available",
            f"  disk:   about {in_words(disk['needed'])}{there}, {in_words(disk['free'])} free",
            f"  time:   about {_lasting(expected['seconds'])}: "
            f"{_lasting(expected['deciding_seconds'])} for the blocks, by "
            f"{in_number(sample['pixels'], 'pixel')}, and "
            f"{in_number(expected['sweeps'], 'sweep')}, as crowds take",
            "  not included: loading or compiling kernels, reading and writing files",
        )
    )


def _lasting(seconds: float) -> str:
    """Time in a unit that suits it."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} minutes" if seconds < 7200 else f"{seconds / 3600:.3g} hours"
