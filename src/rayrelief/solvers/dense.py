"""Dense: the obvious reference, exact to rounding, for small graphs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.operators import Operator
from rayrelief.solvers.anchoring import balance
from rayrelief.solvers.base import LinearSolution, check_max_nodes
from rayrelief.solvers.sparse import Parts, csr_matrix


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
        return _PreparedDense(Parts.of(operator))

    def memory(self, nodes: int, directions: int) -> int:
        """Bytes at the peak of a solve: the matrix of the largest component, and its factors."""
        return 16 * min(nodes, self.max_nodes) ** 2


@dataclass(frozen=True, eq=False)
class _PreparedDense:
    parts: Parts

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> LinearSolution:
        """Pin the first node of each free part at its start value and solve for the others."""
        operator, order = self.parts.operator, self.parts.order
        x, b = start[order], rhs[order]
        whole = csr_matrix(operator)
        for anchored, (lo, hi) in zip(
            operator.anchored, pairwise(operator.graph.starts), strict=True
        ):
            first = lo if anchored else lo + 1
            constant = 0.0 if anchored else x[lo]
            matrix = whole[first:hi, first:hi].toarray()
            x[first:hi] = constant + np.linalg.solve(matrix, b[first:hi])
        balance(operator, b, x)  # elimination loses some of what weak anchors say
        return LinearSolution(self.parts.restore(x), steps=1, converged=True)
