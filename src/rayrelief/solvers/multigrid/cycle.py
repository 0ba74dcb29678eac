"""The coarse levels in one stack of arrays, and one V-cycle over them.

Damped Jacobi before and after each correction: a symmetric preconditioner, with the same bits for
any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from rayrelief.conventions import FloatArray, SingleArray
from rayrelief.solvers.base import Laplacian
from rayrelief.solvers.kernels import FUSED
from rayrelief.solvers.multigrid.aggregation import aggregate
from rayrelief.solvers.multigrid.galerkin import Transfer, coarse_rows, interpolation, transposed
from rayrelief.solvers.multigrid.rows import Rows, stencil

# Eigenvalues of the matrix over the sums of its positive conductances are at most 2: any damping
# below 1 converges.
DAMPING = 0.9
# A coarse node joined by less than this fraction of the diagonals that it stands for keeps its
# constant: its equation is nothing but rounding errors, and following it leads far away.
NEGLIGIBLE = 1e-12
MAX_LEVELS = 50
BLOCK = 1024  # rows
SERIAL = 16384  # rows; fewer do not pay for waking another thread


Masses = SingleArray  # the diagonals that a node stands for on the finest level


@dataclass(frozen=True, eq=False)
class CoarseLevels:
    """All coarse levels, stacked: the nodes of level l are ``bounds[l]`` to ``bounds[l + 1]``.

    Attributes
    ----------
    bounds
        (levels + 1,) first node of each level.
    rows, inverse
        The Laplacians, and DAMPING over their diagonals.
    down
        Restriction to each node from the level above; no entries on the first level.
    up
        Interpolation to each node from the level below; no entries on the last level.
    rhs, guess, x
        (nodes,) working arrays.
    """

    bounds: npt.NDArray[np.int64]
    rows: Rows
    inverse: FloatArray
    down: Transfer
    up: Transfer
    rhs: FloatArray
    guess: FloatArray
    x: FloatArray

    def correct(self) -> None:
        """One V-cycle: from ``rhs`` to ``x`` on the first level."""
        _cycle(
            self.bounds,
            *self.rows.arrays,
            self.inverse,
            *self.down.arrays,
            *self.up.arrays,
            self.rhs,
            self.guess,
            self.x,
        )


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The finest way down and up, and the coarse levels in between."""

    down: Transfer
    up: Transfer
    levels: CoarseLevels

    @classmethod
    def of(cls, system: Laplacian) -> Hierarchy:
        """Coarsen until nothing is joined any more.

        The last level then has one node for each component (one that floats do not split): nothing
        is due to a free constant.
        """
        rows = stencil(system)
        mass = system.conductance.sum(axis=0)
        down, up, rows, mass = _next_level(rows, mass)
        matrices, masses, downs, ups = [rows], [mass], [], []
        while len(matrices) < MAX_LEVELS and (rows.conductance > 0).any():
            next_down, next_up, rows, mass = _next_level(rows, mass)
            matrices.append(rows)
            masses.append(mass)
            downs.append(next_down)
            ups.append(next_up)
        del rows
        return cls(down, up, _stacked(matrices, masses, downs, ups))

    def correct(self, residual: FloatArray, x: FloatArray) -> None:
        """Add to x (N,) the coarse correction for a residual (N,)."""
        levels, coarse = self.levels, len(self.down.start) - 1
        _transfer(*self.down.arrays, residual, levels.rhs, coarse, False)
        levels.correct()
        _transfer(*self.up.arrays, levels.x, x, len(x), True)


def _next_level(rows: Rows, mass: Masses) -> tuple[Transfer, Transfer, Rows, Masses]:
    """Restriction to the next level, interpolation from it, its matrix and its masses."""
    aggregates = aggregate(rows)
    count = aggregates.count
    coarse_mass = np.zeros(count, dtype=np.float32)
    _add_up(aggregates.of_node, mass, coarse_mass)
    up = interpolation(rows, aggregates)
    del aggregates  # the product needs the memory
    down = transposed(up, count)
    return down, up, coarse_rows(rows, up, down), coarse_mass


@njit(cache=True)
def _add_up(of_node: Any, values: Any, sums: Any) -> None:
    for i in range(len(values)):
        sums[of_node[i]] += values[i]


def _stacked(
    matrices: list[Rows], masses: list[Masses], downs: list[Transfer], ups: list[Transfer]
) -> CoarseLevels:
    """Put the levels into one set of arrays; the lists are emptied on the way."""
    sizes = [matrix.size for matrix in matrices]
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    nodes = int(bounds[-1])
    none = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.float32)
    first = Transfer(np.zeros(sizes[0] + 1, dtype=np.int32), *none)
    last = Transfer(np.zeros(sizes[-1] + 1, dtype=np.int32), *none)
    rows = Rows(nodes, *_stack(matrices, bounds[:-1]))
    down = Transfer(*_stack([first, *downs], [0, *bounds[:-2]]))
    downs.clear()
    up = Transfer(*_stack([*ups, last], bounds[1:]))
    ups.clear()
    inverse = _inverse(rows, np.concatenate(masses))
    return CoarseLevels(bounds, rows, inverse, down, up, *(np.zeros(nodes) for _ in range(3)))


def _stack(parts: list[Any], offsets: Any) -> tuple[Any, Any, Any]:
    """Concatenate compressed rows; columns are moved by the offset of their part."""
    starts = [part.arrays[0] for part in parts]
    columns = [part.arrays[1] for part in parts]
    values = [part.arrays[2] for part in parts]
    parts.clear()
    begins = np.cumsum([0, *(len(column) for column in columns[:-1])])
    start = np.zeros(1 + sum(len(start) - 1 for start in starts), dtype=np.int32)
    np.concatenate(
        [part[1:] + begin for part, begin in zip(starts, begins, strict=True)],
        out=start[1:],
        casting="same_kind",
    )
    for part, offset in zip(columns, offsets, strict=True):
        np.add(part, np.uint32(offset), out=part)
    column = np.concatenate(columns)
    columns.clear()
    return start, column, np.concatenate(values)


