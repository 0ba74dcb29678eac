"""AuxiliaryEdges: small planes with few jumps between them, in the spirit of Kim et al."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rayrelief.backends.base import Backend
from rayrelief.cameras.view import View
from rayrelief.checks import Rule, check_settings, is_count, is_positive
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import Outcome
from rayrelief.formulation.auxiliary_edges import auxiliary_edge_equations
from rayrelief.formulation.edge_equations import EdgeEquations, both_ways
from rayrelief.graph import STEPS, Connectivity, PixelGraph
from rayrelief.laws.sparse_jumps import SparseJumps
from rayrelief.methods.base import Callback, Solution, numbered_through
from rayrelief.methods.reweighted import Reweighted, iterate
from rayrelief.problem import Problem

_DEFAULT = "Leave it out for the method's default"
_COUNT = Rule(is_count, "an integer >= 1", _DEFAULT)
_JUMP = Rule(is_positive, "a finite number above 0, in pixels", _DEFAULT)


@dataclass(frozen=True, kw_only=True)
class AuxiliaryEdges(Reweighted):
    """Every pixel a small plane of its own, and few jumps where planes meet, for comparison.

    In the spirit of Kim et al., "Discontinuity-preserving Normal Integration with Auxiliary Edges",
    CVPR 2024: of this method only the outline was known, so it is no reproduction. Reweighted least
    squares alternates with a filter that keeps few, large jumps: a round keeps those above its
    threshold, and closes the others.

    Attributes
    ----------
    smallest_jump
        Size of the smallest jump that the last round keeps, in pixels on the surface.
    filters
        How often jumps are filtered; each round halves the threshold of the one before, and takes
        an equal share of the iterations.
    """

    connectivity: Connectivity = 8
    max_iterations: int = 80
    smallest_jump: float = 0.125
    filters: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, max_iterations=_COUNT, smallest_jump=_JUMP, filters=_COUNT)

    @property
    def law(self) -> SparseJumps:
        """The filter of the last round."""
        return SparseJumps(self.smallest_jump)

    def equations(self, graph: PixelGraph, normals: FloatArray, view: View) -> EdgeEquations:
        """Equations of auxiliary edges, for central and for orthographic cameras."""
        return auxiliary_edge_equations(graph, normals, view)

    def solve(
        self, problem: Problem, backend: Backend, callback: Callback | None = None
    ) -> Solution:
        """Run all rounds, each from the surface of the one before."""
        counted, history = numbered_through(callback)
        notes: list[str] = []
        for law, iterations in self._schedule():
            solution = iterate(
                problem,
                law,
                self.solver,
                backend,
                max_iterations=iterations,
                tolerance=self.tolerance,
                callback=counted,
            )
            notes += solution.notes
            if solution.outcome in (Outcome.STOPPED, Outcome.NOT_FINITE):
                break
            problem = replace(problem, start=solution.x)
        cuts = None if solution.cuts is None else _from_either_side(problem.graph, solution.cuts)
        return replace(solution, history=tuple(history), notes=tuple(notes), cuts=cuts)

    def memory(self, nodes: int, backend: Backend) -> int:
        """Bytes that a run needs at its peak, measured: also for the weights of all edges."""
        return super().memory(nodes, backend) + (96 + 8 * len(STEPS[self.connectivity])) * nodes

    def _schedule(self) -> Iterator[tuple[SparseJumps, int]]:
        """Filter and number of iterations of each round; with few iterations the last ones."""
        rounds = min(self.filters, self.max_iterations)
        shares = np.diff(np.arange(rounds + 1) * self.max_iterations // rounds)
        for later, iterations in zip(reversed(range(rounds)), shares.tolist(), strict=True):
            yield SparseJumps(self.smallest_jump * 2.0**later), iterations


def _from_either_side(graph: PixelGraph, cuts: BoolArray) -> BoolArray:
    """Cuts (D, N) in both directions of every edge that has one: its jump is one."""
    both = [np.logical_or(*both_ways(graph, cuts, d)) for d in range(len(cuts))]
    return np.stack(both) & graph.exists
