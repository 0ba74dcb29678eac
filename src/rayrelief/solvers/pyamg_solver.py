"""PyAMG: the smoothed aggregation of pyamg, an optional package, to compare with."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.solvers.base import Laplacian, PreparedSolver, Solution, check_limits
from rayrelief.solvers.kernels import residual_limits
from rayrelief.solvers.sparse import Parts, csr_matrix, rounding


@dataclass(frozen=True)
class PyAMG:
    """Conjugate gradients of pyamg with a V-cycle of its smoothed aggregation as preconditioner.

    Parts of a component that only negligible conductances join are solved one by one; each keeps
    the mean it starts with.

    Attributes
    ----------
    rtol
        Stops when |residual| <= rtol |rhs|, or at the rounding errors of the residual, for each
        part on its own.
    max_steps
        Limit of the cycles of one solve.
    theta
        Neighbours count as joined if their conductance is at least theta times the geometric mean
        of their diagonals. Without it (0) aggregates reach across discontinuities, and with much
        more they stay too small.
    """

    rtol: float = 1e-3
    max_steps: int = 200
    theta: float = 0.08

    def __post_init__(self) -> None:
        check_limits("PyAMG", self.rtol, self.max_steps)
        if not (isinstance(self.theta, Real) and 0 <= self.theta < 1):
            raise InputError(
                f"PyAMG got theta = {self.theta}",
                expected="a number from 0 to 1",
                remedy="Leave it out for the default",
            )

    def prepare(self, system: Laplacian, previous: PreparedSolver | None = None) -> _PreparedPyAMG:
        """Build a hierarchy for each part."""
        try:
            import pyamg
        except ModuleNotFoundError as error:
            raise InputError(
                "the solver PyAMG needs the package pyamg, which is not installed",
                remedy='Install it: python -m pip install "pyamg>=5.2"',
            ) from error
        parts = Parts.of(system)
        whole = csr_matrix(parts.system)
        matrices = [
            whole[lo:hi, lo:hi] for lo, hi in pairwise(parts.system.graph.starts) if hi - lo > 1
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


@dataclass(frozen=True, eq=False)
class _PreparedPyAMG:
    recipe: PyAMG
    parts: Parts
    matrices: list[Any]  # of the parts beyond one node, which come first
    hierarchies: list[Any]

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> Solution:
        """Solve for one right-hand side (N,), beginning at start (N,)."""
        from pyamg.krylov import cg

        system, order = self.parts.system, self.parts.order
        starts = system.graph.starts
        x, b = start[order], rhs[order]
        diagonal = system.conductance.sum(axis=0, dtype=np.float64)
        inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
        rtol = self.recipe.rtol * tighten
        limits = np.sqrt(residual_limits(starts, b, x, inverse, 1.0, rtol))
        residual = b - system @ x
        steps, converged = 0, True
        for c, (matrix, hierarchy) in enumerate(zip(self.matrices, self.hierarchies, strict=True)):
            part = slice(starts[c], starts[c + 1])
            r = residual[part] - residual[part].mean()  # no solution balances the mean
            norm = np.linalg.norm(r)
            if norm <= limits[c]:
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
            x[part] += correction - correction.mean()
            steps = max(steps, len(history) - 1)
            # A residual of next to nothing can look like a breakdown: what is left of it decides.
            left = np.linalg.norm(r - matrix @ correction)
            converged &= trouble == 0 or bool(left <= limits[c])
        return Solution(self.parts.restore(x), steps, bool(converged))
