"""Multigrid: conjugate gradients preconditioned by one V-cycle, matrix-free on the pixel graph.

All components are solved side by side, each with its own steps. Sums are formed over fixed segments
of nodes and added in order, so any number of threads gives identical bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.operators import Operator
from rayrelief.pieces import copied
from rayrelief.solvers.anchoring import settle
from rayrelief.solvers.base import Iterative, LinearSolution
from rayrelief.solvers.kernels import residual_limits
from rayrelief.solvers.multigrid import passes
from rayrelief.solvers.multigrid.cycle import DAMPING
from rayrelief.solvers.multigrid.hierarchy import Hierarchy
from rayrelief.solvers.segments import segments_of
from rayrelief.solvers.stretches import matrix_of, stretches_of

# What a set-up costs in cycles, and by how much a cycle of a fresh one reduces the residual: an old
# hierarchy is kept until the cycles that it has lost against a fresh one add up to a set-up. If
# that happens in the first solve after its own, the next REST solves do not try, and the next time
# twice as many.
SETUP_CYCLES = 12
FRESH_REDUCTION = 0.4
REST = 4
EXCUSED = 1e-8
TRUSTED = 1e-7  # relative residuals above this are carried along without harm


@dataclass(frozen=True)
class Multigrid(Iterative):
    """Conjugate gradients with a V-cycle as preconditioner; time and memory linear in the pixels.

    A step is a cycle.
    """

    rtol: float = 3e-3

    def prepare(self, operator: Operator) -> PreparedMultigrid:
        """Make room; the hierarchy is built when it is first needed."""
        return PreparedMultigrid(self, operator)

    def memory(self, nodes: int, directions: int) -> int:
        """Bytes at the peak of a solve, measured."""
        return 103 * nodes


class PreparedMultigrid:
    """A hierarchy and the matrix that it serves, which may be a later one than its own."""

    def __init__(self, recipe: Multigrid, operator: Operator) -> None:
        self.recipe = recipe
        self.operator = operator
        self.segments = segments_of(operator.graph.starts)
        self.stretches = stretches_of(operator.graph, self.segments)
        # DAMPING over the diagonal: all that uses it puts up with a rounded one.
        self.inverse = np.empty(operator.graph.size, dtype=np.float32)
        self.hierarchy: Hierarchy | None = None
        self.age = 0  # matrices that the hierarchy has served before
        self.lost = 0.0  # cycles, against a fresh hierarchy
        self.rest = 0  # coming matrices that begin with a fresh one
        self.next_rest = REST
        passes.invert_diagonal(operator, self.inverse)

    def update(self, operator: Operator) -> None:
        """Turn to another matrix on the same graph; the hierarchy is kept while it serves."""
        self.operator = operator
        passes.invert_diagonal(operator, self.inverse)
        if self.rest == 0 and self.lost <= SETUP_CYCLES:
            self.age += 1
        else:
            self.hierarchy, self.age, self.lost = None, 0, 0.0
        self.rest = max(0, self.rest - 1)

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> LinearSolution:
        """Solve for one right-hand side (N,), beginning at start (N,)."""
        x = copied(start)
        settle(self.operator, rhs, x)
        limits = _Limits(self, rhs, x, self.recipe.rtol * tighten)
        steps = 0
        # Conjugate gradients only carry the residual along: where it is to be small they begin
        # again from the true one until that is, as they do when the hierarchy is replaced.
        while True:
            if self.hierarchy is None or (self.age > 0 and self.lost > SETUP_CYCLES):
                if self.age == 1:
                    self.rest, self.next_rest = self.next_rest, 2 * self.next_rest
                self.hierarchy = None
                self.hierarchy, self.age, self.lost = Hierarchy.of(self.operator), 0, 0.0
            cycles, solved = self._run(
                self.hierarchy, rhs, x, limits, self.recipe.max_steps - steps
            )
            steps += cycles
            if solved or cycles == 0 or not np.isfinite(x).all():
                return LinearSolution(x, steps, solved)

    def _run(
        self,
        hierarchy: Hierarchy,
        rhs: FloatArray,
        x: FloatArray,
        limits: _Limits,
        budget: int,
    ) -> tuple[int, bool]:
        """Conjugate gradients on x in place; cycles done, and whether x is known to be solved."""
        operator, segments = self.operator, self.segments
        matrix = matrix_of(operator, self.stretches)
        r, p, q, z = (np.empty_like(x) for _ in range(4))
        rr = passes.begin(matrix, self.inverse, rhs, x, r, z, segments)
        limit = limits.at(x)
        active = _unsolved(rr, limit)
        if not active.any():
            return 0, True
        first, lost, cycles = rr.sum(), self.lost, 0
        rz = np.zeros_like(rr)  # no direction to turn from
        while active.any() and cycles < budget and np.isfinite(rr).all():
            passes.residual(matrix, r, z, q, segments)
            hierarchy.correct(q, z)
            rq, sum_r, sum_q = passes.smooth(matrix, self.inverse, r, z, q, segments)
            # The constants are right already: rounding errors must not move what is free, nor the
            # cycle what weak anchors hold.
            constant = self._constants(q, sum_q)
            before, rz = rz, rq - sum_r * constant
            passes.turn(_ratio(rz, before, active), constant, p, q, segments)
            step = _ratio(rz, passes.multiply(matrix, p, z, segments), active)
            rr = passes.advance(step, operator.anchors, self.inverse, x, r, p, z, segments)
            active = _unsolved(rr, limit)
            cycles += 1
            self.lost = lost + max(0.0, cycles - _fresh_cycles(rr.sum() / first))
            if self.lost > SETUP_CYCLES and self.age > 0:
                break
        return cycles, limits.rtol > TRUSTED and not active.any()

    def _constants(self, q: FloatArray, sums: FloatArray) -> FloatArray:
        """What to take off each component of q (N,) so that it does not move the constant (C,).

        That is the mean, or where a component is anchored the mean weighted by its anchors.
        """
        graph, anchors = self.operator.graph, self.operator.diagonal
        constants: FloatArray = sums / np.diff(graph.starts)
        if anchors is not None:
            held = np.add.reduceat(anchors, graph.starts[:-1], dtype=np.float64)
            pull = passes.anchored_sums(anchors, q, self.segments)
            np.divide(pull, held, out=constants, where=self.operator.anchored)
        return constants


class _Limits:
    """Squared residuals at which the components of one right-hand side count as solved.

    The rounding errors of x excuse a residual, but no more than ``EXCUSED`` of the right-hand side
    beyond those of the start: an x that went astray must not excuse itself.
    """

    def __init__(
        self, prepared: PreparedMultigrid, rhs: FloatArray, start: FloatArray, rtol: float
    ) -> None:
        self.rtol = rtol
        self._arguments = (prepared.segments, prepared.operator.anchors, rhs)
        self._inverse = prepared.inverse
        self._most = self._limits(start, max(rtol, EXCUSED))

    def at(self, x: FloatArray) -> FloatArray:
        """(C,), with the rounding errors of x (N,)."""
        return np.minimum(self._limits(x, self.rtol), self._most)

    def _limits(self, x: FloatArray, rtol: float) -> FloatArray:
        limits: FloatArray = residual_limits(*self._arguments, x, self._inverse, DAMPING, rtol)
        return limits


def _unsolved(rr: FloatArray, limit: FloatArray) -> BoolArray:
    """Which components are not solved; what is not finite never is."""
    unsolved: BoolArray = ~((rr <= limit) & np.isfinite(rr))
    return unsolved


def _ratio(above: FloatArray, below: FloatArray, active: BoolArray) -> FloatArray:
    """above / below of the components that are not solved yet, 0 for the others."""
    ratio: FloatArray = np.divide(
        above, below, out=np.zeros_like(above), where=active & (below > 0)
    )
    return ratio


def _fresh_cycles(reduction: float) -> float:
    """Cycles in which a fresh hierarchy would reduce the squared residual by so much."""
    return math.log(min(max(reduction, 1e-300), 1e300)) / (2 * math.log(FRESH_REDUCTION))
