"""Ordered: jumps have an order, and parts touch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from rayrelief.backends.base import Backend, Computation
from rayrelief.cameras.view import View
from rayrelief.checks import Rule, check_settings, is_count, is_not_negative
from rayrelief.conventions import FloatArray
from rayrelief.errors import Outcome, in_number
from rayrelief.formulation.intervals import IntervalEquations, interval_equations
from rayrelief.graph import Connectivity, PixelGraph
from rayrelief.laws.base import Law
from rayrelief.laws.ordered import OrderedHuber, Redescending, with_intervals
from rayrelief.methods.base import Callback, Iteration, Solution
from rayrelief.methods.ordered.moving import moved
from rayrelief.methods.ordered.segments import find_jumps, find_segments
from rayrelief.methods.reweighted import Reweighted, unfinished_notes
from rayrelief.problem import Problem
from rayrelief.solvers.base import Solver
from rayrelief.solvers.multigrid import Multigrid

# What joins nodes: residuals up to so many deviations, half-widths up to so many pixels. Parts that
# are moved are small, so that groups can be cut in most places; segments are as large as can be.
PARTS, SEGMENTS = (2.0, 0.1), (3.0, 1.0)
# Widths of the redescending law after the convex stage. After parts were moved, wider ones would
# pull together what is apart.
NARROWING = (3.0, 3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0)
SHARPEST = NARROWING[-1]
USUAL = 60  # iterations that few runs exceed
PLACED = (SHARPEST,) * 3  # after anchors have placed what an earlier run found


@dataclass(frozen=True, kw_only=True)
class Ordered(Reweighted):
    """Ordered integration: a convex start, then a sharp law, then parts moved to where they touch.

    Two normals bound what a continuous surface can do between their pixels, and show which side of
    a jump is in front.

    Attributes
    ----------
    tolerance
        The convex stage ends when an iteration lowers its cost by less than this fraction of it;
        None (0 on the command line): when it falls no further.
    max_iterations
        Largest number of iterations of all stages together.
    rounds
        How often all parts are tried at other places, at most; 0 leaves them.
    noise
        Standard deviation of the normals in degrees about each axis; estimated unless given.
    """

    connectivity: Connectivity = 8
    max_iterations: int = 150
    tolerance: float | None = 1e-4
    solver: Solver = field(default_factory=lambda: Multigrid(rtol=1e-4))
    rounds: int = 4
    noise: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        default = "Leave it out for the method's default"
        check_settings(
            self,
            rounds=Rule(lambda number: is_count(number, 0), "an integer >= 0", default),
            noise=Rule(
                lambda degrees: degrees is None or is_not_negative(degrees),
                "an angle in degrees >= 0, or None",
                "Leave it out to have it estimated",
            ),
        )

    @property
    def usual_iterations(self) -> int:
        """Number of iterations that few runs exceed."""
        return min(self.max_iterations or USUAL, USUAL)

    @property
    def continued(self) -> Ordered:
        """What goes on from a surface joined from blocks: their parts stay where they were put."""
        return replace(self, rounds=0)

    def equations(self, graph: PixelGraph, normals: FloatArray, view: View) -> IntervalEquations:
        """Two-plane equations with the intervals of all edges."""
        noise = None if self.noise is None else float(np.radians(self.noise))
        return interval_equations(graph, normals, view, noise=noise)

    def memory(self, nodes: int, backend: Backend) -> int:
        """Bytes that a run needs at its peak, measured: half of the directions, with intervals."""
        return super().memory(nodes, backend) - 16 * nodes

    def solve(
        self, problem: Problem, backend: Backend, callback: Callback | None = None
    ) -> Solution:
        """Run the three stages, and say where the surface jumps and what its parts rest on."""
        solution = self.surface(problem, backend, callback)
        equations, anchors = with_intervals(problem.equations), problem.anchors
        cuts = find_jumps(equations, solution.x)
        segments, support = find_segments(equations, solution.x, *SEGMENTS)
        notes = (*solution.notes, *_lone_note(equations.lone))
        found = replace(solution, cuts=cuts, segments=segments, support=support, notes=notes)
        return found if anchors is None else found.known_at(np.flatnonzero(anchors.weights > 0))

    def surface(
        self, problem: Problem, backend: Backend, callback: Callback | None = None
    ) -> Solution:
        """Run the three stages: the surface alone, without jumps and segments."""
        with backend.compute(problem, self.solver) as computation:
            run = _Run(self, problem, computation, callback)
            if not problem.has_equations:
                run.outcome = Outcome.NO_EQUATIONS
            elif run.is_placed:
                run.redescend(PLACED)
            else:
                run.convex_stage()
                run.redescend(NARROWING)
            run.move_parts()
            final = computation.finish(Redescending(SHARPEST), run.x)
            outcome, anchored = run.outcome, computation.anchored
        return Solution(
            final.x,
            outcome or Outcome.SETTLED,
            tuple(run.history),
            unfinished_notes(run.unfinished, len(run.history)),
            anchored=anchored,
            weights=final.weights,
        )


class _Run:
    """One run under way: the iterate, its history, and whether it is to end early."""

    def __init__(
        self,
        method: Ordered,
        problem: Problem,
        computation: Computation,
        callback: Callback | None,
    ) -> None:
        self.method, self.equations = method, problem.equations
        self.computation, self.callback = computation, callback
        self.history: list[Iteration] = []
        self.outcome: Outcome | None = None
        self.unfinished = 0  # inner solves that reached their limit
        self.x = computation.start()
        self.is_new = problem.start is None
        # Where anchors have placed a start the convex stage would pull it together again.
        self.is_placed = problem.start is not None and problem.anchors is not None
        self.held = None if problem.anchors is None else problem.anchors.weights > 0

    def convex_stage(self) -> None:
        """Minimise the ordered cost, from least squares unless there is a start."""
        if self.is_new:
            self.iterate(Redescending(np.inf))
        law, before, tolerance = OrderedHuber(), np.inf, self.method.tolerance or 0.0
        while self.outcome is None:
            cost = self.iterate(law)
            if before - cost <= tolerance * cost:
                break
            before = cost

    def redescend(self, widths: tuple[float, ...]) -> None:
        """Let edges that do not fit lose their say."""
        for width in widths:
            if self.outcome is None:
                self.iterate(Redescending(width))

    def move_parts(self) -> None:
        """Move parts and groups of them until none finds a better place."""
        for _ in range(self.method.rounds):
            if self.outcome is not None:
                return
            began = time.perf_counter()
            self.x, moves = moved(self.computation, self.equations, self.x, PARTS, self.held)
            # The time it took is told with the last iteration: it belongs to the run.
            last = self.history[-1]
            seconds = last.seconds + time.perf_counter() - began
            self.history[-1] = replace(last, seconds=seconds)
            if not moves:
                return
            self.redescend((SHARPEST,))

    def iterate(self, law: Law) -> float:
        """Solve the equations as the law weighs them at x; returns the cost of x before."""
        began = time.perf_counter()
        energy = self.computation.linearise(law, self.x)
        solved = self.computation.solve(self.x, 1.0)
        change = self.computation.change(solved.x, self.x)
        if not (np.isfinite(change) and np.isfinite(energy)):
            self.outcome = Outcome.NOT_FINITE
            return energy
        self.x = solved.x
        self.unfinished += not solved.converged
        number, seconds = len(self.history) + 1, time.perf_counter() - began
        self.history.append(Iteration(number, energy, change, solved.steps, seconds))
        if self.callback is not None and self.callback(self.history[-1]):
            self.outcome = Outcome.STOPPED
        elif number == self.method.max_iterations:
            self.outcome = Outcome.ITERATION_LIMIT
        return energy


def _lone_note(lone: int) -> Iterator[str]:
    """How many normals were replaced."""
    if lone:
        wrong = in_number(lone, "wrong normal was", "wrong normals were")
        yield f"{wrong} replaced by the mean of those around"
