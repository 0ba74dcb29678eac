"""The protocol of a law, and the simplest one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.errors import InputError
from rayrelief.formulation.edge_equations import EdgeEquations


@dataclass(frozen=True, eq=False)
class EdgeTerms:
    """Weights and targets of all directed edges (D, N) at one iterate.

    Attributes
    ----------
    weights
        Weight of each equation in the cost, in addition to its gamma.
    target
        What x[a] - x[b] should be: the equation's own offset, or that with a jump.
    activation
        To what degree each edge is treated as a jump, 0 to 1; None if the law has no jumps.
    """

    weights: FloatArray
    target: FloatArray
    activation: FloatArray | None = None


def offsets_of(equations: EdgeEquations, directions: slice = slice(None)) -> FloatArray:
    """Offsets of the edges of some directions, all by default."""
    every = range(len(equations.graph.steps))
    if equations.directions == every:
        return equations.offset[directions]
    return np.stack([equations.offset_of(d) for d in every[directions]])


def with_both_directions(equations: EdgeEquations) -> EdgeEquations:
    """Equations that hold both directions of each edge, or an InputError."""
    if len(equations.directions) < len(equations.graph.steps):
        raise InputError(
            f"a law that tells the two directions of an edge apart got {type(equations).__name__}",
            expected="EdgeEquations of all directions",
            remedy="Use a law of rayrelief.laws that is made for intervals, such as Redescending",
        )
    return equations


class Law(Protocol):
    """Weights of the edges and their target differences, given the surface so far."""

    def terms(self, equations: EdgeEquations, x: FloatArray) -> EdgeTerms:
        """Evaluate the law at the iterate x (N,)."""
        ...

    def from_flat(self) -> Law:
        """Return the law of the first iteration from a flat start, where no jumps are known yet."""
        ...

    def cuts(self, terms: EdgeTerms) -> BoolArray:
        """Whether each directed edge (D, N) is treated as a jump."""
        ...


Flux = tuple[SingleArray, FloatArray]
"""w gamma^2 and w gamma^2 target (2, N) of two opposite directions."""


@runtime_checkable
class FusedLaw(Law, Protocol):
    """A law that a backend need not store the terms of: it goes from x to the flux of the edges."""

    def terms(
        self, equations: EdgeEquations, x: FloatArray, directions: slice = slice(None)
    ) -> EdgeTerms:
        """Evaluate the law at the iterate x (N,), for all directions or for pairs of them."""
        ...

    def weigh(self, equations: EdgeEquations, pair: slice, x: FloatArray, out: Flux) -> FloatArray:
        """Fill the flux of a pair of opposite directions at x (N,).

        Returns the energies of blocks of nodes, as many for each pair.
        """
        ...


@dataclass(frozen=True, eq=False)
class StoredTerms:
    """Any law at one iterate, its terms evaluated for all edges at once."""

    terms: EdgeTerms

    def weigh(self, equations: EdgeEquations, pair: slice, x: FloatArray, out: Flux) -> FloatArray:
        """Fill the flux of a pair of opposite directions; the energy as one block."""
        conductance, flux = out
        neighbours = equations.graph.neighbours[pair]
        gamma = np.stack([equations.gamma_of(d) for d in range(pair.start, pair.stop)])
        exists = neighbours != np.arange(x.size, dtype=np.uint32)
        weights = np.where(exists, self.terms.weights[pair], 0.0)
        target = np.where(exists, self.terms.target[pair], 0.0)
        conductance[:] = weights * gamma.astype(np.float64) ** 2
        np.multiply(conductance, target, out=flux)
        return np.array([np.sum(conductance * (x - x[neighbours] - target) ** 2)])


@dataclass(frozen=True, eq=False)
class FixedWeights:
    """Weights (D, N), or one for all, that do not depend on the surface; 0 is a cut."""

    weights: FloatArray | float

    def terms(self, equations: EdgeEquations, x: FloatArray) -> EdgeTerms:
        """Return these weights, and the equations' own offsets."""
        offset = offsets_of(equations)
        weights = np.broadcast_to(np.asarray(self.weights, np.float64), offset.shape)
        return EdgeTerms(weights, offset)

    def from_flat(self) -> FixedWeights:
        """Return the same law."""
        return self

    def cuts(self, terms: EdgeTerms) -> BoolArray:
        """Whether the weight is 0."""
        cuts: BoolArray = np.equal(terms.weights, 0)
        return cuts
