"""What a jump costs, by the interval of its edge and its order: a convex law, and a sharp one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from rayrelief.compiled import njit, prange
from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.errors import InputError
from rayrelief.formulation.edge_equations import EdgeEquations, node_pieces
from rayrelief.formulation.intervals import ALLOWED, IntervalEquations
from rayrelief.laws.base import EdgeTerms, Flux, offsets_of
from rayrelief.laws.bilateral import NODES_PER_BLOCK
from rayrelief.pieces import side_by_side
from rayrelief.solvers.kernels import FUSED

LEAST = 1e-7  # weight of an edge: nothing is cut off altogether
AVERAGED = 4.0  # how many times smaller widths count as narrow where normals are noisy, at most


@dataclass(frozen=True)
class _IntervalLaw:
    """A law of residuals in units of each edge's sigma, the same in both directions of an edge."""

    def terms(
        self, equations: EdgeEquations, x: FloatArray, directions: slice = slice(None)
    ) -> EdgeTerms:
        """Weights over those of an edge that fits, and the equations' own offsets."""
        known = with_intervals(equations)
        return EdgeTerms(self._weights(known, x, directions), offsets_of(known, directions))

    def _weights(self, known: IntervalEquations, x: FloatArray, directions: slice) -> FloatArray:
        first, end, _ = directions.indices(len(known.graph.steps))
        weights = np.ones((end - first, x.size))
        conductance, flux = np.empty((2, x.size), dtype=np.float32), np.empty((2, x.size))
        pieces = list(node_pieces(known.graph))
        for d in range(first, end, 2):
            self.weigh(known, slice(d, d + 2), x, (conductance, flux))
            both = weights[d - first], weights[d - first + 1]
            side_by_side(partial(_over_fitting, known, d, conductance[0], both), pieces)
        return weights

    def from_flat(self) -> Self:
        """Return the same law: it needs no other one to begin with."""
        return self

    def weigh(self, equations: EdgeEquations, pair: slice, x: FloatArray, out: Flux) -> FloatArray:
        """Fill the flux of a pair of opposite directions: one equation serves both."""
        known, (conductance, flux) = with_intervals(equations), out
        energies = np.empty((x.size + NODES_PER_BLOCK - 1) // NODES_PER_BLOCK)
        d = pair.start
        edges = (
            known.graph.neighbours[d],
            known.offset[d // 2],
            known.gamma[d // 2],
            known.half_width[d // 2],
            known.sigma[d // 2],
            known.lead[d // 2],
            x,
        )
        _weighted_edges(edges, self._settings(known.noise), conductance, flux, energies)
        return energies

    def _settings(self, noise: float) -> tuple[bool, float, float, float, float, float]:
        """Return what the kernel reads, for normals with so much noise in radians."""
        raise NotImplementedError


@dataclass(frozen=True)
class OrderedHuber(_IntervalLaw):
    """A convex cost: quadratic near the equation, then linear, and flatter for a likely jump.

    Attributes
    ----------
    corner
        Where the cost turns from quadratic to linear, in standard deviations.
    narrow
        Half-width of the interval, in pixels, up to which a jump costs the full slope; beyond it
        the slope falls with the square of the width. Where normals are noisy, widths are those of
        averaged ones, which bend less, and this is up to ``AVERAGED`` times smaller.
    cheapest
        The least slope, over the full one.
    ridge
        By how much a jump costs more on a ridge than in a valley.
    sure
        Lead, in pixels, from which on a jump in the wrong order costs the full slope.
    """

    corner: float = 3.0
    narrow: float = 0.03
    cheapest: float = 0.003
    ridge: float = 2.0
    sure: float = 1.5

    def cuts(self, terms: EdgeTerms) -> BoolArray:
        """Whether an edge is pulled less than half as strongly as one that fits."""
        cuts: BoolArray = np.less(terms.weights, 0.5)
        return cuts

    def _settings(self, noise: float) -> tuple[bool, float, float, float, float, float]:
        narrow = self.narrow / min(max(noise / ALLOWED, 1.0), AVERAGED)
        return False, self.corner, narrow, self.cheapest, self.ridge, self.sure


@dataclass(frozen=True)
class Redescending(_IntervalLaw):
    """Geman and McClure's cost: what does not fit loses its say.

    Attributes
    ----------
    width
        Residual, in standard deviations, that has lost three quarters of its say.
    """

    width: float

    def cuts(self, terms: EdgeTerms) -> BoolArray:
        """Whether a residual is beyond the width."""
        cuts: BoolArray = np.less(terms.weights, 0.25)
        return cuts

    def _settings(self, noise: float) -> tuple[bool, float, float, float, float, float]:
        return True, self.width, 0.0, 0.0, 0.0, 0.0


def _over_fitting(
    known: IntervalEquations,
    d: int,
    conductance: SingleArray,
    weights: tuple[FloatArray, FloatArray],
    nodes: slice,
) -> None:
    """Weights of the edges from some nodes in direction d, and of their opposites."""
    there, back = weights
    fitting = (known.gamma[d // 2, nodes] / known.sigma[d // 2, nodes]).astype(np.float64) ** 2
    np.divide(conductance[nodes], fitting, out=there[nodes], where=fitting > 0)
    exists = np.flatnonzero(fitting > 0)
    back[known.graph.neighbours[d, nodes][exists]] = there[nodes][exists]


def with_intervals(equations: EdgeEquations) -> IntervalEquations:
    """Equations that have intervals, or an InputError."""
    if not isinstance(equations, IntervalEquations):
        raise InputError(
            f"a law of intervals got {type(equations).__name__}",
            expected="IntervalEquations",
            remedy="Let the method's equations return interval_equations(graph, normals, view)",
        )
    return equations


@njit(inline="always", error_model="numpy")
def _slope(z: float, half_width: float, lead: float, settings: Any) -> Any:
    """Slope of the ordered cost beyond its corner."""
    _, _, narrow, cheapest, ridge, sure = settings
    ratio = narrow / max(abs(half_width), narrow)
    cheap = max(ratio * ratio, cheapest)
    if half_width < 0.0:
        cheap = min(1.0, ridge * cheap)
    if z * lead < 0.0:  # the side that recedes faster comes out in front
        return cheap
    return max(cheap, min(abs(lead) / sure, 1.0))


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def _weighted_edges(edges: Any, settings: Any, conductance: Any, flux: Any, energies: Any) -> None:
    """Conductance and flux of edges, all in one direction; the cost of each block of nodes."""
    neighbours, offset, gamma, half_width, sigma, lead, x = edges
    redescending, corner = settings[0], settings[1]
    nodes = len(x)
    for block in prange(len(energies)):
        lo = block * NODES_PER_BLOCK
        hi = min(lo + NODES_PER_BLOCK, nodes)
        costs = np.empty(hi - lo)
        for i in range(hi - lo):
            a = lo + i
            per_sigma = np.float64(gamma[a]) / np.float64(sigma[a])
            z = (x[a] - x[neighbours[a]] - offset[a]) * per_sigma
            far = abs(z)
            if redescending:
                say = 1.0 / (1.0 + (z / corner) ** 2)
                weight, cost = say * say, 0.5 * z * z * say
            else:
                slope = _slope(z, half_width[a], lead[a], settings)
                weight = slope * corner / max(far, corner)
                cost = slope * (0.5 * z * z if far < corner else corner * (far - 0.5 * corner))
            costs[i] = cost
            c = np.float32(max(weight, LEAST) * per_sigma * per_sigma)
            conductance[0, a], flux[0, a] = c, c * offset[a]
            conductance[1, a], flux[1, a] = 0.0, 0.0
        energy = 0.0
        for i in range(hi - lo):
            energy += costs[i]
        energies[block] = energy
