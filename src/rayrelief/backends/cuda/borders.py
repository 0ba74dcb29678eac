"""Borders of the parts of a surface, read from a machine, and shifts that are written to it."""

from __future__ import annotations

import numpy as np

from rayrelief.backends.base import Borders
from rayrelief.backends.cuda.engine import Engine
from rayrelief.backends.cuda.layout import STAYS, Workspace
from rayrelief.backends.cuda.machine import Array
from rayrelief.conventions import FloatArray
from rayrelief.graph import STEPS, Int32Array


def borders_of(engine: Engine) -> Borders:
    """Edges between the parts that kernels have found last; a part is known by its first pixel."""
    work, machine = engine.work, engine.machine
    with engine.queue.arrays():
        found = zip(*(_crossing(work, pair) for pair in range(work.directions // 2)), strict=True)
        here, there, residual, focal, half_width, sigma, lead = (
            machine.get(machine.arrays.concatenate(each)) for each in found
        )
        parts, numbers = np.unique(np.concatenate((here, there)), return_inverse=True)
        rank = machine.get(work.arrays["part_size"][machine.put(parts)]) - 1
        moved = machine.get(work.arrays["moved"][machine.put(np.maximum(rank, 0))])
    first, second = numbers.astype(np.int32).reshape(2, -1)
    stays = (rank <= 0) | (moved == STAYS)
    return Borders(first, second, residual, focal, half_width, sigma, lead, parts, stays)


def shift_parts(engine: Engine, parts: Int32Array, shifts: FloatArray) -> None:
    """Shift some parts, each known by its first pixel."""
    work, machine = engine.work, engine.machine
    with engine.queue.arrays():
        part, by = _parts(work), machine.zeros(work.pixels, np.float64)
        by[machine.put(parts)] = machine.put(shifts)
        work.arrays["x"] += machine.arrays.where(part >= 0, by[part], 0.0)
    engine.queue.mark()


def _parts(work: Workspace) -> Array:
    return work.arrays["part_of"][: work.pixels]


def _crossing(work: Workspace, pair: int) -> tuple[Array, ...]:
    """Parts on either side of the edges of one direction that leave a part, and what these say."""
    arrays, shape = work.machine.arrays, (work.height, work.width)
    part, x = _parts(work), work.arrays["x"]
    offset, focal = work.arrays[f"offset{2 * pair}"], work.arrays[f"gamma{2 * pair}"]
    step = STEPS[8][2 * pair]
    beyond = arrays.roll(part.reshape(shape), (-step[1], -step[0]), axis=(0, 1)).ravel()
    rank = work.arrays["part_size"]  # plus one; 0 and 1 stay
    a = arrays.flatnonzero((part != beyond) & (focal != 0))
    a = a[(rank[part[a]] > 1) | (rank[beyond[a]] > 1)]
    row, column = a // work.width + step[1], a % work.width + step[0]
    b = row % work.height * work.width + column % work.width
    intervals = (work.arrays[f"{name}{pair}"][a] for name in ("half_width", "sigma", "lead"))
    return part[a], beyond[a], (x[a] - x[b] - offset[a]) * focal[a], focal[a], *intervals
