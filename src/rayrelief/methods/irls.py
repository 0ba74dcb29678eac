"""The loop, written once: reweight, solve, look, stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.errors import Outcome
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.methods.change import relative_change, remembered
from rayrelief.methods.edge_terms import EdgeModel, normal_equations
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
SETTLED = 0.2  # of the relief, over the last quarter of the iterations

Callback = Callable[[Iteration], bool | None]


@dataclass(frozen=True, eq=False)
class LoopResult:
    """The last iterate, how it came about, and how the loop ended.

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
    rest, so that ending at the limit is normal; it is a failure only where the last quarter of the
    iterations still moved the surface by more than ``SETTLED``.
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
    before = last_quarter = remembered(graph, x)
    for number in range(1, max_iterations + 1):
        began = time.perf_counter()
        if number == max_iterations - max_iterations // 4:
            last_quarter = remembered(graph, x)
        prepared = solver.prepare(normal.system, prepared)
        solution = prepared.solve(normal.rhs, x, 0.01**tightened)
        normal = normal_equations(equations, model, solution.x, normal)
        change = relative_change(graph, solution.x, x)
        if not (np.isfinite(change) and np.isfinite(normal.energy)):
            outcome = Outcome.NOT_FINITE
            break
        still = tolerance is not None and change < tolerance
        alternates = (
            tolerance is not None
            and not still
            and number > 2
            and relative_change(graph, solution.x, before) < tolerance
        )
        before, x = remembered(graph, x), solution.x
        history.append(
            Iteration(number, normal.energy, change, solution.steps, time.perf_counter() - began)
        )
        if callback is not None and callback(history[-1]):
            outcome = Outcome.STOPPED
            break
        if not solution.converged:
            outcome, tightened = Outcome.SOLVER_LIMIT, 0
            unfinished += 1
        elif still and tightened == TIGHTENINGS:
            outcome = Outcome.CONVERGED
            break
        elif alternates and tightened == TIGHTENINGS and _falls(history):
            outcome = Outcome.ALTERNATES
            break
        else:
            outcome = Outcome.COMPLETED
            tightened = min(tightened + 1, TIGHTENINGS) if still or alternates else 0
    # To and fro is how weights end on most maps; a surface under way goes on in one direction.
    under_way = tolerance is not None and relative_change(graph, x, last_quarter) > SETTLED
    if outcome is Outcome.COMPLETED and under_way:
        outcome = Outcome.ITERATION_LIMIT
    return LoopResult(x, tuple(history), outcome, unfinished)


def _falls(history: list[Iteration]) -> bool:
    """Whether the last iterate has the lower energy of the last two."""
    return history[-1].energy <= history[-2].energy
