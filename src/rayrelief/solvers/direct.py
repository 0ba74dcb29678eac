"""Direct: sparse factorisation, exact to rounding, for graphs of up to about a megapixel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rayrelief.conventions import FloatArray
from rayrelief.operators import Operator
from rayrelief.solvers.sparse import Elimination, Grounded, PreparedElimination


@dataclass(frozen=True)
class Direct(Elimination):
    """Factorise the matrix with SuperLU; time and memory grow faster than the pixels.

    The factors of 1,000,000 connected pixels, all that are allowed, take about 1.1 GB.
    """

    max_nodes: int = 1_000_000

    def prepare(self, operator: Operator) -> PreparedElimination:
        """Refuse what is too large, and factorise."""
        size = operator.graph.size
        remedy = (
            "Use rayrelief.solvers.Multigrid(), or increase max_nodes if there is enough memory"
        )
        self.refuse_beyond(size, f"the direct solver got {size} pixels", remedy)
        grounded = Grounded.of(operator)
        return PreparedElimination(grounded, _factorised(grounded.matrix))

    def memory(self, nodes: int, directions: int) -> int:
        """Bytes at the peak of a solve, measured up to a megapixel."""
        return (1122 + 282 * directions) * nodes


def _factorised(matrix: Any) -> Callable[[FloatArray], FloatArray]:
    """Inverse of a grounded matrix, by its factors; an empty one has none, and needs none."""
    from scipy.sparse.linalg import splu

    if matrix.shape[0] == 0:
        return lambda rhs: rhs
    # A grounded Laplacian needs no pivoting, so that the order is free to keep the factors sparse:
    # the minimum degree of the symmetric pattern takes half the memory of the default.
    factors = splu(
        matrix.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    solve: Callable[[FloatArray], FloatArray] = factors.solve
    return solve
