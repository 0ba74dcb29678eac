"""EdgeMaps: values on directed edges as images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.formulation.edge_equations import node_blocks
from rayrelief.graph import PixelGraph


@dataclass(frozen=True, eq=False)
class EdgeMaps:
    """One value per directed edge b -> a, addressed by the direction from a to b.

    Attributes
    ----------
    steps
        (du, dv) of each direction.
    values
        (D, H, W); NaN where there is no edge.
    """

    steps: tuple[tuple[int, int], ...]
    values: FloatArray

    @classmethod
    def of(cls, graph: PixelGraph, values: npt.NDArray[Any]) -> EdgeMaps:
        """Maps of values (D, N) on the directed edges of a graph."""
        maps = np.full((len(graph.steps), *graph.shape), np.nan)
        images = maps.reshape(len(graph.steps), -1)
        for nodes, here in node_blocks(graph):
            for d, image in enumerate(images):
                exists = graph.neighbours[d, nodes] != here
                image[graph.pixels[nodes][exists]] = values[d, nodes][exists]
        maps.flags.writeable = False
        return cls(graph.steps, maps)

    def towards(self, du: int, dv: int) -> FloatArray:
        """(H, W): values of the edges between each pixel and its neighbour at (u + du, v + dv)."""
        if (du, dv) not in self.steps:
            raise InputError(
                f"no edges lead to ({du}, {dv})",
                expected=f"one of {', '.join(map(str, self.steps))}",
                remedy="Use a method with another connectivity",
            )
        towards: FloatArray = self.values[self.steps.index((du, dv))]
        return towards

    def smallest(self) -> FloatArray:
        """(H, W): the smallest value around each pixel, for weights; NaN outside."""
        least: FloatArray = np.fmin.reduce(self.values, axis=0)
        return least

    def largest(self) -> FloatArray:
        """(H, W): the largest absolute value around each pixel, for jumps; NaN outside."""
        most: FloatArray = np.abs(self.values[0])
        for row in self.values[1:]:
            np.fmax(most, np.abs(row), out=most)
        return most
