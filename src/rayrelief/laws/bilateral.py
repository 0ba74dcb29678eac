"""Bilateral: the paper's law of weights, discontinuity activation and right-hand sides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rayrelief.compiled import njit, prange
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.laws.base import EdgeTerms, Flux, with_both_directions
from rayrelief.laws.elementary import exp, log
from rayrelief.solvers.kernels import FUSED, block_range

NODES_PER_BLOCK = 512  # of a block; the partial energies of the blocks are added in order


@dataclass(frozen=True)
class Bilateral:
    """Bilateral weights and, optionally, discontinuity activation, in the paper's symbols.

    Attributes
    ----------
    k
        Sharpness of the bilateral weights; 0 gives all edges the same weight.
    jumps
        Whether discontinuities enter the equations (alpha and beta).
    q, rho
        Slope and threshold of the discontinuity activation.
    """

    k: float
    jumps: bool = False
    q: float = 50.0
    rho: float = 0.25

    def from_flat(self) -> Bilateral:
        """Return the law with alpha = 0, with which the paper starts."""
        return replace(self, jumps=False)

    def terms(
        self, equations: EdgeEquations, x: FloatArray, directions: slice = slice(None)
    ) -> EdgeTerms:
        """Evaluate weights, activation and right-hand sides at the iterate x (N,)."""
        edges = _edges(equations, directions, x)
        shape = edges[0].shape
        weights, beta, target = np.empty(shape), np.zeros(shape), np.empty(shape)
        _edge_terms(edges, self._settings(equations), weights, beta, target)
        return EdgeTerms(weights, target, beta if self.jumps else None)

    def cuts(self, terms: EdgeTerms) -> BoolArray:
        """Whether beta is above one half."""
        cuts: BoolArray = np.greater(self.q * (self.rho - terms.weights), 0)  # Eq. 16
        return cuts

    def weigh(self, equations: EdgeEquations, pair: slice, x: FloatArray, out: Flux) -> FloatArray:
        """Fill the flux of a pair of opposite directions, edge by edge: no terms are stored."""
        energies = np.empty((x.size + NODES_PER_BLOCK - 1) // NODES_PER_BLOCK)
        edges = _edges(equations, pair, x)
        _weighted_edges(edges, self._settings(equations), equations.gamma[pair], *out, energies)
        return energies

    def _settings(self, equations: EdgeEquations) -> tuple[Any, ...]:
        logarithmic = equations.unknown == "log-depth"
        return float(self.k), self.jumps, float(self.q), float(self.rho), logarithmic


def _edges(equations: EdgeEquations, directions: slice, x: FloatArray) -> tuple[Any, ...]:
    """What kernels read of some directions: neighbours, offsets, gamma of the weights; and x."""
    known = with_both_directions(equations)
    arrays = known.graph.neighbours, known.offset, known.gamma_weight
    return *(array[directions] for array in arrays), x


@njit(inline="always", error_model="numpy")
def bilateral_weights(res_b: float, res_opposite: float, k: float) -> Any:
    """w_{b->a} and w_{-b->a} from the residuals gamma (x_a - x_b) of two opposite edges.

    Both are computed without cancellation: a weight of 1e-20 stays 1e-20.
    """
    t = k * (res_opposite * res_opposite - res_b * res_b)
    e = exp(-abs(t))
    large = 1.0 / (1.0 + e)
    small = e * large
    return (large, small) if t > 0 else (small, large)  # Eq. 10


@njit(inline="always", error_model="numpy")
def activation(w: float, q: float, rho: float) -> Any:
    """beta = sigma(q (rho - w)): 1 on a jump, 0 on a continuous surface."""
    return 1.0 / (1.0 + exp(-q * (rho - w)))  # Eq. 16


@njit(inline="always", error_model="numpy")
def blended_log_offset(difference: float, log_omega: float, beta: float) -> Any:
    """log(omega + omega_eps alpha beta) with alpha from the current difference x_a - x_b.

    Putting alpha = (exp(x_a - x_b) - omega) / omega_eps into the equation cancels omega_eps:
    log((1 - beta) omega + beta exp(x_a - x_b)), positive by construction, with no division by n_z.
    """
    # Not log1p(beta * expm1(...)): that ends in log(0) where beta rounds to 1.
    return log_omega + log((1.0 - beta) + beta * exp(difference - log_omega))  # Eq. 15


@njit(inline="always", error_model="numpy")
def blended_offset(difference: float, offset: float, beta: float) -> float:
    """The same for an unknown that is linear in depth: (1 - beta) r + beta (z_a - z_b)."""
    return offset + beta * (difference - offset)


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def _edge_terms(edges: Any, settings: Any, weights: Any, beta: Any, target: Any) -> None:
    directions, nodes = weights.shape
    for block in prange((nodes + NODES_PER_BLOCK - 1) // NODES_PER_BLOCK):
        lo, hi = block_range(block, NODES_PER_BLOCK, 0, nodes)
        differences = np.empty((directions, hi - lo))
        _terms_of_block(edges, settings, (lo, hi, lo), differences, weights, beta, target)


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def _weighted_edges(
    edges: Any, settings: Any, gamma: Any, conductance: Any, flux: Any, energies: Any
) -> None:
    """w gamma^2 and w gamma^2 target of each directed edge; the energy of each block."""
    directions, nodes = gamma.shape
    for block in prange(len(energies)):
        lo, hi = block_range(block, NODES_PER_BLOCK, 0, nodes)
        shape = (directions, hi - lo)
        differences, weights = np.empty(shape), np.empty(shape)
        beta, target = np.empty(shape), np.empty(shape)
        _terms_of_block(edges, settings, (lo, hi, 0), differences, weights, beta, target)
        energy = 0.0
        for d in range(directions):
            difference, g, w = differences[d], gamma[d, lo:hi], weights[d]
            c, f, t, terms = conductance[d, lo:hi], flux[d, lo:hi], target[d], beta[d]
            for i in range(hi - lo):
                c[i] = w[i] * g[i] * g[i]
                residual = difference[i] - t[i]
                terms[i] = c[i] * residual * residual
                f[i] = c[i] * t[i]
            for i in range(hi - lo):
                energy += terms[i]
        energies[block] = energy


@njit(inline="always", error_model="numpy")
def _terms_of_block(
    edges: Any, settings: Any, span: Any, differences: Any, weights: Any, beta: Any, target: Any
) -> None:
    """Differences, weights, activation and right-hand sides of a span of nodes, lo..hi.

    Weights, activation and right-hand sides are written from column ``at`` on. What is gathered is
    gathered first: loops over rows of arrays alone vectorise.
    """
    neighbours, offset, gamma_weight, x = edges
    k, jumps, q, rho, logarithmic = settings
    lo, hi, at = span
    here, nodes = x[lo:hi], hi - lo
    for d in range(len(offset)):
        b, difference = neighbours[d, lo:hi], differences[d]
        for i in range(nodes):
            difference[i] = here[i] - x[b[i]]
    for d in range(0, len(offset), 2):
        there, back = differences[d], differences[d + 1]
        g_there, g_back = gamma_weight[d, lo:hi], gamma_weight[d + 1, lo:hi]
        w_there, w_back = weights[d, at : at + nodes], weights[d + 1, at : at + nodes]
        for i in range(nodes):
            w_there[i], w_back[i] = bilateral_weights(g_there[i] * there[i], g_back[i] * back[i], k)
    for d in range(len(offset)):
        difference, smooth = differences[d], offset[d, lo:hi]
        w, active = weights[d, at : at + nodes], beta[d, at : at + nodes]
        t = target[d, at : at + nodes]
        if not jumps:
            t[:] = smooth
            continue
        for i in range(nodes):
            active[i] = activation(w[i], q, rho)
        if logarithmic:
            for i in range(nodes):
                t[i] = blended_log_offset(difference[i], smooth[i], active[i])
        else:
            for i in range(nodes):
                t[i] = blended_offset(difference[i], smooth[i], active[i])
