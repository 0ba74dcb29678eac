"""Dense: the obvious reference, exact to rounding, for small graphs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.solvers.base import Laplacian, Solution


@dataclass(frozen=True)
class Dense:
    """Solve each component with a dense Cholesky factor; cubic in its pixels.

    Attributes
    ----------
    max_nodes
        Components beyond this size are refused instead of filling the memory.
    """

    max_nodes: int = 5000

    def prepare(self, system: Laplacian) -> _PreparedDense:
        """Refuse what is too large."""
        largest = int(np.diff(system.graph.starts).max(initial=0))
        if largest > self.max_nodes:
            raise InputError(
                f"the dense solver got a component of {largest} pixels",
                expected=f"at most {self.max_nodes} (its max_nodes)",
                remedy="Use ConjugateGradient",
            )
        return _PreparedDense(system)


@dataclass(frozen=True, eq=False)
class _PreparedDense:
    system: Laplacian

    def solve(self, rhs: FloatArray, start: FloatArray) -> Solution:
        """Pin the first node of each component at its start value and solve for the others."""
        x = start.copy()
        starts = self.system.graph.starts
        for lo, hi in pairwise(starts):
            matrix = self._matrix(int(lo), int(hi))
            x[lo + 1 : hi] = x[lo] + np.linalg.solve(matrix[1:, 1:], rhs[lo + 1 : hi])
        return Solution(x, steps=1, converged=True)

    def _matrix(self, lo: int, hi: int) -> FloatArray:
        """Laplacian of the nodes lo..hi as a dense array."""
        matrix = np.zeros((hi - lo, hi - lo))
        rows = np.arange(hi - lo)
        for d, conductance in enumerate(self.system.conductance[:, lo:hi]):
            columns = self.system.graph.neighbours[d, lo:hi].astype(np.int64) - lo
            np.add.at(matrix, (rows, rows), conductance)
            np.add.at(matrix, (rows, columns), -conductance)
        return matrix
