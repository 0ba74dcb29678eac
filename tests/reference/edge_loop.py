"""The paper's iteration as plain loops over pixels: slow, obvious, and free of the kernels.

Pixels are (v, u). An edge b -> a knows what its equation says, with omega_eps and alpha spelt out
where the library uses the form in which they cancel (equations of Milano et al., ICCV 2025).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp, hypot, log

import numpy as np

Pixel = tuple[int, int]
Values = dict[Pixel, float]

STEPS = {
    4: [(0, 1), (0, -1), (1, 0), (-1, 0)],
    "diagonal": [(1, 1), (-1, -1), (1, -1), (-1, 1)],
}
STEPS[8] = STEPS[4] + STEPS["diagonal"]


@dataclass(frozen=True)
class Edge:
    """Directed edge b -> a: gamma (x_a - x_b) = gamma * target(x_a - x_b, beta)."""

    a: Pixel
    b: Pixel
    opposite: Pixel
    gamma: float
    target: Callable[[float, float], float]


@dataclass(frozen=True)
class Model:
    """k of the weights, q and rho of the activation; without jumps the targets see beta = 0."""

    k: float = 2.0
    jumps: bool = True
    q: float = 50.0
    rho: float = 0.25


def sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x)) if x > -700 else 0.0


def pairs(mask: np.ndarray, connectivity: int | str) -> Iterator[tuple[Pixel, Pixel, Pixel]]:
    """Every a, its neighbour b and the place of the neighbour opposite to b."""
    height, width = mask.shape
    for v in range(height):
        for u in range(width):
            for dv, du in STEPS[connectivity]:
                b = v + dv, u + du
                inside = 0 <= b[0] < height and 0 <= b[1] < width
                if mask[v, u] and inside and mask[b]:
                    yield (v, u), b, (v - dv, u - du)


def ray_plane_edges(
    mask: np.ndarray, normals: np.ndarray, rays: np.ndarray, connectivity: int | str = 4
) -> list[Edge]:
    """The paper's equations; leaves out pairs with omega <= 0."""
    edges = []
    for a, b, opposite in pairs(mask, connectivity):
        n_a, n_b, tau_a, tau_b = normals[a], normals[b], rays[a], rays[b]
        tau_m = (tau_a + tau_b) / 2
        omega = (n_a @ tau_m) * (n_b @ tau_b) / ((n_a @ tau_a) * (n_b @ tau_m))
        omega_eps = n_a[2] / (n_a @ tau_a)
        gamma = pixel_distance(a, b) / np.linalg.norm(tau_b - tau_a) * (n_a @ tau_a)
        if omega > 0:
            edges.append(Edge(a, b, opposite, single(gamma), log_target(omega, omega_eps)))
    return edges


def bini_edges(
    mask: np.ndarray, normals: np.ndarray, rays: np.ndarray, connectivity: int | str = 4
) -> list[Edge]:
    """gamma (x_a - x_b) = delta, from rays."""
    edges = []
    for a, b, opposite in pairs(mask, connectivity):
        f = pixel_distance(a, b) / np.linalg.norm(rays[b] - rays[a])
        gamma = f * (normals[a] @ rays[a])
        delta = f * (normals[a] @ (rays[b] - rays[a]))
        edges.append(Edge(a, b, opposite, single(gamma), constant_target(delta / gamma)))
    return edges


def orthographic_edges(
    mask: np.ndarray, normals: np.ndarray, origins: np.ndarray, connectivity: int | str = 4
) -> list[Edge]:
    """Two planes that meet on the parallel ray half-way, with a jump epsilon along z."""
    edges = []
    for a, b, opposite in pairs(mask, connectivity):
        n_a, n_b, o_a, o_b = normals[a], normals[b], origins[a], origins[b]
        o_m = (o_a + o_b) / 2
        smooth = n_a @ (o_m - o_a) / n_a[2] + n_b @ (o_b - o_m) / n_b[2]
        gamma = pixel_distance(a, b) / np.linalg.norm(o_b - o_a) * n_a[2]
        edges.append(Edge(a, b, opposite, single(gamma), linear_target(smooth)))
    return edges


def log_target(omega: float, omega_eps: float) -> Callable[[float, float], float]:
    def target(difference: float, beta: float) -> float:
        alpha = (exp(difference) - omega) / omega_eps
        return log(omega + omega_eps * alpha * beta)

    return target


def linear_target(smooth: float) -> Callable[[float, float], float]:
    def target(difference: float, beta: float) -> float:
        epsilon = difference - smooth
        return smooth + epsilon * beta

    return target


def constant_target(offset: float) -> Callable[[float, float], float]:
    return lambda difference, beta: offset


def single(factor: float) -> float:
    """Factors of equations are kept in single precision; their exponentials tell."""
    return float(np.float32(factor))


def pixel_distance(a: Pixel, b: Pixel) -> float:
    return hypot(b[0] - a[0], b[1] - a[1])


def weights(edges: list[Edge], x: Values, k: float) -> dict[tuple[Pixel, Pixel], float]:
    """w_{b->a} = sigma_k(res_{-b}^2 - res_b^2); a missing neighbour has no residual."""
    residual = {(e.a, e.b): e.gamma * (x[e.a] - x[e.b]) for e in edges}
    return {
        (e.a, e.b): sigmoid(
            k * (residual.get((e.a, e.opposite), 0.0) ** 2 - residual[e.a, e.b] ** 2)
        )
        for e in edges
    }


def activations(edges: list[Edge], x: Values, model: Model) -> dict[tuple[Pixel, Pixel], float]:
    """beta_{b->a} = sigma(q (rho - w)), 0 throughout in a model without jumps."""
    w = weights(edges, x, model.k)
    return {key: sigmoid(model.q * (model.rho - w[key])) if model.jumps else 0.0 for key in w}


def rows(edges: list[Edge], x: Values, model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, W and b of the weighted least-squares problem at the iterate x; columns as in x."""
    column = {pixel: i for i, pixel in enumerate(x)}
    matrix, right = np.zeros((len(edges), len(x))), np.zeros(len(edges))
    w, beta = weights(edges, x, model.k), activations(edges, x, model)
    for row, e in enumerate(edges):
        matrix[row, column[e.a]] += e.gamma
        matrix[row, column[e.b]] -= e.gamma
        right[row] = e.gamma * e.target(x[e.a] - x[e.b], beta[e.a, e.b])
    return matrix, np.array([w[e.a, e.b] for e in edges]), right


def outer_iteration(edges: list[Edge], x: Values, model: Model) -> Values:
    """Next iterate: the least-squares solution whose components have a mean of zero."""
    matrix, w, right = rows(edges, x, model)
    root = np.sqrt(w)
    solution = np.linalg.lstsq(root[:, None] * matrix, root * right, rcond=None)[0]
    return dict(zip(x, solution.tolist(), strict=True))


def energy(edges: list[Edge], x: Values, model: Model) -> float:
    """(A x - b)^T W (A x - b) at the iterate x itself."""
    matrix, w, right = rows(edges, x, model)
    residual = matrix @ np.array(list(x.values())) - right
    return float(residual @ (w * residual))
