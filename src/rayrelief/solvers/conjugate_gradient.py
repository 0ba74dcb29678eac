"""ConjugateGradient: the published inner solver, matrix-free on the pixel graph.

Components of one block are solved side by side, larger ones block by block. The blocks are fixed
and their partial sums are added in order, so any number of threads gives identical bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rayrelief.checks import Rule, check_settings, is_positive
from rayrelief.compiled import njit, prange
from rayrelief.conventions import FloatArray
from rayrelief.operators import Operator
from rayrelief.solvers.anchoring import balance, settle
from rayrelief.solvers.base import Iterative, LinearSolution
from rayrelief.solvers.kernels import block_range, dot, flow, residual_limits, residual_square
from rayrelief.solvers.segments import segments_of

PORTION = 40_000_000  # nodes times steps of one call
NODES_PER_BLOCK = 2048  # nodes: the working set of a block stays in the first-level cache


@dataclass(frozen=True)
class ConjugateGradient(Iterative):
    """Jacobi-preconditioned conjugate gradients, started from the previous iterate.

    Attributes
    ----------
    rtol, max_steps
        When a solve ends (``Iterative``).
    diagonal_floor
        The preconditioner is 1 / max(diagonal, diagonal_floor).
    """

    max_steps: int = 5000
    diagonal_floor: float = 1e-5

    def __post_init__(self) -> None:
        super().__post_init__()
        floor = Rule(is_positive, "a finite number above 0", "Leave it out for the published value")
        check_settings(self, diagonal_floor=floor)

    def prepare(self, operator: Operator) -> _PreparedConjugateGradient:
        """Build the preconditioner."""
        inverse = 1.0 / np.maximum(operator.row_sums(), self.diagonal_floor)
        return _PreparedConjugateGradient(self, operator, inverse)

    def memory(self, nodes: int, directions: int) -> int:
        """Bytes at the peak of a solve, measured."""
        return 2 * directions * nodes


@dataclass(frozen=True, eq=False)
class _PreparedConjugateGradient:
    recipe: ConjugateGradient
    operator: Operator
    inverse_diagonal: FloatArray

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> LinearSolution:
        """Solve for one right-hand side (N,), beginning at start (N,)."""
        graph = self.operator.graph
        x = start.copy()
        settle(self.operator, rhs, x)
        r, p, q = np.empty_like(x), np.empty_like(x), np.empty_like(x)
        steps = np.zeros(graph.component_count, dtype=np.int64)
        converged = np.zeros(graph.component_count, dtype=np.bool_)
        sizes = np.diff(graph.starts)  # components are sorted by size
        first_small = int(np.searchsorted(-sizes, -NODES_PER_BLOCK))
        anchors, inverse = self.operator.anchors, self.inverse_diagonal
        system = graph.neighbours, self.operator.conductance, anchors, inverse, rhs
        rtol, max_steps = self.recipe.rtol * tighten, self.recipe.max_steps
        limits = residual_limits(segments_of(graph.starts), anchors, rhs, x, inverse, 1.0, rtol)
        for c in range(first_small):
            lo, hi = graph.starts[c], graph.starts[c + 1]
            # In portions of a fraction of a second, between which Python can be interrupted.
            portion = max(1, PORTION // int(hi - lo))
            rr = rz = -1.0  # not begun
            while rr < 0 or (rr > limits[c] and steps[c] < max_steps):
                until = limits[c], min(portion, max_steps - steps[c])
                done, rr, rz = _solve_by_blocks(system, x, r, p, q, (lo, hi), until, rr, rz)
                steps[c] += done
            converged[c] = rr <= limits[c]
        small, until = slice(first_small, None), (limits[first_small:], max_steps)
        starts = graph.starts[small]
        _solve_small(system, x, r, p, q, starts, until, steps[small], converged[small])
        balance(self.operator, rhs, x)
        return LinearSolution(x, int(steps.max(initial=0)), bool(converged.all()))


@njit(cache=True, parallel=True, error_model="numpy")
def _solve_by_blocks(
    system: Any, x: Any, r: Any, p: Any, q: Any, nodes: Any, until: Any, rr: float, rz: float
) -> Any:
    """Begin (rr < 0) or go on; returns the steps done, r.r and r.z."""
    start, stop = nodes
    limit, max_steps = until
    blocks = (stop - start + NODES_PER_BLOCK - 1) // NODES_PER_BLOCK
    partial = np.empty((blocks, 2))
    if rr < 0:
        for k in prange(blocks):
            lo, hi = block_range(k, NODES_PER_BLOCK, start, stop)
            partial[k] = _begin(system, x, r, p, lo, hi)
        rr, rz = _ordered_sum(partial)
    steps = 0
    while rr > limit and steps < max_steps:
        for k in prange(blocks):
            lo, hi = block_range(k, NODES_PER_BLOCK, start, stop)
            partial[k, 0] = _multiply(system, p, q, lo, hi)
        step = rz / _ordered_sum(partial)[0]
        for k in prange(blocks):
            lo, hi = block_range(k, NODES_PER_BLOCK, start, stop)
            partial[k] = _advance(step, system, x, r, p, q, lo, hi)
        rr, new_rz = _ordered_sum(partial)
        for k in prange(blocks):
            lo, hi = block_range(k, NODES_PER_BLOCK, start, stop)
            _turn(new_rz / rz, p, q, lo, hi)
        rz = new_rz
        steps += 1
    return steps, rr, rz


@njit(cache=True, parallel=True, error_model="numpy")
def _solve_small(
    system: Any, x: Any, r: Any, p: Any, q: Any, starts: Any, until: Any, steps: Any, converged: Any
) -> None:
    limits, max_steps = until
    for c in prange(len(steps)):
        lo, hi = starts[c], starts[c + 1]
        rr, rz = _begin(system, x, r, p, lo, hi)
        done = 0
        while rr > limits[c] and done < max_steps:
            step = rz / _multiply(system, p, q, lo, hi)
            rr, new_rz = _advance(step, system, x, r, p, q, lo, hi)
            _turn(new_rz / rz, p, q, lo, hi)
            rz = new_rz
            done += 1
        steps[c], converged[c] = done, rr <= limits[c]


@njit(inline="always", error_model="numpy")
def _begin(system: Any, x: Any, r: Any, p: Any, lo: int, hi: int) -> Any:
    """Residual and first direction; returns r.r and r.z."""
    neighbours, conductance, anchors, inverse, rhs = system
    flow((neighbours, conductance, anchors), x, r, lo, hi)
    for a in range(lo, hi):
        r[a] = rhs[a] - r[a]
        p[a] = r[a] * inverse[a]
    return residual_square(anchors, inverse, 1.0, r[lo:hi], lo), dot(r[lo:hi], p[lo:hi])


@njit(inline="always", error_model="numpy")
def _multiply(system: Any, p: Any, q: Any, lo: int, hi: int) -> Any:
    """q = A p on nodes lo..hi; returns p.q."""
    neighbours, conductance, anchors, _, _ = system
    flow((neighbours, conductance, anchors), p, q, lo, hi)
    return dot(p[lo:hi], q[lo:hi])


@njit(inline="always", error_model="numpy")
def _advance(step: float, system: Any, x: Any, r: Any, p: Any, q: Any, lo: int, hi: int) -> Any:
    """One step along p; leaves the preconditioned residual z in q; returns r.r and r.z."""
    _, _, anchors, inverse, _ = system
    x_block, r_block, p_block, q_block = x[lo:hi], r[lo:hi], p[lo:hi], q[lo:hi]
    inverse_block = inverse[lo:hi]
    for i in range(hi - lo):
        x_block[i] += step * p_block[i]
        residual = r_block[i] - step * q_block[i]
        r_block[i] = residual
        q_block[i] = residual * inverse_block[i]
    return residual_square(anchors, inverse, 1.0, r_block, lo), dot(r_block, q_block)


@njit(inline="always", error_model="numpy")
def _turn(factor: float, p: Any, q: Any, lo: int, hi: int) -> None:
    """Next direction: p = z + factor p, with z in q."""
    p_block, q_block = p[lo:hi], q[lo:hi]
    for i in range(hi - lo):
        p_block[i] = q_block[i] + factor * p_block[i]


@njit(inline="always", error_model="numpy")
def _ordered_sum(partial: Any) -> Any:
    first = second = 0.0
    for k in range(len(partial)):
        first += partial[k, 0]
        second += partial[k, 1]
    return first, second
