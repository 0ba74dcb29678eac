"""Parts of a surface and groups of them moved, where the surface is computed."""

from __future__ import annotations

import numpy as np

from rayrelief.backends.base import Computation, MovesParts, Vector
from rayrelief.conventions import BoolArray
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.laws.ordered import with_intervals
from rayrelief.methods.ordered.groups import borders_between, group_shifts
from rayrelief.methods.ordered.parts import (
    KERNEL_CONSTANTS,
    SWEEPS,
    continuous_parts,
    movable_parts,
    move_parts,
)


def moved(
    computation: Computation,
    equations: EdgeEquations | None,
    x: Vector,
    level: tuple[float, float],
    held: BoolArray | None,
    *,
    together: bool,
) -> tuple[Vector, int]:
    """Move the parts of a surface, found at a level, one by one and, if asked to, together.

    Returns the surface, and the number of moves.
    """
    if isinstance(computation, MovesParts):
        x, moves = computation.move_parts(x, level, KERNEL_CONSTANTS, SWEEPS)
        if together:
            borders = computation.borders()
            shifts, groups = group_shifts(borders)
            x = computation.shift_parts(borders.parts, shifts) if groups else x
            moves += groups
        return x, moves
    if equations is None:
        raise LookupError("parts are moved on the CPU, which needs their equations")
    known, values = with_intervals(equations), np.array(x)
    parts = continuous_parts(known, values, *level)
    movable = movable_parts(parts, held)
    moves = move_parts(known, values, parts, movable)
    if together:
        shifts, groups = group_shifts(borders_between(known, values, parts, movable))
        values += shifts[parts]
        moves += groups
    return (values, moves) if moves else (x, 0)
