"""The loop, written once: reweight, solve, look, stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.errors import Outcome
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.methods.edge_terms import EdgeModel, normal_equations
from rayrelief.methods.motion import Motion
from rayrelief.solvers.base import PreparedSolver, Solver


@dataclass(frozen=True)
class Iteration:
    """One outer iteration, as the callback and the history see it.

    Attributes
    ----------
    number
        1 for the first.
    energy
        Weighted sum of squared residuals at the new iterate.
    change
        Root mean square change of the unknown over its relief (the root mean square deviation
        from the mean), each component's constant removed: free of scale, shift and unit.
    inner_iterations
        Steps of the linear solver.
    seconds
        Time of this iteration.
    """

    number: int
    energy: float
    change: float
    inner_iterations: int
    seconds: float


TIGHTENINGS = 2  # each makes the inner solve a hundred times tighter

Callback = Callable[[Iteration], bool | None]


@dataclass(frozen=True, eq=False)
class LoopResult:
    """The surface, how it came about, and how the loop ended.

    The surface is the last iterate, or the one before it where the last was an excursion, or had
    the higher energy of two between which the surface alternates.
    ``unfinished`` inner solves reached their limit of steps; only the last one decides the outcome.
    """

    x: FloatArray
    history: tuple[Iteration, ...]
    outcome: Outcome
    unfinished: int = 0


def iterate(
    equations: EdgeEquations,
    model: EdgeModel,
    solver: Solver,
    *,
    start: FloatArray | None,
    max_iterations: int,
    tolerance: float | None,
    callback: Callback | None = None,
) -> LoopResult:
    """Alternate between weights and unknowns.

    Parameters
    ----------
    start
        (N,) first iterate; None starts flat and takes every edge for continuous once, as the
        paper does.
    tolerance
        Stops when the change falls below it; None runs all iterations.

    With a tolerance, the first solve is a tight one, and a surface that has come to rest under a
    loose inner solve is solved again, more tightly each time, before it counts as converged. A
    surface that returns to where it was two iterations ago alternates for ever: of its two states
    the one of lower energy is taken. The bilateral weights of most real maps never quite come to
    rest: a surface that only wanders to and fro is done as well. Ending at the limit is a failure
    only where the surface is still under way. No run ends on an excursion.
    """
    graph = equations.graph
    if graph.component_count == graph.size:
        return LoopResult(np.zeros(graph.size), (), Outcome.NO_EQUATIONS)
    x = np.zeros(graph.size) if start is None else start
    # alpha = 0 in the first iteration
    normal = normal_equations(equations, EdgeModel(model.k) if start is None else model, x)
    history: list[Iteration] = []
    prepared: PreparedSolver | None = None
    # What the first solve gets wrong the second may take for jumps, and keep.
    tightened = 0 if tolerance is None else TIGHTENINGS
    outcome, unfinished = Outcome.COMPLETED, 0
    motion = Motion(graph, x, tolerance)
    for number in range(1, max_iterations + 1):
        began = time.perf_counter()
        prepared = solver.prepare(normal.system, prepared)
        solution = prepared.solve(normal.rhs, x, 0.01**tightened)
        normal = normal_equations(equations, model, solution.x, normal)
        motion.add(x, solution.x)
        change = motion.changes[-1]
        if not (np.isfinite(change) and np.isfinite(normal.energy)):
            outcome = Outcome.NOT_FINITE
            break
        history.append(
            Iteration(number, normal.energy, change, solution.steps, time.perf_counter() - began)
        )
        stopped = callback is not None and callback(history[-1])
        worse = motion.strays or (motion.alternates and not _falls(history))
        if not (worse and (stopped or number == max_iterations)):
            x = solution.x
        if stopped:
            outcome = Outcome.STOPPED
            break
        if not solution.converged:
            outcome, tightened = Outcome.SOLVER_LIMIT, 0
            unfinished += 1
        elif motion.rests and tightened == TIGHTENINGS:
            outcome = Outcome.CONVERGED
            break
        elif motion.alternates and tightened == TIGHTENINGS and _falls(history):
            outcome = Outcome.ALTERNATES
            break
        elif motion.wanders:
            outcome = Outcome.WANDERS
            break
        else:
            outcome = Outcome.COMPLETED
            settles = motion.rests or motion.alternates
            tightened = min(tightened + 1, TIGHTENINGS) if settles else 0
    if outcome is Outcome.COMPLETED and motion.under_way(x):
        outcome = Outcome.ITERATION_LIMIT
    return LoopResult(x, tuple(history), outcome, unfinished)


def _falls(history: list[Iteration]) -> bool:
    """Whether the last iterate has the lower energy of the last two."""
    return history[-1].energy <= history[-2].energy
