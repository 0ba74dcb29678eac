"""The protocol of a law, and the simplest one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.formulation.edge_equations import EdgeEquations


@dataclass(frozen=True, eq=False)
class EdgeTerms:
    """What a law says of all directed edges (D, N) at one iterate.

    Attributes
    ----------
    weights
        Weight of each equation in the cost, beside its gamma.
    target
        What x[a] - x[b] should be: the equation's own offset, or what a jump makes of it.
    activation
        How far each edge is taken for a jump, 0 to 1; None where the law has no such thing.
    """

    weights: FloatArray
    target: FloatArray
    activation: FloatArray | None = None


class Law(Protocol):
    """How edges are weighted and what they ask for, given the surface so far.

    It may also have ``weigh``, which does the same pair of directions by pair, without storing the
    terms of all edges (see ``Bilateral``).
    """

    def terms(self, equations: EdgeEquations, x: FloatArray) -> EdgeTerms:
        """Evaluate the law at the iterate x (N,)."""
        ...

    def from_flat(self) -> Law:
        """Return the law of the first iteration from a flat start, which shows no jumps yet."""
        ...

    def cuts(self, terms: EdgeTerms) -> BoolArray:
        """Whether each directed edge (D, N) is taken for a jump."""
        ...


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
