"""The protocol of a backend: equations to operator, solve, change."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.laws.base import Law
from rayrelief.problem import Problem
from rayrelief.solvers.base import LinearSolution, Solver

Vector = Any
"""Values at the nodes (N,) in the memory of a backend: an array of numpy, or of its own kind."""


class Computation(Protocol):
    """Computation of one problem: owns every array that changes, and the solver's memory."""

    anchored: BoolArray
    """(C,): whether anchors hold the constant of a component."""

    def start(self) -> Vector:
        """First iterate: that of the problem, or a flat one."""
        ...

    def linearise(self, law: Law, x: Vector) -> float:
        """Set up the operator and the right-hand side of the law at x; returns the energy of x."""
        ...

    def solve(self, x: Vector, tighten: float) -> LinearSolution:
        """Solve what was set up last, from x; ``tighten`` multiplies the solver's tolerance."""
        ...

    def change(self, new: Vector, old: Vector) -> float:
        """Root mean square of new - old over that of new, each component's free constant apart."""
        ...

    def remember(self, x: Vector) -> Vector:
        """Store x in little memory, for later comparison."""
        ...

    def values(self, x: Vector) -> FloatArray:
        """Return x as a NumPy array."""
        ...


class Backend(Protocol):
    """Where the computation runs.

    It may also have ``memory(nodes, directions)``, the bytes that it needs besides the solver.
    """

    def compute(self, problem: Problem, solver: Solver) -> AbstractContextManager[Computation]:
        """Start a computation; its resources are released when the context ends."""
        ...
