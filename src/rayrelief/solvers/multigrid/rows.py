"""Rows: the Laplacian of one level, as a stencil on the pixel graph or as compressed rows.

In single precision: enough for a preconditioner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import SingleArray
from rayrelief.operators import Operator


@dataclass(frozen=True, eq=False)
class CompressedRows:
    """A sparse matrix: first entry of each row (rows + 1,), column and value (entries,) of each."""

    start: npt.NDArray[np.int32]
    column: npt.NDArray[np.uint32]
    value: SingleArray

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What kernels take."""
        return self.start, self.column, self.value


@dataclass(frozen=True, eq=False)
class Rows(CompressedRows):
    """Off-diagonal entries of a graph Laplacian, row by row; the diagonal is their sum.

    Entry e joins its row's node with node ``column[e]`` by the conductance ``value[e]``. The
    entries of row i are ``range(*entries(...))`` (solvers/kernels.py): compressed rows have a start
    for each of ``size`` rows, while a stencil on the pixel graph has none, and holds direction
    after direction.
    """

    size: int


def stencil(operator: Operator) -> Rows:
    """An operator on the pixel graph as rows, without its anchors; nothing is copied."""
    return Rows(
        np.empty(0, dtype=np.int32),
        operator.graph.neighbours.reshape(-1),
        operator.conductance.reshape(-1),
        operator.graph.size,
    )
