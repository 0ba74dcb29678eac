"""Direct: sparse factorisation, exact to rounding, for graphs of up to about a megapixel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.operators import Operator
from rayrelief.solvers.base import LinearSolution, check_max_nodes
from rayrelief.solvers.sparse import Grounded


@dataclass(frozen=True)
class Direct:
    """Factorise the matrix with SuperLU; time and memory grow faster than the pixels.

    Parts of a component that are connected only by negligible conductances keep their constants.

    Attributes
    ----------
    max_nodes
        Larger graphs are refused instead of filling the memory. The factors of 1,000,000 connected
        pixels take about 1.1 GB.
    """

    max_nodes: int = 1_000_000

    def __post_init__(self) -> None:
        check_max_nodes("Direct", self.max_nodes)

    def prepare(self, operator: Operator) -> _PreparedDirect:
        """Refuse what is too large, and factorise."""
        if operator.graph.size > self.max_nodes:
            raise InputError(
                f"the direct solver got {operator.graph.size} pixels",
                expected=f"at most {self.max_nodes} (its max_nodes)",
                remedy="Use Multigrid, or increase max_nodes if there is enough memory",
            )
        grounded = Grounded.of(operator)
        return _PreparedDirect(grounded, _factorise(grounded.matrix))

    def memory(self, nodes: int, directions: int) -> int:
        """Bytes at the peak of a solve, measured up to a megapixel."""
        return (1122 + 282 * directions) * nodes


@dataclass(frozen=True, eq=False)
class _PreparedDirect:
    grounded: Grounded
    factors: Any

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> LinearSolution:
        """Solve for one right-hand side (N,); of start (N,) only the constants count."""
        return self.grounded.solve(self._inverse, rhs, start)

    def _inverse(self, rhs: FloatArray) -> FloatArray:
        x: FloatArray = self.factors.solve(rhs)
        return x


def _factorise(matrix: Any) -> Any:
    """scipy.sparse.linalg.SuperLU of a grounded matrix; None for an empty one."""
    from scipy.sparse.linalg import splu

    if matrix.shape[0] == 0:
        return None
    # A grounded Laplacian needs no pivoting, so that the order is free to keep the factors sparse:
    # the minimum degree of the symmetric pattern takes half the memory of the default.
    return splu(
        matrix.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
