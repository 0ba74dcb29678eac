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
from rayrelief.methods.assembly import assemble
from rayrelief.methods.edge_terms import EdgeModel, edge_terms
from rayrelief.solvers.base import Solver


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
    loose inner solve is solved again, more tightly each time, before it counts as converged. The
    bilateral weights never quite come to rest on most real maps, so that ending at the limit is
    normal; it is a failure only where the last quarter of the iterations still moved the surface
    by more than ``SETTLED``.
    """
    graph = equations.graph
    if not graph.exists.any():
        return LoopResult(np.zeros(graph.size), (), Outcome.NO_EQUATIONS)
    if start is None:
        x = np.zeros(graph.size)
        terms = edge_terms(equations, EdgeModel(model.k), x)  # alpha = 0 in the first iteration
    else:
        x = start
        terms = edge_terms(equations, model, x)
    history: list[Iteration] = []
    # What the first solve gets wrong the second may take for jumps, and keep.
    tightened = 0 if tolerance is None else TIGHTENINGS
    outcome = Outcome.COMPLETED
    last_quarter = x
    for number in range(1, max_iterations + 1):
        began = time.perf_counter()
        if number == max_iterations - max_iterations // 4:
            last_quarter = x
        system, rhs = assemble(equations, terms)
        solution = solver.prepare(system).solve(rhs, x, 0.01**tightened)
        change = _change(graph, solution.x, x)
        terms = edge_terms(equations, model, solution.x)
        if not (np.isfinite(change) and np.isfinite(terms.energy)):
            outcome = Outcome.NOT_FINITE
            break
        x = solution.x
        history.append(
            Iteration(number, terms.energy, change, solution.steps, time.perf_counter() - began)
        )
        if callback is not None and callback(history[-1]):
            outcome = Outcome.STOPPED
            break
        if not solution.converged:
            outcome, tightened = Outcome.SOLVER_LIMIT, 0
        elif tolerance is not None and change < tolerance and tightened == TIGHTENINGS:
            outcome = Outcome.CONVERGED
            break
        else:
            outcome = Outcome.COMPLETED
            at_rest = tolerance is not None and change < tolerance
            tightened = tightened + 1 if at_rest else 0
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
