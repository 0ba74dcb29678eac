"""Borders of the parts of a surface, read from a machine, and shifts that are written to it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rayrelief.backends.base import Borders, Integers
from rayrelief.backends.cuda.engine import Engine
from rayrelief.backends.cuda.layout import BORDER_EDGE, Workspace
from rayrelief.backends.cuda.machine import Array
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.graph import Int32Array


def borders_of(engine: Engine, staying: Callable[[Integers, Integers], BoolArray]) -> Borders:
    """Edges between the parts that kernels have found last; a part is known by its first pixel."""
    work, machine, spread = engine.work, engine.machine, engine.schedule.spread
    arrays, pixels = machine.arrays, work.pixels
    with engine.queue.arrays():
        size = work.arrays["part_size"][:pixels]
        firsts = arrays.flatnonzero(size)
        known = machine.get(firsts)
        held = _parts(work)[work.arrays["anchor"] > 0] if "anchor" in work.arrays else firsts[:0]
        of_held = machine.get(held)
        numbers_held = np.searchsorted(known, np.unique(of_held[of_held >= 0]))
        stays = staying(machine.get(size[firsts]), numbers_held)
        numbers = np.arange(len(known), dtype=np.int32)
        numbers[stays] = ~numbers[stays]
        work.arrays["part_number"][firsts] = machine.put(numbers)
        engine.queue.launch("parts_leave", spread, 256)
        leaves = work.arrays["leaves"][: work.directions // 2 * pixels]
        crossing = arrays.flatnonzero(leaves).astype(np.int64, copy=False)
        room = machine.zeros(len(crossing) * BORDER_EDGE.itemsize, np.uint8)
        if len(crossing):
            work.point("crossing", crossing)
            work.point("border", room)
            engine.queue.launch("parts_edges", spread, 256, len(crossing))
            del work.arrays["crossing"], work.arrays["border"]
        edges = machine.get(room).view(BORDER_EDGE)
    told = {name: np.ascontiguousarray(edges[name]) for name in BORDER_EDGE.names or ()}
    return Borders(**told, parts=known.astype(np.int32), stays=stays)


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
