"""The paper's formulation: two local planes that meet on the ray between two pixels.

Symbols as in the paper: tau are rays, n normals, ``b_to_a`` order, m the point between a and b.
Eq. numbers are those of Milano et al., ICCV 2025 (docs/equations.md maps them to these functions).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.formulation.edge_equations import EdgeEquations, dot, pixels_per_ray
from rayrelief.graph import PixelGraph

CostFactor = Literal["full", "cosine", "focal"]
MidpointMeasure = Literal["incidence", "normal_z", "both"]


@dataclass(frozen=True)
class AdaptiveMidpoint:
    """lambda_m = sigma_k(f(a, b)): moves the meeting point towards the more inclined side.

    Attributes
    ----------
    measure
        What the two sides are compared by: ``"incidence"`` (n . tau)^2, ``"normal_z"`` n_z^2, or
        ``"both"`` (n_z n . tau)^2.
    slope
        k_m of the sigmoid.
    """

    measure: MidpointMeasure = "incidence"
    slope: float = 1.0

    def __post_init__(self) -> None:
        if not np.isfinite(self.slope):
            raise InputError(
                f"the midpoint slope is {self.slope}",
                expected="a finite number",
                remedy="The paper uses 1, 2 and 3",
            )
        if self.measure not in ("incidence", "normal_z", "both"):
            raise InputError(
                f"the midpoint measure is {self.measure!r}",
                expected="'incidence', 'normal_z' or 'both'",
                remedy="See AdaptiveMidpoint",
            )


def omega(
    n_a: FloatArray, n_b: FloatArray, tau_a: FloatArray, tau_b: FloatArray, tau_m: FloatArray
) -> FloatArray:
    """omega_{b->a}: depth at a over depth at b where the surface is continuous (any ray length)."""
    return (dot(n_a, tau_m) * dot(n_b, tau_b)) / (dot(n_a, tau_a) * dot(n_b, tau_m))  # Eq. 3


def omega_eps(n_a: FloatArray, tau_a: FloatArray) -> FloatArray:
    """omega_eps_a: what a jump along z adds to the depth at a."""
    return n_a[..., 2] / dot(n_a, tau_a)  # Eq. 3


def midpoint_rays(tau_a: FloatArray, tau_b: FloatArray, lambda_m: FloatArray | float) -> FloatArray:
    """tau_m = tau_a + lambda_m (tau_b - tau_a)."""
    return tau_a + np.asarray(lambda_m)[..., None] * (tau_b - tau_a)


def lambda_of(
    midpoint: float | AdaptiveMidpoint,
    n_a: FloatArray,
    n_b: FloatArray,
    tau_a: FloatArray,
    tau_b: FloatArray,
) -> FloatArray:
    """lambda_m of each edge (supplement, Sec. D); lambda_{a->b} = 1 - lambda_{b->a} if adaptive."""
    if not isinstance(midpoint, AdaptiveMidpoint):
        return np.full(n_a.shape[:-1], float(midpoint))
    f_a, f_b = (_inclination(midpoint.measure, n, tau) for n, tau in ((n_a, tau_a), (n_b, tau_b)))
    return 0.5 + 0.5 * np.tanh(0.5 * midpoint.slope * (f_a - f_b))  # sigma_k, without overflow


def central_equations(
    graph: PixelGraph,
    normals: FloatArray,
    rays: FloatArray,
    *,
    midpoint: float | AdaptiveMidpoint = 0.5,
    outlier_threshold: float | None = None,
    outlier_samples: int = 21,
    cost_factor: CostFactor = "full",
    weight_constant: float | None = None,
) -> EdgeEquations:
    """Equations for log-depth along rays (N, 3) with normals (N, 3), both at the graph's nodes.

    Parameters
    ----------
    midpoint
        lambda_m, or a rule for it.
    outlier_threshold
        eps_out: where |log omega| > log(1 + eps_out), or omega <= 0, the best of
        ``outlier_samples`` evenly spaced lambda_m is taken. None leaves outliers as they are.
    cost_factor
        gamma in the cost: ``"full"`` f n.tau, ``"cosine"`` n.tau, ``"focal"`` f, with
        f = |u_b - u_a| / |tau_b - tau_a|.
    weight_constant
        gamma in the bilateral weights: this constant times n.tau; None for the full f n.tau.
    """
    shape = (len(graph.steps), graph.size)
    log_omega, gamma, gamma_weight = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    impossible = np.zeros(shape, dtype=np.bool_)
    for d, a, b in graph.edges():
        n_a, n_b, tau_a, tau_b = normals[a], normals[b], rays[a], rays[b]
        lambda_m = lambda_of(midpoint, n_a, n_b, tau_a, tau_b)
        w = _omega_at(n_a, n_b, tau_a, tau_b, lambda_m)
        if outlier_threshold is not None:
            w = _without_outliers(w, n_a, n_b, tau_a, tau_b, outlier_threshold, outlier_samples)
        possible = w > 0
        impossible[d, a[~possible]] = True
        log_omega[d, a[possible]] = np.log(w[possible])
        focal = pixels_per_ray(graph.steps[d], tau_b - tau_a)
        cosine = dot(n_a, tau_a)
        gamma[d, a], gamma_weight[d, a] = _factors(focal, cosine, cost_factor, weight_constant)
    return EdgeEquations(graph, log_omega, gamma, gamma_weight, "log-depth").without(impossible)


def orthographic_equations(
    graph: PixelGraph,
    normals: FloatArray,
    origins: FloatArray,
    *,
    midpoint: float | AdaptiveMidpoint = 0.5,
    cost_factor: CostFactor = "full",
    weight_constant: float | None = None,
) -> EdgeEquations:
    """Equations for depth along parallel rays that start at origins (N, 3): the two-plane argument.

    z_a - z_b = n_a.(o_m - o_a) / (n_a.d) + n_b.(o_b - o_m) / (n_b.d), d = (0, 0, 1).
    """
    shape = (len(graph.steps), graph.size)
    offset, gamma, gamma_weight = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    impossible = np.zeros(shape, dtype=np.bool_)
    axis = np.array([0.0, 0.0, 1.0])
    for d, a, b in graph.edges():
        n_a, n_b, o_a, o_b = normals[a], normals[b], origins[a], origins[b]
        lambda_m = lambda_of(midpoint, n_a, n_b, np.broadcast_to(axis, n_a.shape), axis)
        o_m = midpoint_rays(o_a, o_b, lambda_m)
        with np.errstate(divide="ignore", invalid="ignore"):
            smooth = dot(n_a, o_m - o_a) / n_a[:, 2] + dot(n_b, o_b - o_m) / n_b[:, 2]
        possible = np.isfinite(smooth) & (n_a[:, 2] * n_b[:, 2] > 0)
        impossible[d, a[~possible]] = True
        offset[d, a[possible]] = smooth[possible]
        focal = np.hypot(*graph.steps[d]) / np.linalg.norm(o_b - o_a, axis=-1)
        cosine = n_a[:, 2]
        gamma[d, a], gamma_weight[d, a] = _factors(focal, cosine, cost_factor, weight_constant)
    return EdgeEquations(graph, offset, gamma, gamma_weight, "depth").without(impossible)


def _factors(
    focal: FloatArray, cosine: FloatArray, cost_factor: CostFactor, weight_constant: float | None
) -> tuple[FloatArray, FloatArray]:
    """gamma of the cost and gamma of the weights (supplement, Sec. B)."""
    full = focal * cosine  # Eq. 13
    in_cost = {"full": full, "cosine": cosine, "focal": focal}[cost_factor]
    return in_cost, full if weight_constant is None else weight_constant * cosine


def _omega_at(
    n_a: FloatArray,
    n_b: FloatArray,
    tau_a: FloatArray,
    tau_b: FloatArray,
    lambda_m: FloatArray | float,
) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):  # grazing normals: not positive, left out
        w = omega(n_a, n_b, tau_a, tau_b, midpoint_rays(tau_a, tau_b, lambda_m))
    return np.where(np.isfinite(w), w, -1.0)


def _without_outliers(
    w: FloatArray,
    n_a: FloatArray,
    n_b: FloatArray,
    tau_a: FloatArray,
    tau_b: FloatArray,
    threshold: float,
    samples: int,
) -> FloatArray:
    """Replace outlying omega by the one closest to 1 over sampled lambda_m (supplement, Sec. H)."""
    cost = _log_distance(w)
    outlier = np.flatnonzero(cost > np.log1p(threshold))
    best, best_cost = w.copy(), cost
    for lambda_m in np.linspace(0.0, 1.0, samples):
        candidate = _omega_at(n_a[outlier], n_b[outlier], tau_a[outlier], tau_b[outlier], lambda_m)
        candidate_cost = _log_distance(candidate)
        better = candidate_cost < best_cost[outlier]
        best[outlier[better]] = candidate[better]
        best_cost[outlier[better]] = candidate_cost[better]
    return best


def _log_distance(w: FloatArray) -> FloatArray:
    """|log omega|, infinite where omega <= 0."""
    distance = np.full(w.shape, np.inf)
    positive = w > 0
    distance[positive] = np.abs(np.log(w[positive]))
    return distance


def _inclination(measure: MidpointMeasure, n: FloatArray, tau: FloatArray) -> FloatArray:
    if measure == "incidence":
        return dot(n, tau) ** 2
    if measure == "normal_z":
        return n[..., 2] ** 2
    return (n[..., 2] * dot(n, tau)) ** 2
