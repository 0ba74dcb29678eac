"""Operator -> scipy matrices: the one place that spells a system out, for solvers to compare with.

A matrix holds the sum of the conductances of each node, and rounding it loses what is weak beside
what is strong. So components are first split where next to nothing joins them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rayrelief.checks import MOST, is_count
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import InputError
from rayrelief.graph import IndexArray
from rayrelief.operators import Operator
from rayrelief.solvers.anchoring import balance
from rayrelief.solvers.base import LinearSolution

WEAK = 1e-6  # anchors of a part over its strongest conductance


@dataclass(frozen=True, eq=False)
class Parts:
    """An operator whose components are split where only negligible conductances joined them.

    Attributes
    ----------
    operator
        Without what is negligible, its nodes sorted by part.
    order
        (N,) which node of the whole operator each of its nodes is.
    """

    operator: Operator
    order: IndexArray

    @classmethod
    def of(cls, whole: Operator) -> Parts:
        """Split an operator; what is negligible is measured in each component on its own."""
        graph, conductance = whole.graph, whole.conductance
        strongest = np.maximum.reduceat(conductance.max(axis=0), graph.starts[:-1])
        limit = rounding(strongest, np.diff(graph.starts))[graph.component_of_node]
        split, order = graph.without((conductance <= limit) & graph.exists)
        kept = np.where(split.exists, conductance[:, order], 0.0)
        diagonal = None if whole.diagonal is None else whole.diagonal[order]
        values = None if whole.values is None else whole.values[order]
        return cls(Operator(split, kept, diagonal, values), order)

    @property
    def floating(self) -> BoolArray:
        """(P,): parts without anchors, or with such weak ones that elimination would lose them."""
        graph, anchors = self.operator.graph, self.operator.anchors
        if not len(anchors):
            return np.ones(graph.component_count, dtype=np.bool_)
        strongest = np.maximum.reduceat(self.operator.conductance.max(axis=0), graph.starts[:-1])
        held = np.add.reduceat(anchors, graph.starts[:-1], dtype=np.float64)
        floating: BoolArray = held <= WEAK * strongest
        return floating

    def restore(self, x: FloatArray) -> FloatArray:
        """Values (N,) at the nodes of the parts, in the order of the whole operator."""
        values = np.empty_like(x)
        values[self.order] = x
        return values


@dataclass(frozen=True, eq=False)
class Grounded:
    """An operator with the first node of each floating part at its start: positive definite.

    The nodes that are left are those of a system that every direct solver takes.

    Attributes
    ----------
    parts
        The operator in parts.
    free
        (N,) whether a node of the parts is solved for.
    matrix
        scipy.sparse.csr_array of the free nodes; empty if all nodes are isolated.
    """

    parts: Parts
    free: BoolArray
    matrix: Any

    @classmethod
    def of(cls, whole: Operator) -> Grounded:
        """Split an operator and ground its floating parts."""
        parts = Parts.of(whole)
        free = np.ones(whole.graph.size, dtype=np.bool_)
        free[parts.operator.graph.starts[:-1][parts.floating]] = False
        return cls(parts, free, csr_matrix(parts.operator)[free][:, free])

    def solve(
        self, inverse: Callable[[FloatArray], FloatArray], rhs: FloatArray, start: FloatArray
    ) -> LinearSolution:
        """Solve the whole system with a function that applies the inverse of the matrix.

        The factors know weak conductances only to the rounding errors of strong ones. Residuals
        from differences know them well, and correct the solution until corrections stop shrinking.
        """
        operator, order = self.parts.operator, self.parts.order
        graph, b = operator.graph, rhs[order]
        x = start[order][graph.starts[:-1]][graph.component_of_node]
        balance(operator, b, x)
        size = np.inf
        while self.free.any():
            correction = inverse((b - operator @ x)[self.free])
            previous, size = size, float(np.abs(correction).max())
            if not size < previous / 2:
                break
            x[self.free] += correction
            balance(operator, b, x)
        converged = bool(np.isfinite(size)) or not self.free.any()
        return LinearSolution(self.parts.restore(x), steps=1, converged=converged)


@dataclass(frozen=True)
class Elimination:
    """What the direct solvers share: a limit of size, and refined solutions.

    Parts of a component that are connected only by negligible conductances keep their constants.

    Attributes
    ----------
    max_nodes
        What is larger is refused instead of filling the memory.
    """

    max_nodes: int

    def __post_init__(self) -> None:
        if not is_count(self.max_nodes):
            raise InputError(
                f"{type(self).__name__} got max_nodes = {self.max_nodes!r}",
                expected=f"an integer from 1 to {MOST:,}",
                remedy="Leave it out for the default",
            )

    def refuse_beyond(self, nodes: int, found: str, remedy: str) -> None:
        """Raise InputError for more nodes than the limit."""
        if nodes > self.max_nodes:
            expected = f"at most {self.max_nodes} (its max_nodes)"
            raise InputError(found, expected=expected, remedy=remedy)


@dataclass(frozen=True, eq=False)
class PreparedElimination:
    """A grounded operator, and the function that applies the inverse of its matrix."""

    grounded: Grounded
    inverse: Callable[[FloatArray], FloatArray]

    def solve(self, rhs: FloatArray, start: FloatArray, tighten: float = 1.0) -> LinearSolution:
        """Solve for one right-hand side (N,); of start (N,) only the constants count."""
        return self.grounded.solve(self.inverse, rhs, start)


def rounding(strongest: Any, nodes: Any) -> Any:
    """What elimination loses beside the strongest conductance of so many nodes, element by element.

    Measured on squares of 12 to 300 pixels, where the error grows with the root of their number.
    """
    return 4 * np.finfo(np.float64).eps * np.sqrt(nodes) * strongest


def csr_matrix(operator: Operator) -> Any:
    """Matrix (N, N) of an operator as scipy.sparse.csr_array with sorted 32-bit indices."""
    from scipy.sparse import coo_array

    size = operator.graph.size
    nodes = np.arange(size, dtype=np.int32)
    rows, columns, values = [nodes], [nodes], [operator.row_sums()]
    for d, a, b in operator.graph.edges():
        rows.append(nodes[a])
        columns.append(nodes[b])
        values.append(-operator.conductance[d, a])
    entries = (np.concatenate(rows), np.concatenate(columns))
    matrix = coo_array((np.concatenate(values), entries), shape=(size, size)).tocsr()
    matrix.sort_indices()
    return matrix