def _inverse(rows: Rows, mass: Masses) -> FloatArray:
    """DAMPING over the sum of positive conductances; 0 where next to nothing is joined."""
    inverse = np.empty(rows.size)
    _invert_diagonal(*rows.arrays, mass, inverse)
    return inverse


@njit(cache=True)
def _invert_diagonal(start: Any, column: Any, conductance: Any, mass: Any, inverse: Any) -> None:
    for i in range(len(inverse)):
        total = 0.0
        for e in range(start[i], start[i + 1]):
            total += max(conductance[e], 0.0)
        inverse[i] = DAMPING / total if total > NEGLIGIBLE * mass[i] else 0.0


@njit(cache=True, parallel=True, fastmath=FUSED)
def _cycle(
    bounds: Any,
    start: Any,
    column: Any,
    conductance: Any,
    inverse: Any,
    down_start: Any,
    down_column: Any,
    down_weight: Any,
    up_start: Any,
    up_column: Any,
    up_weight: Any,
    rhs: Any,
    guess: Any,
    x: Any,
) -> None:
    last = len(bounds) - 2
    rows = (start, column, conductance)
    for level in range(last):
        lo, hi = bounds[level], bounds[level + 1]
        if hi - lo <= SERIAL:
            _jacobi_from_zero(inverse, rhs, guess, lo, hi)
            _residual(rows, rhs, guess, x, lo, hi)
        else:
            blocks = (hi - lo + BLOCK - 1) // BLOCK
            for k in prange(blocks):
                first = lo + k * BLOCK
                _jacobi_from_zero(inverse, rhs, guess, first, min(first + BLOCK, hi))
            for k in prange(blocks):
                first = lo + k * BLOCK
                _residual(rows, rhs, guess, x, first, min(first + BLOCK, hi))
        lo, hi = hi, bounds[level + 2]
        if hi - lo <= SERIAL:
            _gather((down_start, down_column, down_weight), x, rhs, lo, hi, False)
        else:
            for k in prange((hi - lo + BLOCK - 1) // BLOCK):
                first = lo + k * BLOCK
                last_row = min(first + BLOCK, hi)
                _gather((down_start, down_column, down_weight), x, rhs, first, last_row, False)
    _jacobi_from_zero(inverse, rhs, x, bounds[last], bounds[last + 1])
    for level in range(last - 1, -1, -1):
        lo, hi = bounds[level], bounds[level + 1]
        if hi - lo <= SERIAL:
            _gather((up_start, up_column, up_weight), x, guess, lo, hi, True)
            _jacobi(rows, inverse, rhs, guess, x, lo, hi)
        else:
            blocks = (hi - lo + BLOCK - 1) // BLOCK
            for k in prange(blocks):
                first = lo + k * BLOCK
                _gather(
                    (up_start, up_column, up_weight), x, guess, first, min(first + BLOCK, hi), True
                )
            for k in prange(blocks):
                first = lo + k * BLOCK
                _jacobi(rows, inverse, rhs, guess, x, first, min(first + BLOCK, hi))


@njit(inline="always")
def _jacobi_from_zero(inverse: Any, rhs: Any, guess: Any, lo: int, hi: int) -> None:
    for i in range(lo, hi):
        guess[i] = inverse[i] * rhs[i]


@njit(inline="always")
def _residual(rows: Any, rhs: Any, guess: Any, residual: Any, lo: int, hi: int) -> None:
    start, column, conductance = rows
    # Unsigned loop variables, here and below, spare the checks for negative indices.
    end = np.uint64(start[lo])
    for i in range(np.uint64(lo), np.uint64(hi)):
        first, end = end, np.uint64(start[i + np.uint64(1)])
        flow, here = 0.0, guess[i]
        for e in range(first, end):
            flow += conductance[e] * (here - guess[column[e]])
        residual[i] = rhs[i] - flow


@njit(inline="always")
def _jacobi(rows: Any, inverse: Any, rhs: Any, guess: Any, x: Any, lo: int, hi: int) -> None:
    start, column, conductance = rows
    end = np.uint64(start[lo])
    for i in range(np.uint64(lo), np.uint64(hi)):
        first, end = end, np.uint64(start[i + np.uint64(1)])
        flow, here = 0.0, guess[i]
        for e in range(first, end):
            flow += conductance[e] * (here - guess[column[e]])
        x[i] = here + inverse[i] * (rhs[i] - flow)


@njit(inline="always")
def _gather(transfer: Any, source: Any, target: Any, lo: int, hi: int, add: bool) -> None:
    """target = transfer . source, or added to the target."""
    start, column, weight = transfer
    end = np.uint64(start[lo])
    for i in range(np.uint64(lo), np.uint64(hi)):
        first, end = end, np.uint64(start[i + np.uint64(1)])
        total = target[i] if add else 0.0
        for e in range(first, end):
            total += weight[e] * source[column[e]]
        target[i] = total


@njit(cache=True, parallel=True, fastmath=FUSED)
def _transfer(
    start: Any, column: Any, weight: Any, source: Any, target: Any, size: int, add: bool
) -> None:
    """Restrict to, or add the interpolation to, the first ``size`` values of the target."""
    for k in prange((size + BLOCK - 1) // BLOCK):
        _gather((start, column, weight), source, target, k * BLOCK, min((k + 1) * BLOCK, size), add)
