"""PyAMG: the smoothed aggregation of pyamg, an optional package, for comparison."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.operators import Operator
from rayrelief.optional import library
from rayrelief.solvers.anchoring import balance, settle
from rayrelief.solvers.base import Iterative, LinearSolution
from rayrelief.solvers.kernels import residual_limits
from rayrelief.solvers.segments import segments_of
from rayrelief.solvers.sparse import Parts, csr_matrix, rounding


@dataclass(frozen=True)
class PyAMG(Iterative):
    """Conjugate gradients of pyamg with a V-cycle of its smoothed aggregation as preconditioner.

    Parts of a component that are connected only by negligible conductances are solved separately,
    as if they were components; each keeps the mean of its start. A step is a cycle.

    Attributes
    ----------
    theta
        Neighbours count as connected if their conductance is at least theta times the geometric
        mean of their diagonals. Without it (0) aggregates reach across discontinuities; with much
        more they stay too small.
    """

    theta: float = 0.08

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.theta, Real) and 0 <= self.theta < 1):
            raise InputError(
                f"PyAMG got theta = {self.theta}",
                expected="a number from 0 to 1",
                remedy="Leave it out for the default",
            )

    def prepare(self, operator: Operator) -> _PreparedPyAMG:
        """Build a hierarchy for each part."""
        pyamg = library("pyamg", "the solver PyAMG", "compare")
        parts = Parts.of(operator)
        whole = csr_matrix(parts.operator)
        matrices = [
            whole[lo:hi, lo:hi] for lo, hi in pairwise(parts.operator.graph.starts) if hi - lo > 1
        ]
        sweeps = ("gauss_seidel", {"sweep": "symmetric"})
        hierarchies = [
            pyamg.smoothed_aggregation_solver(
                matrix,
                symmetry="symmetric",
                strength=("symmetric", {"theta": self.theta}),
                # The other weightings estimate a spectral radius from a random start.
                smooth=("jacobi", {"weighting": "local"}),
                improve_candidates=None,  # the constant is the null space as it is
                presmoother=sweeps,
                postsmoother=sweeps,
                # The coarsest level is singular too, and may be one number: a rounding error.
                coarse_solver=("pinv", {"atol": rounding(matrix.max(), matrix.shape[0])}),
            )
            for matrix in matrices
        ]
        return _PreparedPyAMG(self, parts, matrices, hierarchies)

    def memory(self, nodes: int, directions: int) -> int:
        """Bytes at the peak of a solve, measured."""
        return (312 + 107 * directions) * nodes


@dataclass(frozen=True, eq=False)
class _PreparedPyAMG:
    recipe: PyAMG
    parts: Parts
    matrices: list[Any]  # of the parts beyond one node, which come first
    hierarchies: list[Any]

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> LinearSolution:
        """Solve for one right-hand side (N,), beginning at start (N,)."""
        from pyamg.krylov import cg

        operator, order = self.parts.operator, self.parts.order
        starts, anchored = operator.graph.starts, operator.anchored
        x, b = start[order], rhs[order]
        settle(operator, b, x)
        diagonal = operator.row_sums()
        inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
        rtol = self.recipe.rtol * tighten
        square = residual_limits(segments_of(starts), operator.anchors, b, x, inverse, 1.0, rtol)
        limits = np.sqrt(square)
        share = np.ones_like(b)  # as in residual_square
        if operator.diagonal is not None:
            share -= operator.diagonal * inverse
        residual = b - operator @ x
        steps, converged = 0, True
        for c, (matrix, hierarchy) in enumerate(zip(self.matrices, self.hierarchies, strict=True)):
            part = slice(starts[c], starts[c + 1])
            # No solution balances the mean of a part that nothing holds.
            r = residual[part] - (0.0 if anchored[c] else residual[part].mean())
            norm = np.linalg.norm(r)
            if np.linalg.norm(share[part] * r) <= limits[c]:
                continue
            history: list[float] = []
            # pyamg alters the filters, and warns of a breakdown that its second result tells too.
            with warnings.catch_warnings(record=True):
                correction, trouble = cg(
                    matrix,
                    r,
                    tol=limits[c] / norm,
                    maxiter=self.recipe.max_steps,
                    M=hierarchy.aspreconditioner(cycle="V"),
                    residuals=history,
                )
            x[part] += correction - (0.0 if anchored[c] else correction.mean())
            steps = max(steps, len(history) - 1)
            # A residual of next to nothing can look like a breakdown: what is left of it decides.
            left = np.linalg.norm(share[part] * (r - matrix @ correction))
            converged &= trouble == 0 or bool(left <= limits[c])
        balance(operator, b, x)
        return LinearSolution(self.parts.restore(x), steps, bool(converged))
