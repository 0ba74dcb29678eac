"""Reweighted least squares: the loop, written once, and the base of the recipes that use it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rayrelief.backends.base import Backend
from rayrelief.cameras.view import View
from rayrelief.checks import Rule, check_settings, instance_of, is_count, is_positive_or_none
from rayrelief.conventions import FloatArray
from rayrelief.errors import Outcome
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.formulation.ray_plane import two_plane_equations
from rayrelief.graph import CONNECTIVITIES, STEPS, Connectivity, PixelGraph
from rayrelief.laws.base import Law
from rayrelief.methods.base import Callback, Iteration, Solution
from rayrelief.methods.stopping import StoppingRule, Watch
from rayrelief.preprocess import Preprocessing
from rayrelief.problem import Problem
from rayrelief.solvers.base import Solver
from rayrelief.solvers.multigrid import Multigrid


@dataclass(frozen=True, kw_only=True)
class Reweighted:
    """Base of all recipes of reweighted least squares: equations, a law of weights, a schedule.

    Attributes
    ----------
    connectivity
        Neighbours of a pixel: the 4 straight ones, the 4 diagonal ones, or all 8.
    max_iterations
        Largest number of outer iterations. Unless given 40, and up to 120 while the surface still
        moves far.
    tolerance
        Stop when an iteration moves the surface by less than this fraction of its relief, or when
        the surface only oscillates; None (0 on the command line) runs all iterations.
    solver
        Inner linear solver.
    preprocessing
        How to treat normals that face away or are outliers.
    """

    connectivity: Connectivity = 4
    max_iterations: int | None = None
    tolerance: float | None = 1e-4
    solver: Solver = field(default_factory=Multigrid)
    preprocessing: Preprocessing = field(default_factory=Preprocessing)

    def __post_init__(self) -> None:
        default = "Leave it out for the method's default"
        solver = "a solver such as rayrelief.solvers.Multigrid(), not its class"
        example = "Use rayrelief.Preprocessing(facing_away='average'), for example"
        tolerance = "a positive number, or None for all iterations"
        never = "Use None (0 on the command line) to run without an early stop"
        check_settings(
            self,
            max_iterations=Rule(_is_count_or_none, "an integer >= 1", default),
            connectivity=CONNECTIVITIES,
            solver=instance_of(Solver, solver, default, called="the solver"),
            preprocessing=instance_of(Preprocessing, "a Preprocessing object", example),
            tolerance=Rule(is_positive_or_none, tolerance, never),
        )

    @property
    def usual_iterations(self) -> int:
        """Number of outer iterations that few runs exceed."""
        return StoppingRule().enough if self.max_iterations is None else self.max_iterations

    @property
    def law(self) -> Law:
        """How edges are weighted, given the surface so far."""
        raise NotImplementedError

    def equations(self, graph: PixelGraph, normals: FloatArray, view: View) -> EdgeEquations:
        """Equations of all edges, for normals (H, W, 3) seen through a view: the paper's."""
        return two_plane_equations(graph, normals, view)

    def solve(
        self, problem: Problem, backend: Backend, callback: Callback | None = None
    ) -> Solution:
        """Alternate between weights and surface until the stopping rule ends the run."""
        return iterate(
            problem,
            self.law,
            self.solver,
            backend,
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
            callback=callback,
        )

    def memory(self, nodes: int, backend: Backend) -> int:
        """Bytes that a run needs at its peak, beyond the problem's images."""
        directions = len(STEPS[self.connectivity])
        parts = (part for part in (backend, self.solver) if hasattr(part, "memory"))
        return sum(part.memory(nodes, directions) for part in parts)


def iterate(
    problem: Problem,
    law: Law,
    solver: Solver,
    backend: Backend,
    *,
    max_iterations: int | None,
    tolerance: float | None = None,
    rule: StoppingRule | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Alternate between the weights of a law and the surface that solves the weighted equations.

    A problem without a start begins flat, with the law of a flat start. The surface is the last
    iterate, or the one before it if the stopping rule (docs/stopping.md) prefers that. With a
    ``tolerance`` of None all iterations are run. With ``max_iterations`` of None a run that had
    enough of them goes on only while its surface moves.
    """
    history: list[Iteration] = []
    unfinished = 0  # inner solves that reached their limit; only the last decides the outcome
    outcome: Outcome | None = None
    rule = rule or StoppingRule()
    limit = rule.most if max_iterations is None else max_iterations
    if not problem.has_equations:
        outcome, limit = Outcome.NO_EQUATIONS, 0
    with backend.compute(problem, solver) as computation:
        x = computation.start()
        computation.linearise(law if problem.start is not None else law.from_flat(), x)
        watch = Watch(computation, x, tolerance, rule)
        for number in range(1, limit + 1):
            began = time.perf_counter()
            solved = computation.solve(x, watch.tightness)
            energy = computation.linearise(law, solved.x, last=number == limit)
            watch.add(x, solved.x, energy)
            change = watch.changes[-1]
            if not (np.isfinite(change) and np.isfinite(energy)):
                outcome = Outcome.NOT_FINITE
                break
            seconds = time.perf_counter() - began
            history.append(Iteration(number, energy, change, solved.steps, seconds))
            stopped = callback is not None and bool(callback(history[-1]))
            pauses = number == limit or (max_iterations is None and watch.pauses)
            ending = x if watch.is_worse and (stopped or pauses) else solved.x
            unfinished += not solved.converged
            outcome = Outcome.STOPPED if stopped else watch.judge(solved.converged)
            if outcome is None and pauses and (number == limit or not watch.goes_on(ending)):
                outcome = watch.at_the_limit(ending)
            if outcome is not None:
                x = ending
                break
            x = solved.x
        outcome = outcome or watch.at_the_limit(x)
        final, anchored = computation.finish(law, x), computation.anchored
    return Solution(
        final.x,
        outcome,
        tuple(history),
        unfinished_notes(unfinished, len(history)),
        anchored=anchored,
        cuts=final.cuts,
        weights=final.weights,
        activation=final.activation,
    )


def _is_count_or_none(number: Any) -> bool:
    return number is None or is_count(number)


def unfinished_notes(unfinished: int, solves: int) -> tuple[str, ...]:
    """Say how many inner solves did not meet their tolerance, if any."""
    if not unfinished:
        return ()
    return (f"{unfinished} of {solves} inner solves reached the solver's max_steps",)
