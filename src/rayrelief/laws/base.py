"""The protocol of a law, and the simplest one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray, SingleArray
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
        neighbours, gamma = equations.graph.neighbours[pair], equations.gamma[pair]
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
        weights = np.broadcast_to(np.asarray(self.weights, np.float64), equations.offset.shape)
        return EdgeTerms(weights, equations.offset)

    def from_flat(self) -> FixedWeights:
        """Return the same law."""
        return self

    def cuts(self, terms: EdgeTerms) -> BoolArray:
        """Whether the weight is 0."""
        cuts: BoolArray = np.equal(terms.weights, 0)
        return cuts
