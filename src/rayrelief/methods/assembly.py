"""Normal equations of weighted edges: a graph Laplacian and its right-hand side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from rayrelief.conventions import FloatArray
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.methods.edge_terms import EdgeTerms
from rayrelief.solvers.base import Laplacian


def assemble(equations: EdgeEquations, terms: EdgeTerms) -> tuple[Laplacian, FloatArray]:
    """Build the normal equations: the weighted graph Laplacian and its right-hand side."""
    conductance = np.empty_like(terms.weights)
    rhs = np.empty(equations.graph.size)
    _assemble(
        equations.graph.neighbours, equations.gamma, terms.weights, terms.target, conductance, rhs
    )
    return Laplacian(equations.graph, conductance), rhs


@njit(cache=True, parallel=True, error_model="numpy")
def _assemble(
    neighbours: Any, gamma: Any, weights: Any, target: Any, conductance: Any, rhs: Any
) -> None:
    directions, nodes = gamma.shape
    for a in prange(nodes):
        total = 0.0
        for d in range(directions):
            b = neighbours[d, a]
            e = d ^ 1  # the edge a -> b is stored at b
            here = weights[d, a] * gamma[d, a] * gamma[d, a]
            there = weights[e, b] * gamma[e, b] * gamma[e, b]
            if b == a:  # a missing edge: its opposite slot may be a real one
                there = 0.0
            conductance[d, a] = here + there
            total += here * target[d, a] - there * target[e, b]
        rhs[a] = total
