"""The coarse levels in one stack of arrays, and one V-cycle over them.

Damped Jacobi before and after each correction: a symmetric preconditioner, with the same bits for
any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.compiled import njit, prange
from rayrelief.conventions import FloatArray, SingleArray
from rayrelief.pieces import shares, side_by_side
from rayrelief.solvers.kernels import FUSED, block_range
from rayrelief.solvers.multigrid.galerkin import Transfer
from rayrelief.solvers.multigrid.rows import Rows

# Eigenvalues of the matrix over the sums of its positive conductances are at most 2: any damping
# below 1 converges.
DAMPING = 0.9
# A coarse node joined by less than this fraction of the diagonals that it stands for keeps its
# constant: its equation is nothing but rounding errors, and following it leads far away.
NEGLIGIBLE = 1e-12
ROWS_PER_BLOCK = 1024
ROWS_AT_A_TIME = 1 << 16  # of kernels that are called for pieces
SERIAL = 16384  # rows; fewer do not pay for waking another thread


@dataclass(frozen=True, eq=False)
class CoarseLevels:
    """All coarse levels, stacked: the nodes of level l are ``bounds[l]`` to ``bounds[l + 1]``.

    Attributes
    ----------
    bounds
        (levels + 1,) first node of each level.
    rows, anchors, inverse
        The matrices, and DAMPING over their diagonals; no anchors where nothing is held.
    down
        Restriction to each node from the level above; no entries on the first level.
    up
        Interpolation to each node from the level below; no entries on the last level.
    rhs, guess, x
        (nodes,) working arrays.
    """

    bounds: npt.NDArray[np.int64]
    rows: Rows
    anchors: SingleArray
    inverse: FloatArray
    down: Transfer
    up: Transfer
    rhs: FloatArray
    guess: FloatArray
    x: FloatArray

    def correct(self) -> None:
        """One V-cycle: from ``rhs`` to ``x`` on the first level."""
        rows = *self.rows.arrays, self.anchors
        transfers = self.down.arrays, self.up.arrays
        _cycle(self.bounds, rows, self.inverse, *transfers, self.rhs, self.guess, self.x)


@dataclass(frozen=True, eq=False)
class Restriction:
    """The transpose of an interpolation, which keeps the weights: five bytes an entry, not eight.

    Attributes
    ----------
    start, column
        First entry of each coarse node (coarse + 1,), and the fine node (entries,) of each.
    place
        (entries,) which entry of its fine node's row each is.
    """

    start: npt.NDArray[np.int32]
    column: npt.NDArray[np.uint32]
    place: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, up: Transfer, down: Transfer) -> Restriction:
        """Of an interpolation to the pixels, whose rows are short, and its transpose."""
        place = np.empty(len(down.column), dtype=np.uint8)
        find = partial(_find_places, down.arrays, up.arrays, place)
        side_by_side(find, shares(len(down.start) - 1, ROWS_AT_A_TIME))
        return cls(down.start, down.column, place)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What kernels take."""
        return self.start, self.column, self.place


def damped_inverse(rows: Rows, anchors: SingleArray, mass: SingleArray) -> FloatArray:
    """DAMPING over the sum of positive conductances and anchors; 0 where next to nothing holds."""
    inverse = np.empty(rows.size)
    invert = partial(_invert_diagonal, rows.arrays, anchors, mass, inverse)
    side_by_side(invert, shares(rows.size, ROWS_AT_A_TIME))
    return inverse


@njit(cache=True, nogil=True)
def _invert_diagonal(rows: Any, anchors: Any, mass: Any, inverse: Any, some: Any) -> None:
    start, _, conductance = rows
    for i in range(some.start, some.stop):
        total = 0.0
        for e in range(start[i], start[i + 1]):
            total += max(conductance[e], 0.0)
        if len(anchors) > 0:
            total += anchors[i]
        inverse[i] = DAMPING / total if total > NEGLIGIBLE * mass[i] else 0.0


