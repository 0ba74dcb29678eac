"""Parts of a surface moved, where the surface is computed."""

from __future__ import annotations

import numpy as np

from rayrelief.backends.base import Computation, MovesParts, Vector
from rayrelief.conventions import BoolArray
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.laws.ordered import with_intervals
from rayrelief.methods.ordered.groups import group_shifts
from rayrelief.methods.ordered.parts import borders_between, continuous_parts, staying


def moved(
    computation: Computation,
    equations: EdgeEquations | None,
    x: Vector,
    joins: tuple[float, float],
    held: BoolArray | None,
) -> tuple[Vector, int]:
    """Move the parts of a surface, which small residuals and half-widths join, alone and in groups.

    Returns the surface, and the number of moves.
    """
    if isinstance(computation, MovesParts):
        borders = computation.borders(x, joins, staying)
        shifts, moves = group_shifts(borders)
        return (computation.shift_parts(borders.parts, shifts) if moves else x), moves
    if equations is None:
        raise LookupError("parts are moved on the CPU, which needs their equations")
    known = with_intervals(equations)
    parts = continuous_parts(known, x, *joins)
    anchored = np.unique(parts[held]) if held is not None else parts[:0]
    stays = staying(np.bincount(parts), anchored)
    shifts, moves = group_shifts(borders_between(known, x, parts, stays))
    return (x + shifts[parts] if moves else x), moves
