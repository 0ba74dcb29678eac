"""Laplacian -> scipy matrices: the one place that spells a system out, for solvers to compare with.

A matrix holds the sum of the conductances of each node, and rounding it loses what is weak beside
what is strong. So components are first split where next to nothing joins them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.graph import IndexArray
from rayrelief.solvers.base import Laplacian, Solution


@dataclass(frozen=True, eq=False)
class Parts:
    """A system whose components are split where only negligible conductances joined them.

    Attributes
    ----------
    system
        Without the negligible conductances, its nodes sorted by part.
    order
        (N,) which node of the whole system each of its nodes is.
    """

    system: Laplacian
    order: IndexArray

    @classmethod
    def of(cls, whole: Laplacian) -> Parts:
        """Split a system; what is negligible is measured in each component on its own."""
        graph, conductance = whole.graph, whole.conductance
        strongest = np.maximum.reduceat(conductance.max(axis=0), graph.starts[:-1])
        limit = rounding(strongest, np.diff(graph.starts))
        negligible = conductance <= limit[graph.component_of_node]
        split, order = graph.without(negligible & graph.exists)
        kept = np.where(split.exists, conductance[:, order], 0.0)
        return cls(Laplacian(split, kept), order)

    def restore(self, x: FloatArray) -> FloatArray:
        """Values (N,) at the nodes of the parts, in the order of the whole system."""
        values = np.empty_like(x)
        values[self.order] = x
        return values


@dataclass(frozen=True, eq=False)
class Grounded:
    """A system with the first node of each part held at its start: a positive definite matrix.

    Attributes
    ----------
    parts
        The system in parts.
    free
        (N,) whether a node of the parts is solved for.
    matrix
        scipy.sparse.csr_array of the free nodes; empty if all nodes are isolated.
    """

    parts: Parts
    free: BoolArray
    matrix: Any

    @classmethod
    def of(cls, whole: Laplacian) -> Grounded:
        """Split a system and ground its parts."""
        parts = Parts.of(whole)
        free = np.ones(whole.graph.size, dtype=np.bool_)
        free[parts.system.graph.starts[:-1]] = False
        return cls(parts, free, csr_matrix(parts.system)[free][:, free])

    def solve(
        self, inverse: Callable[[FloatArray], FloatArray], rhs: FloatArray, start: FloatArray
    ) -> Solution:
        """Solve the whole system with a function that applies the inverse of the matrix.

        The factors know weak conductances only to the rounding errors of strong ones. Residuals
        from differences know them well, and correct the solution until corrections stop shrinking.
        """
        system, order = self.parts.system, self.parts.order
        b = rhs[order]
        x = start[order][system.graph.starts[:-1]][system.graph.component_of_node]
        size = np.inf
        while self.free.any():
            correction = inverse((b - system @ x)[self.free])
            previous, size = size, float(np.abs(correction).max())
            if not size < previous / 2:
                break
            x[self.free] += correction
        converged = bool(np.isfinite(size)) or not self.free.any()
        return Solution(self.parts.restore(x), steps=1, converged=converged)


def rounding(strongest: Any, nodes: Any) -> Any:
    """What elimination loses beside the strongest conductance of so many nodes, element by element.

    Measured on squares of 12 to 300 pixels, where the error grows with the root of their number.
    """
    return 4 * np.finfo(np.float64).eps * np.sqrt(nodes) * strongest


def csr_matrix(system: Laplacian) -> Any:
    """Matrix (N, N) of a system as scipy.sparse.csr_array with sorted 32-bit indices."""
    from scipy.sparse import coo_array

    size = system.graph.size
    nodes = np.arange(size, dtype=np.int32)
    rows, columns, values = [nodes], [nodes], [system.conductance.sum(axis=0, dtype=np.float64)]
    for d, a, b in system.graph.edges():
        rows.append(nodes[a])
        columns.append(nodes[b])
        values.append(-system.conductance[d, a])
    entries = (np.concatenate(rows), np.concatenate(columns))
    matrix = coo_array((np.concatenate(values), entries), shape=(size, size)).tocsr()
    matrix.sort_indices()
    return matrix
