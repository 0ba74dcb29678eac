"""The loop, written once: reweight, solve, look, stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.errors import Outcome
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.graph import PixelGraph
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
    """The last iterate, how it came about, and how the loop ended."""

    x: FloatArray
    history: tuple[Iteration, ...]
    outcome: Outcome


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
    if not graph.exists.any():
        return LoopResult(np.zeros(graph.size), (), Outcome.NO_EQUATIONS)
    x = np.zeros(graph.size) if start is None else start
    # alpha = 0 in the first iteration
    normal = normal_equations(equations, EdgeModel(model.k) if start is None else model, x)
    history: list[Iteration] = []
    prepared: PreparedSolver | None = None
    # What the first solve gets wrong the second may take for jumps, and keep.
    tightened = 0 if tolerance is None else TIGHTENINGS
    outcome = Outcome.COMPLETED
    before = last_quarter = x
    for number in range(1, max_iterations + 1):
        began = time.perf_counter()
        if number == max_iterations - max_iterations // 4:
            last_quarter = x
        prepared = solver.prepare(normal.system, prepared)
        solution = prepared.solve(normal.rhs, x, 0.01**tightened)
        normal = normal_equations(equations, model, solution.x, normal)
        change = _change(graph, solution.x, x)
        if not (np.isfinite(change) and np.isfinite(normal.energy)):
            outcome = Outcome.NOT_FINITE
            break
        still = tolerance is not None and change < tolerance
        alternates = (
            tolerance is not None
            and not still
            and number > 2
            and _change(graph, solution.x, before) < tolerance
        )
        before, x = x, solution.x
        history.append(
            Iteration(number, normal.energy, change, solution.steps, time.perf_counter() - began)
        )
        if callback is not None and callback(history[-1]):
            outcome = Outcome.STOPPED
            break
        if not solution.converged:
            outcome, tightened = Outcome.SOLVER_LIMIT, 0
        elif (still or alternates) and tightened == TIGHTENINGS:
            outcome = Outcome.ALTERNATES if alternates else Outcome.CONVERGED
            break
        else:
            outcome = Outcome.COMPLETED
            tightened = tightened + 1 if still or alternates else 0
    if outcome is Outcome.ALTERNATES and history[-2].energy < history[-1].energy:
        x = before
    # To and fro is how weights end on most maps; a surface under way goes on in one direction.
    under_way = tolerance is not None and _change(graph, x, last_quarter) > SETTLED
    if outcome is Outcome.COMPLETED and under_way:
        outcome = Outcome.ITERATION_LIMIT
    return LoopResult(x, tuple(history), outcome)


def _change(graph: PixelGraph, new: FloatArray, old: FloatArray) -> float:
    """Root mean square of new - old over that of new, both without each component's mean."""
    moved = _root_mean_square(graph, new - old)
    relief = max(_root_mean_square(graph, new), 1e-12 * float(np.abs(new).max()))
    return moved / relief if relief > 0 else 0.0


def _root_mean_square(graph: PixelGraph, values: FloatArray) -> float:
    sizes = np.diff(graph.starts)
    means = np.add.reduceat(values, graph.starts[:-1]) / sizes
    return float(np.sqrt(np.mean((values - np.repeat(means, sizes)) ** 2)))
