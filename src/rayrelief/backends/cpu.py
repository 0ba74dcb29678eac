"""CPU: compiled kernels on the cores of this machine; identical bits for any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from rayrelief.backends.base import Final
from rayrelief.backends.change import relative_change, remembered
from rayrelief.backends.threads import kernel_threads
from rayrelief.checks import Rule, check_settings, is_count
from rayrelief.compiled import njit, prange
from rayrelief.conventions import FloatArray, SingleArray
from rayrelief.laws.base import FusedLaw, Law, StoredTerms
from rayrelief.operators import Operator
from rayrelief.problem import Problem
from rayrelief.solvers.base import LinearSolution, PreparedSolver, Solver, UpdatableSolver
from rayrelief.solvers.kernels import FUSED

NODES_PER_BLOCK = 512


@dataclass(frozen=True)
class CPU:
    """Compute on the cores of this machine.

    Attributes
    ----------
    threads
        Number of threads, all cores by default; the result does not depend on it.
    """

    threads: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None:
            threads = Rule(is_count, "an integer >= 1", "Leave it out for all cores")
            check_settings(self, threads=threads)

    @contextmanager
    def compute(self, problem: Problem, solver: Solver) -> Iterator[CPUComputation]:
        """Begin to compute."""
        with kernel_threads(self.threads, problem.graph.size):
            yield CPUComputation(problem, solver)

    def memory(self, nodes: int, directions: int) -> int:
        """Bytes that equations, operator and iterates take at the peak, measured."""
        return (78 + 18 * directions) * nodes


class CPUComputation:
    """One problem under way.

    The operator is a view of arrays that each ``linearise`` writes anew: it is valid until the
    next one, and nobody but the solver sees it.
    """

    def __init__(self, problem: Problem, solver: Solver) -> None:
        self._problem, self._solver = problem, solver
        graph = problem.graph
        conductance = np.empty(graph.neighbours.shape, dtype=np.float32)
        anchors = problem.anchors
        held = () if anchors is None else (anchors.weights, anchors.values)
        self.operator = Operator(graph, conductance, *held)
        self.rhs = np.empty(graph.size)
        self._prepared: PreparedSolver | None = None
        self._is_new = True  # what the solver has not seen yet
        self.anchored = self.operator.anchored

    def start(self) -> FloatArray:
        """First iterate: that of the problem, or a flat one."""
        start = self._problem.start
        return np.zeros(self._problem.graph.size) if start is None else start

    def linearise(self, law: Law, x: FloatArray, *, last: bool = False) -> float:
        """Set up the operator and the right-hand side of the law at x (N,); returns the energy."""
        equations, conductance, rhs = self._problem.equations, self.operator.conductance, self.rhs
        fused: FusedLaw | StoredTerms
        fused = law if isinstance(law, FusedLaw) else StoredTerms(law.terms(equations, x))
        self._is_new = True
        flux = np.empty((2, x.size))
        energies: FloatArray = np.zeros(1)
        for d in range(0, len(conductance), 2):
            pair = slice(d, d + 2)  # opposite directions: what one weight depends on
            energies = energies + fused.weigh(equations, pair, x, (conductance[pair], flux))
            _join_opposite(equations.graph.neighbours[pair], conductance[pair], flux, rhs, d > 0)
        energy = float(np.cumsum(energies)[-1]) if x.size else 0.0  # in order: cumsum has no choice
        if self._problem.anchors is None:
            return energy
        values, weights = self._problem.anchors.values, self._problem.anchors.weights
        rhs += weights * values
        return energy + float(np.sum(weights * (x - values) ** 2))

    def solve(self, x: FloatArray, tighten: float) -> LinearSolution:
        """Solve what was set up last, beginning at x (N,)."""
        return self._ready().solve(self.rhs, x, tighten)

    def _ready(self) -> PreparedSolver:
        """Return the solver, ready for the operator as it is now."""
        if self._is_new and isinstance(self._prepared, UpdatableSolver):
            self._prepared.update(self.operator)
        elif self._is_new or self._prepared is None:
            self._prepared = self._solver.prepare(self.operator)
        self._is_new = False
        return self._prepared

    def change(self, new: FloatArray, old: Any) -> float:
        """Root mean square of new - old over that of new, free constants apart."""
        return relative_change(self._problem.graph, self.anchored, new, old)

    def remember(self, x: FloatArray) -> SingleArray:
        """Keep x in single precision."""
        return remembered(self._problem.graph, self.anchored, x)

    def finish(self, law: Law, x: FloatArray) -> Final:
        """Release operator and solver, and evaluate the law at x (N,)."""
        del self.operator, self.rhs, self._prepared
        return Final.of(law, self._problem.equations, x)


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def _join_opposite(neighbours: Any, conductance: Any, flux: Any, rhs: Any, add: bool) -> None:
    """Add up the two directions of every edge in place; nodes get their flux, or it is added.

    The flux follows the rounded conductance: rounding changes the weight of an equation, and not
    what it says.
    """
    nodes = len(rhs)
    blocks = (nodes + NODES_PER_BLOCK - 1) // NODES_PER_BLOCK
    towards, c_there, c_back = neighbours[0], conductance[0], conductance[1]
    f_there, f_back = flux[0], flux[1]
    for block in prange(blocks):
        lo, hi = (
            np.uint64(block * NODES_PER_BLOCK),
            np.uint64(min((block + 1) * NODES_PER_BLOCK, nodes)),
        )
        for a in range(lo, hi):
            b = towards[a]
            if b != a:  # else a missing edge: its opposite slot may be a real one
                exact = np.float64(c_there[a]) + np.float64(c_back[b])
                both = np.float32(exact)
                net = (f_there[a] - f_back[b]) * (both / exact) if exact > 0.0 else 0.0
                c_there[a], c_back[b] = both, both
                f_there[a], f_back[b] = net, -net
    for block in prange(blocks):
        first, end = block * NODES_PER_BLOCK, min((block + 1) * NODES_PER_BLOCK, nodes)
        total, there, back = rhs[first:end], f_there[first:end], f_back[first:end]
        for i in range(end - first):
            total[i] = (total[i] if add else 0.0) + (there[i] + back[i])
