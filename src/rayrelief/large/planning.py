"""How large blocks may be, and what the depth of the whole map measures."""

from __future__ import annotations

import math

import numpy as np

from rayrelief.backends.cpu import CPU
from rayrelief.batch.base import PROCESS
from rayrelief.cameras.base import WIDEST_Z_RAY_DEGREES, Camera
from rayrelief.conventions import DepthKind
from rayrelief.errors import InputError
from rayrelief.estimate import memory_needed
from rayrelief.large.layout import SMALLEST
from rayrelief.memory import in_words
from rayrelief.methods.base import Method

# Bytes per pixel of a block for what it reads: normals, mask, and the equations that are kept.
READ = 60


def side_for(memory: int, workers: int, method: Method, threads: int | None) -> int:
    """Pixels along a side of the largest block whose run fits into a share of some bytes."""
    share, backend = memory // workers - PROCESS, CPU(threads)

    def needed(side: int) -> int:
        return memory_needed(side**2, side**2, method, backend) + READ * side**2

    if needed(SMALLEST) > share:
        raise InputError(
            f"{in_words(memory)} for {workers} worker{'s' * (workers != 1)}",
            expected=f"at least {math.ceil((PROCESS + needed(SMALLEST)) / 1e6)} MB for each",
            remedy="Give more memory (--memory), or use fewer workers (--workers)",
        )
    low, high = SMALLEST, 1 << 16
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if needed(middle) <= share else (low, middle)
    return low


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
