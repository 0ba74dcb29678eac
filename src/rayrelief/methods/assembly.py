"""From the current iterate to the next linear system, in two passes over the pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, prange

from rayrelief.conventions import FloatArray
from rayrelief.discontinuity import activation, blended_log_offset, blended_offset
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.reweighting import bilateral_weights
from rayrelief.solvers.base import Laplacian

BLOCK = 2048  # nodes per block; the partial energies of the blocks are added in order


@dataclass(frozen=True)
class EdgeModel:
    """How edges are weighted and blended, in the paper's symbols.

    Attributes
    ----------
    k
        Sharpness of the bilateral weights; 0 weights all edges alike.
    q, rho
        Slope and threshold of the discontinuity activation; q = 0 is replaced by no jumps at all.
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
    energy: float


def edge_terms(equations: EdgeEquations, model: EdgeModel, x: FloatArray) -> EdgeTerms:
    """Evaluate weights, activation, right-hand sides and the energy at the iterate x (N,)."""
    shape = equations.offset.shape
    weights, beta, target = np.empty(shape), np.zeros(shape), np.empty(shape)
    energies = np.empty((x.size + BLOCK - 1) // BLOCK)
    _edge_terms(
        equations.graph.neighbours,
        equations.offset,
        equations.gamma,
        equations.gamma_weight,
        x,
        float(model.k),
        model.jumps,
        float(model.q),
        float(model.rho),
        equations.unknown == "log-depth",
        weights,
        beta,
        target,
        energies,
    )
    return EdgeTerms(weights, beta, target, float(np.cumsum(energies)[-1]) if x.size else 0.0)


def assemble(equations: EdgeEquations, terms: EdgeTerms) -> tuple[Laplacian, FloatArray]:
    """Build the normal equations: the weighted graph Laplacian and its right-hand side."""
    conductance = np.empty_like(terms.weights)
    rhs = np.empty(equations.graph.size)
    _assemble(
        equations.graph.neighbours, equations.gamma, terms.weights, terms.target, conductance, rhs
    )
    return Laplacian(equations.graph, conductance), rhs


@njit(cache=True, parallel=True, error_model="numpy")
def _edge_terms(
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
    weights: Any,
    beta: Any,
    target: Any,
    energies: Any,
) -> None:
    directions, nodes = offset.shape
    for block in prange(len(energies)):
        energy = 0.0
        for a in range(block * BLOCK, min((block + 1) * BLOCK, nodes)):
            for d in range(0, directions, 2):
                there, back = x[a] - x[neighbours[d, a]], x[a] - x[neighbours[d + 1, a]]
                weights[d, a], weights[d + 1, a] = bilateral_weights(
                    gamma_weight[d, a] * there, gamma_weight[d + 1, a] * back, k
                )
            for d in range(directions):
                difference = x[a] - x[neighbours[d, a]]
                smooth = offset[d, a]
                if jumps:
                    b = activation(weights[d, a], q, rho)
                    beta[d, a] = b
                    if logarithmic:
                        smooth = blended_log_offset(difference, smooth, b)
                    else:
                        smooth = blended_offset(difference, smooth, b)
                target[d, a] = smooth
                residual = gamma[d, a] * (difference - smooth)
                energy += weights[d, a] * residual * residual
        energies[block] = energy


@njit(cache=True, parallel=True, error_model="numpy")
def _assemble(
    neighbours: Any, gamma: Any, weights: Any, target: Any, conductance: Any, rhs: Any
) -> None:
    directions, nodes = gamma.shape
    for a in prange(nodes):
        total = 0.0
        for d in range(directions):
            b = neighbours[d, a]
            e = d ^ 1  # the edge a -> b is stored at b
            here = weights[d, a] * gamma[d, a] * gamma[d, a]
            there = weights[e, b] * gamma[e, b] * gamma[e, b]
            if b == a:  # a missing edge: its opposite slot may be a real one
                there = 0.0
            conductance[d, a] = here + there
            total += here * target[d, a] - there * target[e, b]
        rhs[a] = total
