"""The protocol of a law, and the simplest one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
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
    """Weights of the edges and their target differences, given the surface so far.

    It may also have ``weigh``, which does the same pair of directions by pair, without storing the
    terms of all edges (see ``Bilateral``).
    """

    def terms(self, equations: EdgeEquations, x: FloatArray) -> EdgeTerms:
        """Evaluate the law at the iterate x (N,)."""
        ...

    def from_flat(self) -> Law:
        """Return the law of the first iteration from a flat start, where no jumps are known yet."""
        ...

    def cuts(self, terms: EdgeTerms) -> BoolArray:
        """Whether each directed edge (D, N) is treated as a jump."""
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
