"""The hierarchy of an operator: ever coarser levels, until nothing is joined any more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rayrelief.compiled import njit
from rayrelief.conventions import FloatArray, SingleArray
from rayrelief.operators import Operator
from rayrelief.pieces import shares, side_by_side
from rayrelief.solvers.multigrid.aggregation import aggregate
from rayrelief.solvers.multigrid.anchors import coarse_anchors, held_apart
from rayrelief.solvers.multigrid.cycle import (
    CoarseLevels,
    Restriction,
    damped_inverse,
    interpolate,
    restrict,
)
from rayrelief.solvers.multigrid.galerkin import Transfer, coarse_rows, interpolation, transposed
from rayrelief.solvers.multigrid.rows import Rows, stencil

MAX_LEVELS = 50
NODES_AT_A_TIME = 1 << 16
ENTRIES = 1 << 18  # that are copied at a time, at least


@dataclass(frozen=True, eq=False)
class Level:
    """The matrix of one level.

    Attributes
    ----------
    rows, mass
        Couplings of its nodes; (N,) the diagonals that each stands for on the finest level.
    anchors
        (N,), or (0,) where nothing is held.
    """

    rows: Rows
    mass: SingleArray
    anchors: SingleArray


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The finest way down and up, and the coarse levels in between."""

    down: Restriction
    up: Transfer
    levels: CoarseLevels

    @classmethod
    def of(cls, operator: Operator) -> Hierarchy:
        """Coarsen until nothing is joined any more.

        The last level then has one node for each component (one that floats do not split): nothing
        is due to a free constant.
        """
        mass = np.empty(operator.graph.size, dtype=np.float32)
        add = partial(_add_directions, operator.conductance, mass)
        side_by_side(add, shares(len(mass), NODES_AT_A_TIME))
        wide, up, level = _next_level(Level(stencil(operator), mass, operator.anchors))
        down = Restriction.of(up, wide)
        del wide  # and its weights
        levels, downs, ups = [level], [], []
        while len(levels) < MAX_LEVELS and (level.rows.value > 0).any():
            next_down, next_up, level = _next_level(level)
            levels.append(level)
            downs.append(next_down)
            ups.append(next_up)
        del level
        return cls(down, up, _stacked(levels, downs, ups))

    def correct(self, residual: FloatArray, x: FloatArray) -> None:
        """Add to x (N,) the coarse correction for a residual (N,)."""
        levels, coarse = self.levels, len(self.down.start) - 1
        restrict(self.down.arrays, self.up.arrays, residual, levels.rhs, coarse)
        levels.correct()
        interpolate(self.up.arrays, levels.x, x)


def _next_level(level: Level) -> tuple[Transfer, Transfer, Level]:
    """Restriction to the next level, interpolation from it, and its matrix."""
    rows, anchors = level.rows, level.anchors
    if len(anchors):
        rows, anchors = held_apart(rows, anchors)
    aggregates = aggregate(rows)
    count = aggregates.count
    mass = np.zeros(count, dtype=np.float32)
    _add_up(aggregates.of_node, level.mass, mass)
    up = interpolation(rows, aggregates)
    del aggregates  # the product needs the memory
    down = transposed(up, count)
    if len(anchors):
        anchors = coarse_anchors(down, anchors)
    return down, up, Level(coarse_rows(rows, up, down), mass, anchors)


@njit(cache=True, nogil=True)
def _add_directions(values: Any, sums: Any, some: Any) -> None:
    for i in range(some.start, some.stop):
        total = values[0, i]
        for d in range(1, len(values)):
            total += values[d, i]
        sums[i] = total


@njit(cache=True)
def _add_up(of_node: Any, values: Any, sums: Any) -> None:
    for i in range(len(values)):
        sums[of_node[i]] += values[i]


def _stacked(levels: list[Level], downs: list[Transfer], ups: list[Transfer]) -> CoarseLevels:
    """Put the levels into one set of arrays; the lists are emptied on the way."""
    matrices = [level.rows for level in levels]
    mass, anchors = (
        np.concatenate(parts)
        for parts in zip(*((level.mass, level.anchors) for level in levels), strict=True)
    )
    levels.clear()
    sizes = [matrix.size for matrix in matrices]
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    nodes = int(bounds[-1])
    none = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.float32)
    first = Transfer(np.zeros(sizes[0] + 1, dtype=np.int32), *none)
    last = Transfer(np.zeros(sizes[-1] + 1, dtype=np.int32), *none)
    rows = Rows(*_stack(matrices, bounds[:-1]), nodes)
    down = Transfer(*_stack([first, *downs], [0, *bounds[:-2]]))
    downs.clear()
    up = Transfer(*_stack([*ups, last], bounds[1:]))
    ups.clear()
    room = (np.zeros(nodes) for _ in range(3))
    return CoarseLevels(bounds, rows, anchors, damped_inverse(rows, anchors, mass), down, up, *room)


def _stack(parts: list[Any], offsets: Any) -> tuple[Any, Any, Any]:
    """Concatenate compressed rows; columns are moved by the offset of their part."""
    starts = [part.arrays[0] for part in parts]
    columns = [part.arrays[1] for part in parts]
    values = [part.arrays[2] for part in parts]
    parts.clear()
    begins = np.cumsum([0, *(len(column) for column in columns[:-1])])
    starts = [starts[0][:1], *(start[1:] for start in starts)]
    start = _joined(starts, [0, *begins])
    column = _joined(columns, offsets)
    return start, column, _joined(values, [0] * len(values))


def _joined(parts: list[Any], offsets: Any) -> Any:
    """Concatenate arrays, each moved by its offset; the list is emptied on the way."""
    whole = np.empty(sum(len(part) for part in parts), dtype=parts[0].dtype)
    end = 0
    for offset in offsets:
        part = parts.pop(0)
        end, target = end + len(part), whole[end : end + len(part)]
        side_by_side(partial(_copy, part, target, int(offset)), shares(len(part), ENTRIES))
    return whole


def _copy(part: Any, target: Any, offset: int, some: slice) -> None:
    if offset:
        np.add(part[some], offset, out=target[some])
    else:
        target[some] = part[some]
