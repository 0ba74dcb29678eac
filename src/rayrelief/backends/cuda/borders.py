"""Borders of the parts of a surface, read from a machine, and shifts that are written to it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rayrelief.backends.base import Borders, Integers
from rayrelief.backends.cuda.engine import Engine
from rayrelief.backends.cuda.layout import Workspace
from rayrelief.backends.cuda.machine import Array
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.graph import STEPS, Int32Array


def borders_of(engine: Engine, staying: Callable[[Integers, Integers], BoolArray]) -> Borders:
    """Edges between the parts that kernels have found last; a part is known by its first pixel."""
    work, machine = engine.work, engine.machine
    arrays = machine.arrays
    with engine.queue.arrays():
        part, size = _parts(work), work.arrays["part_size"][: work.pixels]
        firsts = arrays.flatnonzero(size)
        held = part[work.arrays["anchor"] > 0] if "anchor" in work.arrays else part[:0]
        sizes, of_held = machine.get(size[firsts]), machine.get(held)
        known = machine.get(firsts)
        stays = staying(sizes, np.searchsorted(known, np.unique(of_held[of_held >= 0])))
        moves = machine.zeros(work.pixels, np.bool_)
        moves[firsts[machine.put(~stays)]] = True
        found = zip(
            *(_crossing(work, pair, moves) for pair in range(work.directions // 2)), strict=True
        )
        here, there, residual, focal, half_width, sigma, lead = (
            machine.get(arrays.concatenate(each)) for each in found
        )
    parts, numbers = np.unique(np.concatenate((here, there)), return_inverse=True)
    first, second = numbers.astype(np.int32).reshape(2, -1)
    stay = stays[np.searchsorted(known, parts)]
    return Borders(first, second, residual, focal, half_width, sigma, lead, parts, stay)


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


def _crossing(work: Workspace, pair: int, moves: Array) -> tuple[Array, ...]:
    """Parts on either side of the edges of one direction that leave a part which moves (H * W,).

    And what these edges say.
    """
    arrays, shape = work.machine.arrays, (work.height, work.width)
    part, x = _parts(work), work.arrays["x"]
    offset, focal = work.arrays[f"offset{2 * pair}"], work.arrays[f"gamma{2 * pair}"]
    step = STEPS[8][2 * pair]
    beyond = arrays.roll(part.reshape(shape), (-step[1], -step[0]), axis=(0, 1)).ravel()
    a = arrays.flatnonzero((part != beyond) & (focal != 0))
    a = a[moves[part[a]] | moves[beyond[a]]]
    row, column = a // work.width + step[1], a % work.width + step[0]
    b = row % work.height * work.width + column % work.width
    intervals = (work.arrays[f"{name}{pair}"][a] for name in ("half_width", "sigma", "lead"))
    return part[a], beyond[a], (x[a] - x[b] - offset[a]) * focal[a], focal[a], *intervals
