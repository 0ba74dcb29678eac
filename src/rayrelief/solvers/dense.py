"""Dense: the obvious reference, exact to rounding, for small graphs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.operators import Operator
from rayrelief.solvers.base import LinearSolution, check_max_nodes
from rayrelief.solvers.sparse import Grounded


@dataclass(frozen=True)
class Dense:
    """Solve each component with dense elimination; cubic in its pixels.

    Parts of a component that are connected only by negligible conductances keep their constants.

    Attributes
    ----------
    max_nodes
        Larger components are refused instead of filling the memory.
    """

    max_nodes: int = 5000

    def __post_init__(self) -> None:
        check_max_nodes("Dense", self.max_nodes)

    def prepare(self, operator: Operator) -> _PreparedDense:
        """Refuse what is too large, and split what is joined by next to nothing."""
        largest = int(np.diff(operator.graph.starts).max(initial=0))
        if largest > self.max_nodes:
            raise InputError(
                f"the dense solver got a component of {largest} pixels",
                expected=f"at most {self.max_nodes} (its max_nodes)",
                remedy="Use Multigrid",
            )
        return _PreparedDense(Grounded.of(operator))

    def memory(self, nodes: int, directions: int) -> int:
        """Bytes at the peak of a solve: the matrix of the largest component, and its factors."""
        return 16 * min(nodes, self.max_nodes) ** 2


@dataclass(frozen=True, eq=False)
class _PreparedDense:
    grounded: Grounded

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> LinearSolution:
        """Solve for one right-hand side (N,); of start (N,) only the constants count."""
        return self.grounded.solve(self._inverse, rhs, start)

    def _inverse(self, rhs: FloatArray) -> FloatArray:
        """Eliminate part by part."""
        x, free = np.empty_like(rhs), self.grounded.free
        bounds = np.concatenate(([0], np.cumsum(free)))[self.grounded.parts.operator.graph.starts]
        for lo, hi in pairwise(bounds):
            x[lo:hi] = np.linalg.solve(self.grounded.matrix[lo:hi, lo:hi].toarray(), rhs[lo:hi])
        return x
