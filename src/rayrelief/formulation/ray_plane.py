"""The paper's formulation: two local planes that meet on the ray between two pixels.

Symbols as in the paper: tau are rays, n normals, ``b_to_a`` order, m the point between a and b.
Eq. numbers are those of Milano et al., ICCV 2025 (docs/equations.md maps them to these functions).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from rayrelief.cameras.view import View
from rayrelief.checks import Rule, check_settings, is_number, one_of
from rayrelief.conventions import FloatArray, SingleArray
from rayrelief.errors import InputError
from rayrelief.formulation.edge_equations import (
    EdgeBlock,
    EdgeEquations,
    dot,
    empty_factors,
    empty_terms,
    on_edge_blocks,
    pixels_per_ray,
)
from rayrelief.graph import PixelGraph
from rayrelief.preprocess import setting_in_words

CostFactor = Literal["full", "cosine", "focal"]
MidpointMeasure = Literal["incidence", "normal_z", "both"]
AXIS = np.array([0.0, 0.0, 1.0])  # direction of parallel rays


@dataclass(frozen=True)
class AdaptiveMidpoint:
    """lambda_m = sigma_k(f(a, b)): moves the meeting point towards the more inclined side.

    Attributes
    ----------
    measure
        How the two sides are compared: ``"incidence"`` (n . tau)^2, ``"normal_z"`` n_z^2, or
        ``"both"`` (n_z n . tau)^2.
    slope
        k_m of the sigmoid.
    """

    measure: MidpointMeasure = "incidence"
    slope: float = 1.0

    def __post_init__(self) -> None:
        of = "the midpoint"
        check_settings(
            self,
            slope=Rule(is_number, "a finite number", "The paper uses 1, 2 and 3", f"{of} slope"),
            measure=one_of(get_args(MidpointMeasure), "See AdaptiveMidpoint", f"{of} measure"),
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


def two_plane_equations(
    graph: PixelGraph,
    normals: FloatArray,
    view: View,
    *,
    outlier_threshold: float | None = None,
    outlier_samples: int = 21,
    **options: Any,
) -> EdgeEquations:
    """Equations for normals (H, W, 3) seen through a view, central or orthographic; options below.

    Without any they are those of the paper.
    """
    nodes = graph.gather(normals)
    if view.origins is None:
        return central_equations(
            graph,
            nodes,
            graph.gather(view.rays),
            outlier_threshold=outlier_threshold,
            outlier_samples=outlier_samples,
            **options,
        )
    if outlier_threshold is not None:
        raise InputError(
            "outlier_threshold was given for an orthographic camera",
            expected="a central camera: it bounds the ratio of two depths",
            remedy=f"Give {setting_in_words('outlier_ratio', 0.75)} instead",
        )
    return orthographic_equations(graph, nodes, graph.gather(view.origins), **options)


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
    log_omega, gamma = empty_terms(graph), empty_factors(graph)
    gamma_weight = _room_for_weights(gamma, cost_factor, weight_constant)

    def fill(edge: EdgeBlock) -> None:
        at = edge.direction, edge.nodes
        log_omega[at] = log_omega_of(edge, midpoint, outlier_threshold, outlier_samples)
        focal = pixels_per_ray(graph.steps[edge.direction], edge.r_b - edge.r_a)
        cosine = np.where(edge.exists, dot(edge.n_a, edge.r_a), 0.0)
        gamma_weight[at] = _weight_factor(focal, cosine, weight_constant)
        gamma[at] = _cost_factor(focal, cosine, cost_factor)

    on_edge_blocks(fill, graph, normals, rays)
    equations = EdgeEquations(graph, log_omega, gamma, gamma_weight, "log-depth")
    return equations.without_impossible()


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
    offset, gamma = empty_terms(graph), empty_factors(graph)
    gamma_weight = _room_for_weights(gamma, cost_factor, weight_constant)

    def fill(edge: EdgeBlock) -> None:
        at = edge.direction, edge.nodes
        offset[at] = difference_of(edge, midpoint)
        focal = pixels_per_ray(graph.steps[edge.direction], edge.r_b - edge.r_a, coincident=0.0)
        cosine = np.where(edge.exists, edge.n_a[:, 2], 0.0)
        gamma_weight[at] = _weight_factor(focal, cosine, weight_constant)
        gamma[at] = _cost_factor(focal, cosine, cost_factor)

    on_edge_blocks(fill, graph, normals, origins)
    equations = EdgeEquations(graph, offset, gamma, gamma_weight, "depth")
    return equations.without_impossible()


def log_omega_of(
    edge: EdgeBlock,
    midpoint: float | AdaptiveMidpoint = 0.5,
    outlier_threshold: float | None = None,
    outlier_samples: int = 21,
) -> FloatArray:
    """Offsets (n,) of central edges; NaN where impossible, 0 where there is no edge."""
    ends = edge.n_a, edge.n_b, edge.r_a, edge.r_b
    w = _omega_at(*ends, lambda_of(midpoint, *ends))
    if outlier_threshold is not None:
        w = _without_outliers(w, *ends, outlier_threshold, outlier_samples)
    return np.where(edge.exists, _log_or_nan(w), 0.0)


def difference_of(edge: EdgeBlock, midpoint: float | AdaptiveMidpoint = 0.5) -> FloatArray:
    """Offsets (n,) of edges between parallel rays; NaN where impossible, 0 where there is none."""
    n_a, n_b, o_a, o_b = edge.n_a, edge.n_b, edge.r_a, edge.r_b
    o_m = midpoint_rays(o_a, o_b, lambda_of(midpoint, n_a, n_b, AXIS, AXIS))
    with np.errstate(divide="ignore", invalid="ignore"):
        smooth = dot(n_a, o_m - o_a) / n_a[:, 2] + dot(n_b, o_b - o_m) / n_b[:, 2]
    possible = np.isfinite(smooth) & (n_a[:, 2] * n_b[:, 2] > 0)
    return np.where(edge.exists, np.where(possible, smooth, np.nan), 0.0)


def _room_for_weights(
    gamma: SingleArray, cost_factor: CostFactor, weight_constant: float | None
) -> SingleArray:
    """Gamma itself where the weights use the same, else an array like it."""
    same = cost_factor == "full" and weight_constant is None
    return gamma if same else np.empty_like(gamma)


def _cost_factor(focal: FloatArray, cosine: FloatArray, cost_factor: CostFactor) -> FloatArray:
    """gamma of the cost (supplement, Sec. B)."""
    if cost_factor == "full":
        return focal * cosine  # Eq. 13
    return cosine if cost_factor == "cosine" else focal


def _weight_factor(
    focal: FloatArray, cosine: FloatArray, weight_constant: float | None
) -> FloatArray:
    """gamma of the weights (supplement, Sec. B)."""
    return cosine * (focal if weight_constant is None else weight_constant)


def _omega_at(
    n_a: FloatArray,
    n_b: FloatArray,
    tau_a: FloatArray,
    tau_b: FloatArray,
    lambda_m: FloatArray | float,
) -> FloatArray:
    with np.errstate(all="ignore"):  # grazing normals: not positive, left out
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


def _log_or_nan(w: FloatArray) -> FloatArray:
    """Log omega; NaN, which marks an impossible edge, where omega <= 0."""
    log: FloatArray = np.full_like(w, np.nan)
    np.log(w, out=log, where=w > 0)
    return log


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
