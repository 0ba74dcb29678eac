"""SparseJumps: few, large jumps instead of many small ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.formulation.edge_equations import EdgeEquations, empty_terms
from rayrelief.laws.base import EdgeTerms, FixedWeights, with_both_directions


@dataclass(frozen=True)
class SparseJumps:
    """Weights that close small jumps, and count large ones instead of adding up their sizes.

    The jump of an edge is what the normals leave unexplained, gamma (x_a - x_b - offset): the
    distance between two planes, in pixels on the surface. Up to the threshold it costs its square,
    as on a continuous surface, and beyond it 2 threshold^2 - threshold^4 / jump^2, which hardly
    grows: the number of jumps matters, and not their size.

    Attributes
    ----------
    threshold
        Size of the smallest jump that is kept.
    """

    threshold: float

    def weight(self, jump: FloatArray) -> FloatArray:
        """Weight of equations with these jumps: the slope of their cost over that of a square."""
        ratio = self.threshold / np.maximum(np.abs(jump), self.threshold)
        weight: FloatArray = np.square(np.square(ratio))
        return weight

    def terms(self, equations: EdgeEquations, x: FloatArray) -> EdgeTerms:
        """Evaluate the weights at the iterate x (N,); the targets are the equations' own."""
        equations = with_both_directions(equations)
        weights = empty_terms(equations.graph)
        for d, b in enumerate(equations.graph.neighbours):  # one by one: to save memory
            left = x - np.take(x, b) - equations.offset[d]
            weights[d] = self.weight(equations.gamma_weight[d] * left)
        return EdgeTerms(weights, equations.offset)

    def from_flat(self) -> FixedWeights:
        """Return least squares: what a flat start leaves unexplained is no jump."""
        return FixedWeights(1.0)

    def cuts(self, terms: EdgeTerms) -> BoolArray:
        """Whether a jump is above the threshold."""
        cuts: BoolArray = np.less(terms.weights, 1.0)
        return cuts
