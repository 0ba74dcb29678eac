"""Anchors on coarse levels: what holds a node there, and nodes that need no coarse level.

A coarse node is held by the anchors of the nodes that it stands for. Of the Galerkin product of the
diagonal only the sums of its rows are kept: its other entries would weaken couplings, and those of
strong anchors would reverse them. What that loses is small beside the couplings as long as the
anchors are; nodes with stronger ones are set apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rayrelief.compiled import njit
from rayrelief.conventions import SingleArray
from rayrelief.solvers.kernels import entries
from rayrelief.solvers.multigrid.galerkin import Transfer
from rayrelief.solvers.multigrid.rows import Rows

# A node whose anchor is stronger than so many times all of its conductances is as good as solved
# by a Jacobi step: to its neighbours it is an anchor itself.
HELD = 1.0


def held_apart(rows: Rows, anchors: SingleArray) -> tuple[Rows, SingleArray]:
    """Rows without the edges of held nodes, and anchors (N,) with those edges added to them."""
    held = np.empty(rows.size, dtype=np.bool_)
    _find_held(rows.arrays, anchors, held)
    if not held.any():
        return rows, anchors
    rows, anchors = replace(rows, value=rows.value.copy()), anchors.copy()
    _set_apart(rows.arrays, held, anchors)
    return rows, anchors


def coarse_anchors(down: Transfer, anchors: SingleArray) -> SingleArray:
    """Anchors of the coarse level: those of the fine level, restricted."""
    coarse = np.empty(len(down.start) - 1, dtype=np.float32)
    _restrict(*down.arrays, anchors, coarse)
    return coarse


@njit(cache=True)
def _find_held(rows: Any, anchors: Any, held: Any) -> None:
    for i in range(len(held)):
        first, end, step = entries(rows, i, len(held))
        total = 0.0
        for e in range(first, end, step):
            total += max(rows[2][e], 0.0)
        held[i] = anchors[i] > HELD * total


@njit(cache=True)
def _set_apart(rows: Any, held: Any, anchors: Any) -> None:
    _, column, conductance = rows
    for i in range(len(held)):
        first, end, step = entries(rows, i, len(held))
        for e in range(first, end, step):
            if held[column[e]] and not held[i]:
                anchors[i] += max(conductance[e], 0.0)
            if held[column[e]] or held[i]:
                conductance[e] = 0.0


@njit(cache=True)
def _restrict(start: Any, column: Any, weight: Any, fine: Any, coarse: Any) -> None:
    for j in range(len(coarse)):
        total = 0.0
        for e in range(start[j], start[j + 1]):
            total += weight[e] * fine[column[e]]
        coarse[j] = total
