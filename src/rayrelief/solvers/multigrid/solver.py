"""Multigrid: conjugate gradients preconditioned by one V-cycle, matrix-free on the pixel graph.

All components are solved side by side, each with its own steps. Sums are formed over fixed segments
of nodes and added in order, so that any number of threads gives the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.graph import PixelGraph
from rayrelief.solvers.base import Laplacian, PreparedSolver, Solution, check_limits
from rayrelief.solvers.kernels import FUSED, dot, flow, residual_limits
from rayrelief.solvers.multigrid.cycle import DAMPING, Hierarchy

SEGMENT = 2048  # nodes: the working set of a segment stays in the first-level cache
# What a set-up costs in cycles, and by how much a cycle of a fresh one reduces the residual: an old
# hierarchy is kept until the cycles that it has lost against a fresh one add up to a set-up. If
# that happens in the first solve after its own, the next REST solves do not try, and the next time
# twice as many.
SETUP_CYCLES = 12
FRESH_REDUCTION = 0.4
REST = 4
SMALLEST = 1e-300
EXCUSED = 1e-8
TRUSTED = 1e-7  # relative residuals above this are carried along without harm

Segments = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


@dataclass(frozen=True)
class Multigrid:
    """Conjugate gradients with a V-cycle as preconditioner; time and memory linear in the pixels.

    Attributes
    ----------
    rtol
        Stops when |residual| <= rtol |rhs|, or at the rounding errors of the residual, for each
        component on its own.
    max_steps
        Limit of the cycles of one solve.
    """

    rtol: float = 3e-3
    max_steps: int = 200

    def __post_init__(self) -> None:
        check_limits("Multigrid", self.rtol, self.max_steps)

    def prepare(
        self, system: Laplacian, previous: PreparedSolver | None = None
    ) -> _PreparedMultigrid:
        """Build the hierarchy, or keep the previous one while it serves."""
        inverse = np.empty(system.graph.size)
        _invert_diagonal(system.conductance, inverse)
        if (
            not isinstance(previous, _PreparedMultigrid)
            or previous.system.graph is not system.graph
        ):
            return _PreparedMultigrid(self, system, inverse, _segments(system.graph))
        prepared = _PreparedMultigrid(self, system, inverse, previous.segments)
        prepared.rest, prepared.next_rest = max(0, previous.rest - 1), previous.next_rest
        if previous.rest == 0 and previous.lost <= SETUP_CYCLES:
            prepared.hierarchy, prepared.lost = previous.hierarchy, previous.lost
            prepared.age = previous.age + 1
        else:
            previous.hierarchy = None  # its memory goes into the next one
        return prepared


@dataclass(eq=False)
class _PreparedMultigrid:
    recipe: Multigrid
    system: Laplacian
    inverse: FloatArray  # DAMPING over the diagonal
    segments: Segments
    hierarchy: Hierarchy | None = None
    age: int = 0  # systems that the hierarchy has served before
    lost: float = 0.0  # cycles, against a fresh hierarchy
    rest: int = 0  # coming systems that begin with a fresh one
    next_rest: int = REST

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> Solution:
        """Solve for one right-hand side (N,), beginning at start (N,)."""
        limits = _Limits(self, rhs, start, self.recipe.rtol * tighten)
        x = start.copy()
        steps = 0
        # Conjugate gradients only carry the residual along: where it is to be small they begin
        # again from the true one until that is, as they do when the hierarchy is replaced.
        while True:
            if self.hierarchy is None or (self.age > 0 and self.lost > SETUP_CYCLES):
                if self.age == 1:
                    self.rest, self.next_rest = self.next_rest, 2 * self.next_rest
                self.hierarchy = None
                self.hierarchy, self.age, self.lost = Hierarchy.of(self.system), 0, 0.0
            cycles, solved = self._run(
                self.hierarchy, rhs, x, limits, self.recipe.max_steps - steps
            )
            steps += cycles
            if solved or cycles == 0 or not np.isfinite(x).all():
                return Solution(x, steps, solved)

    def _run(
        self,
        hierarchy: Hierarchy,
        rhs: FloatArray,
        x: FloatArray,
        limits: _Limits,
        budget: int,
    ) -> tuple[int, bool]:
        """Conjugate gradients on x in place; cycles done, and whether x is known to be solved."""
        matrix = (self.system.graph.neighbours, self.system.conductance)
        segments, sizes = self.segments, np.diff(self.system.graph.starts)
        r, p, q, z = (np.empty_like(x) for _ in range(4))
        rr = _begin(*matrix, self.inverse, rhs, x, r, z, *segments)
        limit = limits.at(x)
        active = _unsolved(rr, limit)
        if not active.any():
            return 0, True
        first, lost, cycles = rr.sum(), self.lost, 0
        rz = np.zeros_like(rr)  # no direction to turn from
        while active.any() and cycles < budget and np.isfinite(rr).all():
            _residual(*matrix, r, z, q, *segments)
            hierarchy.correct(q, z)
            rq, sum_r, sum_q = _smooth(*matrix, self.inverse, r, z, q, *segments)
            # Rounding errors leave a little of the free constant, which must not be followed.
            mean = sum_q / sizes
            before, rz = rz, rq - sum_r * mean
            _turn(_ratio(rz, before, active), mean, p, q, *segments)
            step = _ratio(rz, _multiply(*matrix, p, z, *segments), active)
            rr = _advance(step, self.inverse, x, r, p, z, *segments)
            active = _unsolved(rr, limit)
            cycles += 1
            self.lost = lost + max(0.0, cycles - _fresh_cycles(rr.sum() / first))
            if self.lost > SETUP_CYCLES and self.age > 0:
                break
        return cycles, limits.rtol > TRUSTED and not active.any()


class _Limits:
    """Squared residuals at which the components of one right-hand side count as solved.

    The rounding errors of x excuse a residual, but no more than ``EXCUSED`` of the right-hand side
    beyond those of the start: an x that went astray must not excuse itself.
    """

    def __init__(
        self, prepared: _PreparedMultigrid, rhs: FloatArray, start: FloatArray, rtol: float
    ) -> None:
        self.rtol = rtol
        self._arguments = (prepared.system.graph.starts, rhs)
        self._inverse = prepared.inverse
        self._most = self._limits(start, max(rtol, EXCUSED))

    def at(self, x: FloatArray) -> FloatArray:
        """(C,), with the rounding errors of x (N,)."""
        return np.minimum(self._limits(x, self.rtol), self._most)

    def _limits(self, x: FloatArray, rtol: float) -> FloatArray:
        limits: FloatArray = residual_limits(*self._arguments, x, self._inverse, DAMPING, rtol)
        return limits


def _segments(graph: PixelGraph) -> Segments:
    """Cut components into segments: (S + 1,) their bounds and (S,) the component of each."""
    counts = (np.diff(graph.starts) + SEGMENT - 1) // SEGMENT
    owner = np.repeat(np.arange(graph.component_count), counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.append(graph.starts[owner] + within * SEGMENT, graph.size), owner


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


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def _invert_diagonal(conductance: Any, inverse: Any) -> None:
    """DAMPING over the diagonal, 0 where nothing is joined, or by less than floats can invert."""
    nodes = len(inverse)
    for k in prange((nodes + SEGMENT - 1) // SEGMENT):
        lo, hi = k * SEGMENT, min((k + 1) * SEGMENT, nodes)
        total = inverse[lo:hi]
        total[:] = conductance[0, lo:hi]
        for d in range(1, len(conductance)):
            part = conductance[d, lo:hi]
            for i in range(hi - lo):
                total[i] += part[i]
        for i in range(hi - lo):
            total[i] = DAMPING / total[i] if total[i] > SMALLEST else 0.0


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def _begin(
    neighbours: Any,
    conductance: Any,
    inverse: Any,
    rhs: Any,
    x: Any,
    r: Any,
    z: Any,
    bounds: Any,
    owner: Any,
) -> Any:
    """Residual r and the first Jacobi step z; returns r.r of each component."""
    partial = np.empty(len(owner))
    for k in prange(len(owner)):
        lo, hi = bounds[k], bounds[k + 1]
        flow(neighbours, conductance, x, r, lo, hi)
        r_block, z_block, inverse_block, rhs_block = r[lo:hi], z[lo:hi], inverse[lo:hi], rhs[lo:hi]
        for i in range(hi - lo):
            residual = rhs_block[i] - r_block[i]
            r_block[i] = residual
            z_block[i] = inverse_block[i] * residual
        partial[k] = dot(r_block, r_block)
    return _sums(partial, owner)


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def _residual(
    neighbours: Any, conductance: Any, r: Any, z: Any, q: Any, bounds: Any, owner: Any
) -> None:
    """q = r - L z."""
    for k in prange(len(owner)):
        lo, hi = bounds[k], bounds[k + 1]
        flow(neighbours, conductance, z, q, lo, hi)
        r_block, q_block = r[lo:hi], q[lo:hi]
        for i in range(hi - lo):
            q_block[i] = r_block[i] - q_block[i]


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def _smooth(
    neighbours: Any,
    conductance: Any,
    inverse: Any,
    r: Any,
    z: Any,
    q: Any,
    bounds: Any,
    owner: Any,
) -> Any:
    """q = z after one more Jacobi step, the preconditioned residual; returns r.q, sum r, sum q."""
    rq, sum_r, sum_q = np.empty(len(owner)), np.empty(len(owner)), np.empty(len(owner))
    for k in prange(len(owner)):
        lo, hi = bounds[k], bounds[k + 1]
        flow(neighbours, conductance, z, q, lo, hi)
        r_block, q_block, z_block, inverse_block = r[lo:hi], q[lo:hi], z[lo:hi], inverse[lo:hi]
        for i in range(hi - lo):
            q_block[i] = z_block[i] + inverse_block[i] * (r_block[i] - q_block[i])
        rq[k] = dot(r_block, q_block)
        sum_r[k], sum_q[k] = _sum(r_block), _sum(q_block)
    return _sums(rq, owner), _sums(sum_r, owner), _sums(sum_q, owner)


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def _turn(factor: Any, mean: Any, p: Any, q: Any, bounds: Any, owner: Any) -> None:
    """Next direction: p = q - mean + factor p; p is not read where the factor is zero."""
    for k in prange(len(owner)):
        lo, hi = bounds[k], bounds[k + 1]
        p_block, q_block, turn, shift = p[lo:hi], q[lo:hi], factor[owner[k]], mean[owner[k]]
        if turn == 0.0:
            for i in range(hi - lo):
                p_block[i] = q_block[i] - shift
        else:
            for i in range(hi - lo):
                p_block[i] = (q_block[i] - shift) + turn * p_block[i]


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def _multiply(neighbours: Any, conductance: Any, p: Any, z: Any, bounds: Any, owner: Any) -> Any:
    """z = L p; returns p.z of each component."""
    partial = np.empty(len(owner))
    for k in prange(len(owner)):
        lo, hi = bounds[k], bounds[k + 1]
        flow(neighbours, conductance, p, z, lo, hi)
        partial[k] = dot(p[lo:hi], z[lo:hi])
    return _sums(partial, owner)


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def _advance(
    step: Any, inverse: Any, x: Any, r: Any, p: Any, z: Any, bounds: Any, owner: Any
) -> Any:
    """Step along p, with L p in z; leaves the next Jacobi step in z; returns r.r."""
    partial = np.empty(len(owner))
    for k in prange(len(owner)):
        lo, hi = bounds[k], bounds[k + 1]
        x_block, r_block, p_block, z_block = x[lo:hi], r[lo:hi], p[lo:hi], z[lo:hi]
        inverse_block, length = inverse[lo:hi], step[owner[k]]
        for i in range(hi - lo):
            x_block[i] += length * p_block[i]
            residual = r_block[i] - length * z_block[i]
            r_block[i] = residual
            z_block[i] = inverse_block[i] * residual
        partial[k] = dot(r_block, r_block)
    return _sums(partial, owner)


@njit(inline="always", error_model="numpy")
def _sum(values: Any) -> float:
    """Sum in four interleaved sums."""
    whole = len(values) // 4 * 4
    s0 = s1 = s2 = s3 = 0.0
    for i in range(0, whole, 4):
        s0 += values[i]
        s1 += values[i + 1]
        s2 += values[i + 2]
        s3 += values[i + 3]
    for i in range(whole, len(values)):
        s0 += values[i]
    return (s0 + s1) + (s2 + s3)


@njit(inline="always", error_model="numpy")
def _sums(partial: Any, owner: Any) -> Any:
    """Sum of the segments of each component, in order."""
    sums = np.zeros(owner[-1] + 1)
    for k in range(len(partial)):
        sums[owner[k]] += partial[k]
    return sums
