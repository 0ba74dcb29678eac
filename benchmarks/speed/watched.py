"""Linear solves, watched and timed: a solver that keeps time, counts and systems of another one."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

import numpy as np

import rayrelief
from rayrelief.conventions import FloatArray
from rayrelief.methods import Reweighted
from rayrelief.operators import Operator
from rayrelief.solvers import LinearSolution, PreparedSolver, Solver, UpdatableSolver

REPEATS = 5
BUDGET = 5.0  # seconds after which an action is not repeated any more


def integrated(scene: rayrelief.Scene, method: Reweighted) -> rayrelief.Integration:
    """Surface of a scene, however the run ended."""
    return rayrelief.integrate(
        scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
    )


@dataclass(frozen=True, eq=False)
class Problem:
    """A linear system as an integration met it: matrix and right-hand side (N,)."""

    operator: Operator
    rhs: FloatArray

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return self.operator.graph.size

    def solve(self, solver: Solver) -> LinearSolution:
        """Prepare afresh and solve from zero."""
        return solver.prepare(self.operator).solve(self.rhs, np.zeros(self.size))

    def residual(self, x: FloatArray) -> float:
        """Norm of the residual over that of the right-hand side."""
        return float(np.linalg.norm(self.rhs - self.operator @ x) / np.linalg.norm(self.rhs))


@dataclass(eq=False)
class Watched:
    """Passes everything on to a solver, and keeps the systems of solves with some numbers, from 1.

    The time is that of solving, without preparing; work is steps times unknowns.
    """

    solver: Solver
    keep: Collection[int] = ()
    problems: dict[int, Problem] = field(default_factory=dict)
    solves: int = 0
    seconds: float = 0.0
    work: int = 0

    def prepare(self, operator: Operator) -> PreparedSolver:
        """Prepare, and watch what becomes of it."""
        return _PreparedWatched(self, operator, self.solver.prepare(operator))


@dataclass(eq=False)
class _PreparedWatched:
    watch: Watched
    operator: Operator
    inner: PreparedSolver

    def update(self, operator: Operator) -> None:
        self.operator = operator
        if isinstance(self.inner, UpdatableSolver):
            self.inner.update(operator)
        else:
            self.inner = self.watch.solver.prepare(operator)

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> LinearSolution:
        watch = self.watch
        began = time.perf_counter()
        solution = self.inner.solve(rhs, start, tighten)
        watch.seconds += time.perf_counter() - began
        watch.solves += 1
        watch.work += solution.steps * rhs.size
        if watch.solves in watch.keep:  # copies: the loop uses the arrays again
            operator = replace(self.operator, conductance=self.operator.conductance.copy())
            watch.problems[watch.solves] = Problem(operator, rhs.copy())
        return solution


def problems_of(scene: rayrelief.Scene, iterations: Collection[int]) -> dict[int, Problem]:
    """Systems that RayPlane meets in these outer iterations, even if it would stop before."""
    watch = Watched(rayrelief.RayPlane().solver, iterations)
    integrated(
        scene, rayrelief.RayPlane(solver=watch, max_iterations=max(iterations), tolerance=None)
    )
    return watch.problems


def best_seconds(action: Callable[[], object]) -> float:
    """Least time of a few repetitions: the others were disturbed."""
    best, total, repeats = float("inf"), 0.0, 0
    while repeats < REPEATS and total < BUDGET:
        began = time.perf_counter()
        action()
        seconds = time.perf_counter() - began
        best, total, repeats = min(best, seconds), total + seconds, repeats + 1
    return best
