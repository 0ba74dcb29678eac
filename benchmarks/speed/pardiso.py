"""Pardiso: the sparse factorisation of Intel's MKL, to compare with where pypardiso is installed.

MKL is not free software: it is no dependency of the package, and no other file may import it.
MKL_NUM_THREADS sets its threads.
"""

from __future__ import annotations

import os
import weakref
from dataclasses import dataclass
from typing import Any

from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.operators import Operator
from rayrelief.solvers import LinearSolution
from rayrelief.solvers.sparse import Grounded

POSITIVE_DEFINITE = 2  # Pardiso's number for real symmetric positive definite matrices


@dataclass(frozen=True)
class Pardiso:
    """Cholesky factorisation, exact to rounding; parts keep the constants they start with."""

    def prepare(self, operator: Operator) -> _PreparedPardiso:
        """Factorise the matrix."""
        from scipy.sparse import triu

        try:
            from pypardiso import PyPardisoSolver
        except ModuleNotFoundError as error:
            raise InputError(
                "the solver Pardiso needs the package pypardiso, which is not installed",
                remedy="Install it: python -m pip install pypardiso",
            ) from error
        grounded = Grounded.of(operator)
        upper = triu(grounded.matrix, format="csr")
        factors = PyPardisoSolver(mtype=POSITIVE_DEFINITE)
        # Otherwise every solver searches the disk for MKL, and that would count as its time.
        os.environ.setdefault("PYPARDISO_MKL_RT", factors.libmkl._name)
        if grounded.free.any():
            factors.factorize(upper)
        prepared = _PreparedPardiso(grounded, upper, factors)
        # MKL keeps its memory until it is told otherwise.
        weakref.finalize(prepared, factors.free_memory, everything=True)
        return prepared


@dataclass(frozen=True, eq=False)
class _PreparedPardiso:
    grounded: Grounded
    upper: Any
    factors: Any

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> LinearSolution:
        """Solve for one right-hand side (N,); of start (N,) only the constants count."""
        return self.grounded.solve(self._inverse, rhs, start)

    def _inverse(self, rhs: FloatArray) -> FloatArray:
        x: FloatArray = self.factors.solve(self.upper, rhs)
        return x
