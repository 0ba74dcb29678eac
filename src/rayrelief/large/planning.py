"""How large blocks may be, and what the depth of the whole map measures."""

from __future__ import annotations

import math

import numpy as np

from rayrelief.backends.cpu import CPU
from rayrelief.batch.base import PROCESS
from rayrelief.cameras.base import WIDEST_Z_RAY_DEGREES, Camera
from rayrelief.conventions import DepthKind
from rayrelief.errors import InputError, in_number
from rayrelief.estimate import memory_needed
from rayrelief.large.layout import SMALLEST, Layout, size_of
from rayrelief.memory import in_words
from rayrelief.methods.base import Method

# Bytes per pixel of a block for what it reads: normals, mask, and the equations that are kept.
READ = 60


def side_for(memory: int, workers: int, method: Method, threads: int | None) -> int:
    """Pixels along a side of the largest block whose run fits into a share of some bytes."""
    check_least(memory, workers, method, threads)
    share = memory // workers - PROCESS
    low, high = SMALLEST, 1 << 16
    while high - low > 1:
        middle = (low + high) // 2
        fits = _needed(middle**2, method, threads) <= share
        low, high = (middle, high) if fits else (low, middle)
    return low


def check_least(memory: int, workers: int, method: Method, threads: int | None) -> None:
    """Raise InputError unless a share of some bytes is enough for the smallest block."""
    least = PROCESS + _needed(SMALLEST**2, method, threads)
    if least > memory // workers:
        raise InputError(
            f"{in_words(memory)} for {in_number(workers, 'worker')}",
            expected=f"at least {math.ceil(least / 1e6)} MB for each",
            remedy="Give more memory (--memory), or use fewer workers (--workers)",
        )


def check_fit(
    layout: Layout, memory: int, workers: int, method: Method, threads: int | None
) -> None:
    """Raise InputError unless the blocks of an earlier run fit into a share of some bytes."""
    pixels = max(size_of(layout.block(number).whole) for number in range(len(layout)))
    needed = PROCESS + _needed(pixels, method, threads)
    if needed > memory // workers:
        raise InputError(
            f"the blocks of the run that is gone on with need {in_words(needed)} each, of "
            f"{in_words(memory)} for {in_number(workers, 'worker')}",
            expected="as much for each worker",
            remedy="Use fewer workers (--workers), close other programs, or remove what is kept "
            "to begin again with smaller blocks; --no-memory-check tries it",
        )


def _needed(pixels: int, method: Method, threads: int | None) -> int:
    """Bytes of the run on a block."""
    return memory_needed(pixels, pixels, method, CPU(threads)) + READ * pixels


def kind_of(camera: Camera, height: int, width: int) -> DepthKind:
    """What depths of the whole map measure: distances if any ray is far off the axis."""
    if not camera.central:
        return "z"
    rows = np.unique(np.linspace(0, height - 1, min(height, 257)).round())
    columns = np.unique(np.linspace(0, width - 1, min(width, 257)).round())
    grid = np.stack(np.meshgrid(columns, rows), axis=-1)
    rays = camera.directions(grid)
    length = np.linalg.norm(rays, axis=-1)
    found = np.isfinite(length)
    steepest = np.cos(np.radians(WIDEST_Z_RAY_DEGREES))
    return "z" if np.all(rays[found][:, 2] >= steepest * length[found]) else "distance"
