"""Pardiso: the sparse factorisation of Intel's MKL, to compare with where pypardiso is installed.

MKL is not free software: it is no dependency of the package, and no other file may import it.
MKL_NUM_THREADS sets its threads.
"""

from __future__ import annotations

import os
import weakref
from dataclasses import dataclass
from functools import partial

from rayrelief.errors import InputError
from rayrelief.operators import Operator
from rayrelief.solvers.sparse import Grounded, PreparedElimination

POSITIVE_DEFINITE = 2  # Pardiso's number for real symmetric positive definite matrices


@dataclass(frozen=True)
class Pardiso:
    """Cholesky factorisation, exact to rounding; parts keep the constants they start with."""

    def prepare(self, operator: Operator) -> PreparedElimination:
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
        prepared = PreparedElimination(grounded, partial(factors.solve, upper))
        # MKL keeps its memory until it is told otherwise.
        weakref.finalize(prepared, factors.free_memory, everything=True)
        return prepared