@njit(cache=True, parallel=True, fastmath=FUSED)
def _cycle(
    bounds: Any, rows: Any, inverse: Any, down: Any, up: Any, rhs: Any, guess: Any, x: Any
) -> None:
    last = len(bounds) - 2
    for level in range(last):
        lo, hi = bounds[level], bounds[level + 1]
        if hi - lo <= SERIAL:
            _jacobi_from_zero(inverse, rhs, guess, lo, hi)
            _residual(rows, rhs, guess, x, lo, hi)
        else:
            blocks = (hi - lo + ROWS_PER_BLOCK - 1) // ROWS_PER_BLOCK
            for k in prange(blocks):
                first, end = block_range(k, ROWS_PER_BLOCK, lo, hi)
                _jacobi_from_zero(inverse, rhs, guess, first, end)
            for k in prange(blocks):
                first, end = block_range(k, ROWS_PER_BLOCK, lo, hi)
                _residual(rows, rhs, guess, x, first, end)
        lo, hi = hi, bounds[level + 2]
        if hi - lo <= SERIAL:
            _gather(down, x, rhs, lo, hi, False)
        else:
            for k in prange((hi - lo + ROWS_PER_BLOCK - 1) // ROWS_PER_BLOCK):
                first, end = block_range(k, ROWS_PER_BLOCK, lo, hi)
                _gather(down, x, rhs, first, end, False)
    _jacobi_from_zero(inverse, rhs, x, bounds[last], bounds[last + 1])
    for level in range(last - 1, -1, -1):
        lo, hi = bounds[level], bounds[level + 1]
        if hi - lo <= SERIAL:
            _gather(up, x, guess, lo, hi, True)
            _jacobi(rows, inverse, rhs, guess, x, lo, hi)
        else:
            blocks = (hi - lo + ROWS_PER_BLOCK - 1) // ROWS_PER_BLOCK
            for k in prange(blocks):
                first, end = block_range(k, ROWS_PER_BLOCK, lo, hi)
                _gather(up, x, guess, first, end, True)
            for k in prange(blocks):
                first, end = block_range(k, ROWS_PER_BLOCK, lo, hi)
                _jacobi(rows, inverse, rhs, guess, x, first, end)


@njit(inline="always")
def _jacobi_from_zero(inverse: Any, rhs: Any, guess: Any, lo: int, hi: int) -> None:
    for i in range(lo, hi):
        guess[i] = inverse[i] * rhs[i]


@njit(inline="always")
def _residual(rows: Any, rhs: Any, guess: Any, residual: Any, lo: int, hi: int) -> None:
    # Unsigned loop variables, here and below, spare the checks for negative indices.
    end = np.uint64(rows[0][lo])
    for i in range(np.uint64(lo), np.uint64(hi)):
        first, end = end, np.uint64(rows[0][i + np.uint64(1)])
        residual[i] = _left(rows, rhs, guess, i, first, end)


@njit(inline="always")
def _jacobi(rows: Any, inverse: Any, rhs: Any, guess: Any, x: Any, lo: int, hi: int) -> None:
    end = np.uint64(rows[0][lo])
    for i in range(np.uint64(lo), np.uint64(hi)):
        first, end = end, np.uint64(rows[0][i + np.uint64(1)])
        x[i] = guess[i] + inverse[i] * _left(rows, rhs, guess, i, first, end)


@njit(inline="always")
def _left(rows: Any, rhs: Any, guess: Any, i: Any, first: Any, end: Any) -> Any:
    """Residual of row i, whose entries are first..end."""
    _, column, conductance, anchors = rows
    flow, here = 0.0, guess[i]
    for e in range(first, end):
        flow += conductance[e] * (here - guess[column[e]])
    if len(anchors) > 0:
        flow += anchors[i] * here
    return rhs[i] - flow


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


@njit(cache=True, nogil=True)
def _find_places(down: Any, up: Any, place: Any, some: Any) -> None:
    """Where the rows of fine nodes have some of the coarse nodes."""
    start, column, _ = down
    up_start, up_column, _ = up
    for j in range(np.uint64(some.start), np.uint64(some.stop)):
        for e in range(np.uint64(start[j]), np.uint64(start[j + np.uint64(1)])):
            first = at = np.uint64(up_start[column[e]])
            while up_column[at] != j:
                at += np.uint64(1)
            place[e] = at - first


@njit(cache=True, parallel=True, fastmath=FUSED)
def restrict(rows: Any, up: Any, fine: Any, coarse: Any, size: int) -> None:
    """Restrict to the first ``size`` values of the coarse level; ``up`` has the weights."""
    start, column, place = rows
    first, _, weight = up
    for k in prange((size + ROWS_PER_BLOCK - 1) // ROWS_PER_BLOCK):
        lo, hi = block_range(k, ROWS_PER_BLOCK, 0, size)
        for j in range(np.uint64(lo), np.uint64(hi)):
            total = 0.0
            for e in range(np.uint64(start[j]), np.uint64(start[j + np.uint64(1)])):
                i = column[e]
                total += weight[np.uint64(first[i]) + np.uint64(place[e])] * fine[i]
            coarse[j] = total


@njit(cache=True, parallel=True, fastmath=FUSED)
def interpolate(rows: Any, coarse: Any, fine: Any) -> None:
    """Add the interpolation of the coarse level to the fine one."""
    for k in prange((len(fine) + ROWS_PER_BLOCK - 1) // ROWS_PER_BLOCK):
        lo, hi = block_range(k, ROWS_PER_BLOCK, 0, len(fine))
        _gather(rows, coarse, fine, lo, hi, True)
