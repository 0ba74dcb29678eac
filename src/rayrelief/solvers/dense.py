"""Dense: the obvious reference, exact to rounding, for small graphs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.operators import Operator
from rayrelief.solvers.sparse import Elimination, Grounded, PreparedElimination


@dataclass(frozen=True)
class Dense(Elimination):
    """Solve each component with dense elimination; cubic in its pixels, which are limited."""

    max_nodes: int = 5000

    def prepare(self, operator: Operator) -> PreparedElimination:
        """Refuse what is too large, and split what is joined by next to nothing."""
        largest = int(np.diff(operator.graph.starts).max(initial=0))
        found = f"the dense solver got a component of {largest} pixels"
        self.refuse_beyond(largest, found, "Use rayrelief.solvers.Multigrid()")
        grounded = Grounded.of(operator)
        return PreparedElimination(grounded, partial(_eliminate, grounded))

    def memory(self, nodes: int, directions: int) -> int:
        """Bytes at the peak of a solve: the matrix of the largest component, and its factors."""
        return 16 * min(nodes, self.max_nodes) ** 2


def _eliminate(grounded: Grounded, rhs: FloatArray) -> FloatArray:
    """Solve for the free nodes, part by part."""
    x = np.empty_like(rhs)
    free = np.concatenate(([0], np.cumsum(grounded.free)))
    for lo, hi in pairwise(free[grounded.parts.operator.graph.starts]):
        x[lo:hi] = np.linalg.solve(grounded.matrix[lo:hi, lo:hi].toarray(), rhs[lo:hi])
    return x
