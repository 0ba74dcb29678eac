"""Dense: the obvious reference, exact to rounding, for small graphs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.solvers.base import Laplacian, Solution

# Conductances below this fraction of the largest vanish in the rounding errors of the matrix.
NEGLIGIBLE = 1e-14


@dataclass(frozen=True)
class Dense:
    """Solve each component with dense elimination; cubic in its pixels.

    Parts of a component that only negligible conductances join keep the constants they start with.

    Attributes
    ----------
    max_nodes
        Components beyond this size are refused instead of filling the memory.
    """

    max_nodes: int = 5000

    def prepare(self, system: Laplacian) -> _PreparedDense:
        """Refuse what is too large, and split what is joined by next to nothing."""
        graph, conductance = system.graph, system.conductance
        largest = int(np.diff(graph.starts).max(initial=0))
        if largest > self.max_nodes:
            raise InputError(
                f"the dense solver got a component of {largest} pixels",
                expected=f"at most {self.max_nodes} (its max_nodes)",
                remedy="Use ConjugateGradient",
            )
        strongest = np.maximum.reduceat(conductance.max(axis=0), graph.starts[:-1])
        negligible = conductance <= NEGLIGIBLE * strongest[graph.component_of_node]
        split, order = graph.without(negligible & graph.exists)
        kept = np.where(split.exists, conductance[:, order], 0.0)
        return _PreparedDense(Laplacian(split, kept), order)


@dataclass(frozen=True, eq=False)
class _PreparedDense:
    system: Laplacian
    order: npt.NDArray[np.int64]

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> Solution:
        """Pin the first node of each component at its start value and solve for the others."""
        x, b = start[self.order], rhs[self.order]
        starts = self.system.graph.starts
        for lo, hi in pairwise(starts):
            matrix = self._matrix(int(lo), int(hi))
            x[lo + 1 : hi] = x[lo] + np.linalg.solve(matrix[1:, 1:], b[lo + 1 : hi])
        solution = np.empty_like(x)
        solution[self.order] = x
        return Solution(solution, steps=1, converged=True)

    def _matrix(self, lo: int, hi: int) -> FloatArray:
        """Laplacian of the nodes lo..hi as a dense array."""
        matrix = np.zeros((hi - lo, hi - lo))
        rows = np.arange(hi - lo)
        for d, conductance in enumerate(self.system.conductance[:, lo:hi]):
            columns = self.system.graph.neighbours[d, lo:hi].astype(np.int64) - lo
            np.add.at(matrix, (rows, rows), conductance)
            np.add.at(matrix, (rows, columns), -conductance)
        return matrix
