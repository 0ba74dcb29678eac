"""The one shape of equation that every formulation returns.

For each directed edge b -> a: ``gamma * (x[a] - x[b]) = gamma * offset``. The unknown x is the
logarithm of the depth for central cameras and the depth itself for orthographic ones. With weights
it becomes a weighted graph Laplacian, whose free constant per component is fixed outside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.graph import PixelGraph

COINCIDENT = 1e-9  # rays of unit length that differ by less are one ray

Unknown = Literal["log-depth", "depth"]


@dataclass(frozen=True, eq=False)
class EdgeEquations:
    """Directed edges of a pixel graph with ``gamma * (x[a] - x[b]) = gamma * offset``.

    Attributes
    ----------
    graph
        Its missing edges carry zeros below.
    offset
        (D, N) what x[a] - x[b] is on a continuous surface: log(omega), or delta / gamma.
    gamma
        (D, N) factor of the equation in the cost.
    gamma_weight
        (D, N) factor of the difference in the bilateral weights.
    unknown
        What x means.
    left_out
        Number of directed edges that the normals make impossible (omega <= 0), with their
        opposites.
    """

    graph: PixelGraph
    offset: FloatArray
    gamma: FloatArray
    gamma_weight: FloatArray
    unknown: Unknown
    left_out: int = 0

    def without(self, impossible: BoolArray) -> EdgeEquations:
        """Leave out edges (D, N), counted; the graph is sorted anew if that splits components."""
        if not impossible.any():
            return self
        graph, order = self.graph.without(impossible)
        keep = graph.exists
        count = int(self.graph.exists.sum()) - int(keep.sum())
        return replace(
            self,
            graph=graph,
            offset=_kept(self.offset, order, keep),
            gamma=_kept(self.gamma, order, keep),
            gamma_weight=_kept(self.gamma_weight, order, keep),
            left_out=self.left_out + count,
        )


def pixels_per_ray(step: tuple[int, int], apart: FloatArray) -> FloatArray:
    """f = |u_b - u_a| / |tau_b - tau_a| of ray differences (N, 3); 0 where two rays coincide.

    Rays coincide at the poles of a panorama: the edge then says nothing, and weighs nothing.
    """
    length = np.linalg.norm(apart, axis=-1)
    focal: FloatArray = np.zeros_like(length)
    np.divide(np.hypot(*step), length, out=focal, where=length > COINCIDENT)
    return focal


def dot(left: FloatArray, right: FloatArray) -> FloatArray:
    """Dot product over the last axis."""
    product: FloatArray = np.einsum("...i,...i->...", left, right)
    return product


def _kept(values: FloatArray, order: npt.NDArray[np.int64], keep: BoolArray) -> FloatArray:
    return np.where(keep, values[:, order], 0.0)
