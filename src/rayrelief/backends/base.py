"""The protocol of a backend: equations to operator, solve, change."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.graph import Int32Array
from rayrelief.laws.base import EdgeTerms, FusedLaw, Law
from rayrelief.pieces import shares, side_by_side
from rayrelief.problem import Problem
from rayrelief.solvers.base import LinearSolution, Solver

Integers = npt.NDArray[np.signedinteger[Any]]
Vector = Any
"""Values at the nodes (N,) in the memory of a backend: an array of numpy, or of its own kind."""

NODES_AT_A_TIME = 1 << 15  # whose edges are decided on


@dataclass(frozen=True, eq=False)
class Final:
    """The last iterate x (N,) and what a law says of its edges (D, N), as NumPy arrays."""

    x: FloatArray
    cuts: BoolArray
    weights: SingleArray
    activation: SingleArray | None

    @classmethod
    def of(cls, law: Law, equations: EdgeEquations, x: FloatArray) -> Final:
        """Evaluate a law at x (N,)."""
        if not isinstance(law, FusedLaw):
            return cls._told_by(law, law.terms(equations, x), x)
        # Pair by pair: the terms of all directions would take more memory than the solver did.
        shape = equations.graph.neighbours.shape
        cuts, weights = np.empty(shape, dtype=np.bool_), np.empty(shape, dtype=np.float32)
        activation: SingleArray | None = None
        for d in range(0, shape[0], 2):
            pair = slice(d, d + 2)
            terms = law.terms(equations, x, pair)
            if terms.activation is not None and activation is None:
                activation = np.empty_like(weights)
            decided = None if activation is None else activation[pair]
            keep = partial(_keep, law, terms, cuts[pair], weights[pair], decided)
            side_by_side(keep, shares(x.size, NODES_AT_A_TIME))
            del terms, keep  # before those of the next pair
        return cls(x, cuts, weights, activation)

    @classmethod
    def _told_by(cls, law: Law, terms: EdgeTerms, x: FloatArray) -> Final:
        weights, activation = terms.weights.astype(np.float32), terms.activation
        decided = None if activation is None else activation.astype(np.float32)
        return cls(x, law.cuts(terms), weights, decided)


def _keep(
    law: Law,
    terms: EdgeTerms,
    cuts: BoolArray,
    weights: SingleArray,
    activation: SingleArray | None,
    some: slice,
) -> None:
    """Keep what a law says of the edges of some nodes."""
    weights[:, some] = terms.weights[:, some]
    said = None
    if terms.activation is not None and activation is not None:
        said = activation[:, some] = terms.activation[:, some]
    cuts[:, some] = law.cuts(EdgeTerms(terms.weights[:, some], terms.target[:, some], said))


class Computation(Protocol):
    """Computation of one problem: owns every array that changes, and the solver's memory."""

    anchored: BoolArray
    """(C,): whether anchors hold the constant of a component."""

    def start(self) -> Vector:
        """First iterate: that of the problem, or a flat one."""
        ...

    def linearise(self, law: Law, x: Vector, *, last: bool = False) -> float:
        """Set up the operator and the right-hand side of the law at x; returns the energy of x.

        After the ``last`` one nothing is solved any more.
        """
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

    def finish(self, law: Law, x: Vector) -> Final:
        """Release everything else, and return x with what the law decides about it."""
        ...


@dataclass(frozen=True, eq=False)
class Borders:
    """Edges between the parts of a surface, each once.

    Attributes
    ----------
    here, there
        (E,) numbers of the parts on either side.
    residual
        (E,) by how many pixels the side here is behind what the edge says.
    focal
        (E,) pixels per unit of the unknown.
    half_width, sigma, lead
        (E,) as in IntervalEquations; the lead is that of the side here.
    parts
        (C,) what the backend knows the parts by.
    stays
        (C,) which of them stay where they are.
    """

    here: Int32Array
    there: Int32Array
    residual: FloatArray
    focal: SingleArray
    half_width: SingleArray
    sigma: SingleArray
    lead: SingleArray
    parts: Int32Array
    stays: BoolArray


@runtime_checkable
class MovesParts(Computation, Protocol):
    """A computation that moves the parts of a surface where it is, for the method Ordered."""

    def borders(
        self,
        x: Vector,
        joins: tuple[float, float],
        staying: Callable[[Integers, Integers], BoolArray],
    ) -> Borders:
        """Edges of the parts of x that edges join whose residual and half-width are up to these.

        Of all parts, by their sizes and with those that are held, ``staying`` says which stay.
        """
        ...

    def shift_parts(self, parts: Int32Array, shifts: FloatArray) -> Vector:
        """Shift (C,) some of the parts that were found last; returns the new surface."""
        ...


@runtime_checkable
class Backend(Protocol):
    """Where the computation runs.

    It may also have ``memory(nodes, directions)``, the bytes that it needs besides the solver.
    """

    def compute(self, problem: Problem, solver: Solver) -> AbstractContextManager[Computation]:
        """Start a computation; its resources are released when the context ends."""
        ...
