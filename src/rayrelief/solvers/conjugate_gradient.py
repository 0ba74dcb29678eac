"""ConjugateGradient: the published inner solver, matrix-free on the pixel graph.

Components of one segment are solved side by side, larger ones segment by segment. Sums over
segments are added in order, so any number of threads gives identical bits.
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
from rayrelief.solvers.kernels import dot, flow, residual_limits, residual_square
from rayrelief.solvers.segments import ends, segments_of
from rayrelief.solvers.stretches import matrix_of, stretches_of

PORTION = 40_000_000  # nodes times steps of one call


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
        return _PreparedConjugateGradient(self, operator)

    def memory(self, nodes: int, directions: int) -> int:
        """Bytes at the peak of a solve, measured."""
        return 2 * directions * nodes


class _PreparedConjugateGradient:
    """A preconditioner and its matrix, on a graph whose stretches serve all matrices."""

    def __init__(self, recipe: ConjugateGradient, operator: Operator) -> None:
        self.recipe = recipe
        self.segments = segments_of(operator.graph.starts)
        self.stretches = stretches_of(operator.graph, self.segments)
        self.update(operator)

    def update(self, operator: Operator) -> None:
        """Turn to another matrix on the same graph."""
        self.operator = operator
        self.inverse = 1.0 / np.maximum(operator.row_sums(), self.recipe.diagonal_floor)

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> LinearSolution:
        """Solve for one right-hand side (N,), beginning at start (N,)."""
        operator, graph, segments = self.operator, self.operator.graph, self.segments
        x = start.copy()
        settle(operator, rhs, x)
        r, p, q = np.empty_like(x), np.empty_like(x), np.empty_like(x)
        steps = np.zeros(graph.component_count, dtype=np.int64)
        converged = np.zeros(graph.component_count, dtype=np.bool_)
        anchors, inverse = operator.anchors, self.inverse
        system = *matrix_of(operator, self.stretches), inverse, rhs
        rtol, max_steps = self.recipe.rtol * tighten, self.recipe.max_steps
        limits = residual_limits(segments, anchors, rhs, x, inverse, 1.0, rtol)
        # Components are sorted by size: the last ones are a segment each.
        first = np.searchsorted(segments[1], np.arange(graph.component_count + 1))
        large = int(np.count_nonzero(np.diff(first) > 1))
        for c in range(large):
            # In portions of a fraction of a second, between which Python can be interrupted.
            portion = max(1, PORTION // int(graph.starts[c + 1] - graph.starts[c]))
            rr = rz = -1.0  # not begun
            while rr < 0 or (rr > limits[c] and steps[c] < max_steps):
                until = limits[c], min(portion, max_steps - steps[c])
                some = first[c], first[c + 1]
                done, rr, rz = _solve_by_segments(system, segments, x, r, p, q, some, until, rr, rz)
                steps[c] += done
            converged[c] = rr <= limits[c]
        until = limits[large:], max_steps
        _solve_small(
            system, segments, x, r, p, q, first[large], until, steps[large:], converged[large:]
        )
        balance(operator, rhs, x)
        return LinearSolution(x, int(steps.max(initial=0)), bool(converged.all()))


@njit(cache=True, parallel=True, error_model="numpy")
def _solve_by_segments(
    system: Any,
    segments: Any,
    x: Any,
    r: Any,
    p: Any,
    q: Any,
    some: Any,
    until: Any,
    rr: float,
    rz: float,
) -> Any:
    """Begin (rr < 0) or go on; returns the steps done, r.r and r.z."""
    first, end = some
    limit, max_steps = until
    partial = np.empty((end - first, 2))
    if rr < 0:
        for k in prange(end - first):
            partial[k] = _begin(system, segments, x, r, p, first + k)
        rr, rz = _ordered_sum(partial)
    steps = 0
    while rr > limit and steps < max_steps:
        for k in prange(end - first):
            partial[k, 0] = _multiply(system, segments, p, q, first + k)
        step = rz / _ordered_sum(partial)[0]
        for k in prange(end - first):
            partial[k] = _advance(step, system, segments, x, r, p, q, first + k)
        rr, new_rz = _ordered_sum(partial)
        for k in prange(end - first):
            _turn(new_rz / rz, segments, p, q, first + k)
        rz = new_rz
        steps += 1
    return steps, rr, rz


@njit(cache=True, parallel=True, error_model="numpy")
def _solve_small(
    system: Any,
    segments: Any,
    x: Any,
    r: Any,
    p: Any,
    q: Any,
    first: int,
    until: Any,
    steps: Any,
    converged: Any,
) -> None:
    """Components of one segment each, from a first segment on."""
    limits, max_steps = until
    for c in prange(len(steps)):
        k = first + c
        rr, rz = _begin(system, segments, x, r, p, k)
        done = 0
        while rr > limits[c] and done < max_steps:
            step = rz / _multiply(system, segments, p, q, k)
            rr, new_rz = _advance(step, system, segments, x, r, p, q, k)
            _turn(new_rz / rz, segments, p, q, k)
            rz = new_rz
            done += 1
        steps[c], converged[c] = done, rr <= limits[c]


@njit(inline="always", error_model="numpy")
def _begin(system: Any, segments: Any, x: Any, r: Any, p: Any, k: int) -> Any:
    """Residual and first direction; returns r.r and r.z."""
    anchors, inverse, rhs = system[-3:]
    lo, hi = ends(segments, k)
    flow(system[:-2], x, r, segments, k)
    for a in range(lo, hi):
        r[a] = rhs[a] - r[a]
        p[a] = r[a] * inverse[a]
    return residual_square(anchors, inverse, 1.0, r[lo:hi], lo), dot(r[lo:hi], p[lo:hi])


@njit(inline="always", error_model="numpy")
def _multiply(system: Any, segments: Any, p: Any, q: Any, k: int) -> Any:
    """q = A p on segment k; returns p.q."""
    lo, hi = ends(segments, k)
    flow(system[:-2], p, q, segments, k)
    return dot(p[lo:hi], q[lo:hi])


@njit(inline="always", error_model="numpy")
def _advance(
    step: float, system: Any, segments: Any, x: Any, r: Any, p: Any, q: Any, k: int
) -> Any:
    """One step along p; leaves the preconditioned residual z in q; returns r.r and r.z."""
    anchors, inverse, _ = system[-3:]
    lo, hi = ends(segments, k)
    x_block, r_block, p_block, q_block = x[lo:hi], r[lo:hi], p[lo:hi], q[lo:hi]
    inverse_block = inverse[lo:hi]
    for i in range(hi - lo):
        x_block[i] += step * p_block[i]
        residual = r_block[i] - step * q_block[i]
        r_block[i] = residual
        q_block[i] = residual * inverse_block[i]
    return residual_square(anchors, inverse, 1.0, r_block, lo), dot(r_block, q_block)


@njit(inline="always", error_model="numpy")
def _turn(factor: float, segments: Any, p: Any, q: Any, k: int) -> None:
    """Next direction: p = z + factor p, with z in q."""
    lo, hi = ends(segments, k)
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
