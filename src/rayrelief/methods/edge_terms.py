"""Bilateral weights, discontinuity activation and right-hand sides; their normal equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, prange

from rayrelief.conventions import FloatArray
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.methods.elementary import exp, log
from rayrelief.solvers.base import Laplacian
from rayrelief.solvers.kernels import FUSED

BLOCK = 512  # nodes per block; the partial energies of the blocks are added in order


@dataclass(frozen=True)
class EdgeModel:
    """How edges are weighted and blended, in the paper's symbols.

    Attributes
    ----------
    k
        Sharpness of the bilateral weights; 0 weights all edges alike.
    q, rho
        Slope and threshold of the discontinuity activation.
    jumps
        Whether discontinuities enter the equations (alpha and beta).
    """

    k: float
    jumps: bool = False
    q: float = 50.0
    rho: float = 0.25


@dataclass(frozen=True, eq=False)
class EdgeTerms:
    """Weight w, activation beta and right-hand side of all directed edges (D, N) at one iterate."""

    weights: FloatArray
    activation: FloatArray
    target: FloatArray


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """What the next iterate solves: a weighted graph Laplacian and its right-hand side (N,).

    ``energy`` is the weighted sum of squared residuals at the iterate that they were made at.
    """

    system: Laplacian
    rhs: FloatArray
    energy: float


def edge_terms(equations: EdgeEquations, model: EdgeModel, x: FloatArray) -> EdgeTerms:
    """Evaluate weights, activation and right-hand sides at the iterate x (N,), to look at."""
    shape = equations.offset.shape
    terms = EdgeTerms(np.empty(shape), np.zeros(shape), np.empty(shape))
    _edge_terms(
        equations.graph.neighbours,
        equations.offset,
        equations.gamma_weight,
        x,
        *_settings(equations, model),
        terms.weights,
        terms.activation,
        terms.target,
    )
    return terms


def normal_equations(
    equations: EdgeEquations, model: EdgeModel, x: FloatArray, done: NormalEquations | None = None
) -> NormalEquations:
    """Build the normal equations at the iterate x (N,) without storing the terms of edges.

    They take over the arrays of equations that are ``done`` with.
    """
    shape = equations.offset.shape
    conductance = np.empty(shape, dtype=np.float32) if done is None else done.system.conductance
    rhs = np.empty(x.size) if done is None else done.rhs
    rhs[:] = 0.0
    flux = np.empty((2, x.size))
    energies = np.zeros((x.size + BLOCK - 1) // BLOCK)
    for d in range(0, len(conductance), 2):
        pair = slice(d, d + 2)  # opposite directions: what one weight depends on
        neighbours = equations.graph.neighbours[pair]
        _weighted_edges(
            neighbours,
            equations.offset[pair],
            equations.gamma[pair],
            equations.gamma_weight[pair],
            x,
            *_settings(equations, model),
            conductance[pair],
            flux,
            energies,
        )
        _join_opposite(neighbours, conductance[pair], flux, rhs)
    energy = float(np.cumsum(energies)[-1]) if x.size else 0.0  # in order: cumsum has no choice
    return NormalEquations(Laplacian(equations.graph, conductance), rhs, energy)


def _settings(equations: EdgeEquations, model: EdgeModel) -> tuple[Any, ...]:
    logarithmic = equations.unknown == "log-depth"
    return float(model.k), model.jumps, float(model.q), float(model.rho), logarithmic


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
def _edge_terms(
    neighbours: Any,
    offset: Any,
    gamma_weight: Any,
    x: Any,
    k: float,
    jumps: bool,
    q: float,
    rho: float,
    logarithmic: bool,
    weights: Any,
    beta: Any,
    target: Any,
) -> None:
    nodes = len(x)
    for block in prange((nodes + BLOCK - 1) // BLOCK):
        lo = block * BLOCK
        hi = min(lo + BLOCK, nodes)
        differences = np.empty((len(offset), hi - lo))
        settings = (k, jumps, q, rho, logarithmic)
        _terms_of_block(
            neighbours,
            offset,
            gamma_weight,
            x,
            settings,
            lo,
            hi,
            differences,
            weights,
            beta,
            target,
            lo,
        )


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def _weighted_edges(
    neighbours: Any,
    offset: Any,
    gamma: Any,
    gamma_weight: Any,
    x: Any,
    k: float,
    jumps: bool,
    q: float,
    rho: float,
    logarithmic: bool,
    conductance: Any,
    flux: Any,
    energies: Any,
) -> None:
    """w gamma^2 and w gamma^2 target of each directed edge; their energy is added."""
    directions, nodes = offset.shape
    for block in prange(len(energies)):
        lo = block * BLOCK
        hi = min(lo + BLOCK, nodes)
        shape = (directions, hi - lo)
        differences, weights = np.empty(shape), np.empty(shape)
        beta, target = np.empty(shape), np.empty(shape)
        settings = (k, jumps, q, rho, logarithmic)
        _terms_of_block(
            neighbours,
            offset,
            gamma_weight,
            x,
            settings,
            lo,
            hi,
            differences,
            weights,
            beta,
            target,
            0,
        )
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
        energies[block] += energy


@njit(inline="always", error_model="numpy")
def _terms_of_block(
    neighbours: Any,
    offset: Any,
    gamma_weight: Any,
    x: Any,
    settings: Any,
    lo: int,
    hi: int,
    differences: Any,
    weights: Any,
    beta: Any,
    target: Any,
    at: int,
) -> None:
    """Differences, weights, activation and right-hand sides of the nodes lo..hi.

    Weights, activation and right-hand sides are written from column ``at`` on. What is gathered is
    gathered first: loops over rows of arrays alone vectorise.
    """
    k, jumps, q, rho, logarithmic = settings
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


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def _join_opposite(neighbours: Any, conductance: Any, flux: Any, rhs: Any) -> None:
    """Add up the two directions of every edge in place; their flux is added to every node.

    The flux follows the rounded conductance: rounding changes the weight of an equation, and not
    what it says.
    """
    nodes = len(rhs)
    blocks = (nodes + BLOCK - 1) // BLOCK
    towards, c_there, c_back = neighbours[0], conductance[0], conductance[1]
    f_there, f_back = flux[0], flux[1]
    for block in prange(blocks):
        lo, hi = np.uint64(block * BLOCK), np.uint64(min((block + 1) * BLOCK, nodes))
        for a in range(lo, hi):
            b = towards[a]
            if b != a:  # else a missing edge: its opposite slot may be a real one
                exact = np.float64(c_there[a]) + np.float64(c_back[b])
                both = np.float32(exact)
                net = (f_there[a] - f_back[b]) * (both / exact) if exact > 0.0 else 0.0
                c_there[a], c_back[b] = both, both
                f_there[a], f_back[b] = net, -net
    for block in prange(blocks):
        first, end = block * BLOCK, min((block + 1) * BLOCK, nodes)
        total, there, back = rhs[first:end], f_there[first:end], f_back[first:end]
        for i in range(end - first):
            total[i] += there[i] + back[i]
