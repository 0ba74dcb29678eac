"""The protocol of a linear solver: prepare(system) per matrix, solve(rhs, start) per rhs."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Protocol

import numpy as np

from rayrelief.conventions import FloatArray, SingleArray
from rayrelief.errors import InputError
from rayrelief.graph import PixelGraph

MOST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Laplacian:
    """Weighted graph Laplacian: (L x)[a] = sum_d conductance[d, a] (x[a] - x[neighbours[d, a]]).

    Attributes
    ----------
    graph
        Nodes sorted by component; the constant of each component is free.
    conductance
        (D, N), symmetric: the same value on (d, a) and on its opposite edge; 0 on missing edges.
        Single precision is enough for weights, and half of what a large system would take.
    """

    graph: PixelGraph
    conductance: SingleArray

    def __matmul__(self, x: FloatArray) -> FloatArray:
        """Apply to x (N,): the obvious version, for residuals and tests."""
        product: FloatArray = np.sum(self.conductance * (x - x[self.graph.neighbours]), axis=0)
        return product


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solve returns.

    Attributes
    ----------
    x
        (N,); the constant of each component is arbitrary.
    steps
        Inner iterations, the largest over the components (1 for a direct solver).
    converged
        Whether every component met the tolerance.
    """

    x: FloatArray
    steps: int
    converged: bool


class PreparedSolver(Protocol):
    """A matrix made ready for right-hand sides."""

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> Solution:
        """Solve for one right-hand side (N,), beginning at start (N,); neither is modified.

        An iterative solver multiplies its tolerance by ``tighten``.
        """
        ...


class Solver(Protocol):
    """A recipe for solving weighted graph Laplacians."""

    def prepare(self, system: Laplacian, previous: PreparedSolver | None = None) -> PreparedSolver:
        """Do the work that depends on the matrix alone.

        ``previous`` is what this solver prepared for a similar matrix on the same graph: it may
        reuse parts of it.
        """
        ...


def check_limits(solver: str, rtol: float, max_steps: int) -> None:
    """Raise InputError unless these can end a solve: 0 < rtol < 1, and a whole number of steps."""
    if not (isinstance(rtol, Real) and 0 < rtol < 1 and is_count(max_steps)):
        raise InputError(
            f"{solver} got rtol = {rtol!r}, max_steps = {max_steps!r}",
            expected=f"rtol between 0 and 1, max_steps a whole number from 1 to {MOST:,}",
            remedy="Leave them out for the default",
        )


def check_max_nodes(solver: str, max_nodes: int) -> None:
    """Raise InputError unless a limit of nodes is a whole number."""
    if not is_count(max_nodes):
        raise InputError(
            f"{solver} got max_nodes = {max_nodes!r}",
            expected=f"a whole number from 1 to {MOST:,}",
            remedy="Leave it out for the default",
        )


def is_count(number: object) -> bool:
    """Whether this is a whole number, of Python or of numpy, that can be counted to."""
    whole = isinstance(number, Integral) and not isinstance(number, bool)
    return whole and 1 <= int(number) <= MOST  # type: ignore[call-overload]
