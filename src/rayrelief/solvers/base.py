"""The protocol of a linear solver: prepare(operator) per matrix, solve(rhs, start) per rhs."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Protocol, runtime_checkable

from rayrelief.checks import MOST, is_count
from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.operators import Operator

__all__ = ["LinearSolution", "Operator", "PreparedSolver", "Solver", "UpdatableSolver"]


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """What a solve returns.

    Attributes
    ----------
    x
        (N,); the constant of a component that is not anchored is arbitrary.
    steps
        Inner iterations, the largest over the components (1 for a direct solver).
    converged
        Whether every component met the tolerance.
    """

    x: FloatArray
    steps: int
    converged: bool


class PreparedSolver(Protocol):
    """A prepared matrix, with all the memory that solving for a right-hand side needs."""

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> LinearSolution:
        """Solve for one right-hand side (N,), beginning at start (N,); neither is modified.

        An iterative solver multiplies its tolerance by ``tighten``.
        """
        ...


@runtime_checkable
class UpdatableSolver(PreparedSolver, Protocol):
    """A prepared solver that can switch to the next matrix; others are prepared again for each."""

    def update(self, operator: Operator) -> None:
        """Switch to another matrix on the same graph, reusing what can be reused."""
        ...


@runtime_checkable
class Solver(Protocol):
    """A recipe for solving the equations of an operator.

    It may also have ``memory(nodes, directions)``, the bytes that a solve needs at its peak.
    """

    def prepare(self, operator: Operator) -> PreparedSolver:
        """Do the work that depends only on the matrix.

        A computation overwrites the operator's arrays when it sets up the next one, and then
        prepares, or updates, again: what was prepared before is not used any more.
        """
        ...


@dataclass(frozen=True)
class Iterative:
    """What the iterative solvers of this package share: when a solve ends.

    Attributes
    ----------
    rtol
        Stops when |residual| <= rtol |rhs|, or at the rounding errors of the residual, for each
        component separately.
    max_steps
        Step limit of one solve: its iterations, or cycles.
    """

    rtol: float = 1e-3
    max_steps: int = 200

    def __post_init__(self) -> None:
        rtol, max_steps = self.rtol, self.max_steps
        if not (isinstance(rtol, Real) and 0 < rtol < 1 and is_count(max_steps)):
            raise InputError(
                f"{type(self).__name__} got rtol = {rtol!r}, max_steps = {max_steps!r}",
                expected=f"rtol between 0 and 1, max_steps an integer from 1 to {MOST:,}",
                remedy="Leave them out for the default",
            )
