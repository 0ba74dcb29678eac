"""Dense: the obvious reference, exact to rounding, for small graphs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.solvers.base import Laplacian, PreparedSolver, Solution, check_max_nodes
from rayrelief.solvers.sparse import Parts, csr_matrix


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

    def __post_init__(self) -> None:
        check_max_nodes("Dense", self.max_nodes)

    def prepare(self, system: Laplacian, previous: PreparedSolver | None = None) -> _PreparedDense:
        """Refuse what is too large, and split what is joined by next to nothing."""
        largest = int(np.diff(system.graph.starts).max(initial=0))
        if largest > self.max_nodes:
            raise InputError(
                f"the dense solver got a component of {largest} pixels",
                expected=f"at most {self.max_nodes} (its max_nodes)",
                remedy="Use Multigrid",
            )
        return _PreparedDense(Parts.of(system))


@dataclass(frozen=True, eq=False)
class _PreparedDense:
    parts: Parts

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> Solution:
        """Pin the first node of each part at its start value and solve for the others."""
        x, b = start[self.parts.order], rhs[self.parts.order]
        whole = csr_matrix(self.parts.system)
        for lo, hi in pairwise(self.parts.system.graph.starts):
            matrix = whole[lo + 1 : hi, lo + 1 : hi].toarray()
            x[lo + 1 : hi] = x[lo] + np.linalg.solve(matrix, b[lo + 1 : hi])
        return Solution(self.parts.restore(x), steps=1, converged=True)
