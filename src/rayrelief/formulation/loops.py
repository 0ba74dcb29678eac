"""Loops of four edges: what they fail to close is noise, or a jump that grows along a border.

Around a loop of a continuous surface the differences add up to nothing. Noise leaves a little, of
either sign; errors that extend over many pixels, as those of estimated normals, hardly show in one
loop, but add up over wider ones. Where of two surfaces side by side one is steeper along their
border, the jump between them grows, and every loop on the border fails to close by as much and with
the same sign, however narrow the intervals of its edges are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from rayrelief.compiled import njit
from rayrelief.conventions import FloatArray, SingleArray
from rayrelief.formulation.edge_equations import node_pieces
from rayrelief.graph import PixelGraph
from rayrelief.pieces import side_by_side, taken

GAUSSIAN_MEDIAN = 0.6745  # median of |x| of a Gaussian, in standard deviations
# Loops of so many pixels fail to close by at most UNRELATED times as much, over what noise of each
# normal for itself adds up to, if normals err independently (with a few jumps among them).
SPAN, UNRELATED = 4, 2.0
# Each loop in them counts up to so many deviations: jumps and wrong normals leave few loops open by
# far, and would be in most of the wide ones; errors that extend leave all of them open by little.
MOST = 1.0
# Errors that extend further add up further: they count as over so many times the span.
EXTENT = 3.0
# Loops before and behind an edge, along a border, that have to agree: around a single wrong normal
# their signs alternate.
AGREEING = 2


@dataclass(frozen=True, eq=False)
class Loops:
    """The loop to the right of and below each node of a graph.

    Attributes
    ----------
    graph
        Of the nodes.
    curl
        (N,) pixels by which each loop fails to close; NaN where there is none.
    leverage
        (N,) variance of the curl in squared pixels, over that of the normals.
    """

    graph: PixelGraph
    curl: SingleArray
    leverage: SingleArray

    @classmethod
    def of(
        cls,
        graph: PixelGraph,
        offset: FloatArray | SingleArray,
        gamma: SingleArray,
        leverage: SingleArray,
    ) -> Self:
        """Loops of equations (D / 2, N) with gamma in pixels per radian, and their variance."""
        curl = np.full(graph.size, np.nan, dtype=np.float32)
        variance = np.ones(graph.size, dtype=np.float32)
        if _is_straight(graph):
            right, below = graph.neighbours[0], graph.neighbours[2]
            edges = offset[0], offset[1], gamma[0], gamma[1], leverage[0], leverage[1]
            go_around = partial(_go_around, right, below, edges, curl, variance)
            side_by_side(go_around, node_pieces(graph))
        return cls(graph, curl, variance)

    def noise(self) -> float:
        """Noise of the normals in radians about each axis; 0 without loops.

        Errors that extend over many pixels count as several times the noise that they show. The
        median does not see the few loops that cross a jump.
        """
        single = _noise_of(self.curl, self.leverage)
        wide = _noise_of(
            self._over_span(self._curl_up_to(MOST * single)),
            self._over_span(self.leverage) / np.float32(SPAN),
        )
        extended = math.sqrt(max(wide**2 - (UNRELATED * single) ** 2, 0.0))
        return math.hypot(single, EXTENT * extended)

    def growth(self, noise: float) -> SingleArray:
        """By how many pixels a jump across each edge (D / 2, N) grows along its border.

        It is what all loops beside the edge agree on, less one deviation of the noise (radians).
        """
        graph = self.graph
        grows = np.zeros((len(graph.steps) // 2, graph.size), dtype=np.float32)
        if not _is_straight(graph):
            return grows
        right, left, below, above = graph.neighbours[:4]
        beyond = np.abs(self.curl) - np.float32(noise) * np.sqrt(self.leverage)
        sure = np.where(beyond > 0.0, np.copysign(beyond, self.curl), np.float32(0.0))
        across, down = grows[:2]
        for agree in (
            partial(_agree, sure, below, above, across),
            partial(_agree, sure, right, left, down),
        ):
            side_by_side(agree, node_pieces(graph))
        if len(grows) > 2:
            # A diagonal crosses a border where both ways around its corners do.
            np.maximum(across, down[right], out=grows[2])
            np.minimum(grows[2], np.maximum(down, across[below]), out=grows[2])
            np.maximum(across, down[graph.neighbours[6]], out=grows[3])
            np.minimum(grows[3], np.maximum(down[above], across[above]), out=grows[3])
        nodes = np.arange(graph.size, dtype=np.uint32)
        for d, row in enumerate(grows):
            row[graph.neighbours[2 * d] == nodes] = 0.0
        return grows

    def _curl_up_to(self, noise: float) -> SingleArray:
        """Curl (N,), at most one deviation of the noise (radians) of either sign."""
        bound = np.sqrt(self.leverage)
        bound *= np.float32(noise)
        curl: SingleArray = np.minimum(self.curl, bound)
        return np.maximum(curl, np.negative(bound, out=bound), out=curl)

    def _over_span(self, values: SingleArray) -> SingleArray:
        """Sum (N,) over the SPAN x SPAN loops to the right of and below each node."""
        for towards in (self.graph.neighbours[0], self.graph.neighbours[2]):
            further, reach = towards, 1
            while reach < SPAN:
                values = values + taken(values, further)
                further, reach = taken(further, further), 2 * reach
        return values


def _noise_of(curl: SingleArray, leverage: SingleArray) -> float:
    """Noise (radians) that leaves loops as far open as these; 0 without any."""
    closed = np.isfinite(curl)
    ratio = np.abs(curl[closed]) / np.sqrt(leverage[closed])
    if not ratio.size:
        return 0.0
    return float(np.median(ratio, overwrite_input=True)) / GAUSSIAN_MEDIAN


def _is_straight(graph: PixelGraph) -> bool:
    """Whether directions begin with right, left, below, above: else there are no loops."""
    return graph.steps[0] == (1, 0)


@njit(cache=True, nogil=True)
def _go_around(right: Any, below: Any, edges: Any, curl: Any, variance: Any, some: Any) -> None:
    offset, drop, gamma, focal, lever, plumb = edges  # each across, then down
    for a in range(some.start, some.stop):
        b, c = right[a], below[a]
        corner = below[b]
        if a in (b, c) or corner in (b, c) or right[c] != corner:
            continue
        # Offsets add up whatever the length of the rays; times a factor each, they would not.
        fewest = min(gamma[a], focal[b], gamma[c], focal[a])
        curl[a] = (offset[a] + drop[b] - offset[c] - drop[a]) * fewest
        variance[a] = lever[a] + plumb[b] + lever[c] + plumb[a]


@njit(cache=True, nogil=True)
def _agree(curl: Any, ahead: Any, back: Any, grows: Any, some: Any) -> None:
    """The least curl of the loops on both sides of each edge, if all have the same sign."""
    for a in range(some.start, some.stop):
        sign = np.sign(curl[a])
        least = abs(curl[a])
        here, there = a, a
        for k in range(AGREEING):
            before = back[there]
            same = before != there and curl[before] * sign > 0.0
            least = min(least, abs(curl[before])) if same else 0.0
            there = before
            if k + 1 < AGREEING:
                behind = ahead[here]
                same = behind != here and curl[behind] * sign > 0.0
                least = min(least, abs(curl[behind])) if same else 0.0
                here = behind
            if least == 0.0:
                break
        grows[a] = least
