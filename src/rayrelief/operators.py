"""Operator: the matrix of all equations on a pixel graph, with anchors for known pixels.

(A x)[a] = sum_d conductance[d, a] (x[a] - x[neighbours[d, a]]) + diagonal[a] x[a]. Without a
diagonal it is a weighted graph Laplacian: adding a constant to a component changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.graph import PixelGraph

_NONE = np.empty(0, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Operator:
    """Conductances of the edges of a graph and, where some pixels are anchored, a diagonal.

    Attributes
    ----------
    graph
        Nodes sorted by component.
    conductance
        (D, N), symmetric: the same value on (d, a) and on its opposite edge; 0 on missing edges.
        Single precision is enough for weights, and halves the memory of a large system.
    diagonal
        (N,) how strongly each node is pulled to its value on the right-hand side, >= 0; None
        without anchors.
    values
        (N,) these values, where they are known apart from what the edges ask for: beside that the
        right-hand side rounds away what weak anchors say.
    """

    graph: PixelGraph
    conductance: SingleArray
    diagonal: SingleArray | None = None
    values: FloatArray | None = None

    @cached_property
    def anchored(self) -> BoolArray:
        """(C,): whether a component has a diagonal; the constant of the others is free."""
        graph = self.graph
        if self.diagonal is None or graph.size == 0:
            return np.zeros(graph.component_count, dtype=np.bool_)
        anchored: BoolArray = np.logical_or.reduceat(self.diagonal > 0, graph.starts[:-1])
        return anchored

    @property
    def anchors(self) -> SingleArray:
        """The diagonal as kernels take it: empty where there is none."""
        return _NONE if self.diagonal is None else self.diagonal

    def row_sums(self) -> FloatArray:
        """(N,): sum of the conductances of each node and its anchor, the matrix's own diagonal."""
        sums: FloatArray = self.conductance.sum(axis=0, dtype=np.float64)
        return sums if self.diagonal is None else sums + self.diagonal

    def __matmul__(self, x: FloatArray) -> FloatArray:
        """Apply to x (N,): the obvious version, for residuals and tests."""
        product: FloatArray = np.sum(self.conductance * (x - x[self.graph.neighbours]), axis=0)
        return product if self.diagonal is None else product + self.diagonal * x
