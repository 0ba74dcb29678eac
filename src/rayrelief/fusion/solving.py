"""Solving with known depths: once without them, a shift of the parts, once more with anchors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rayrelief.backends.base import Backend
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import InputError, Outcome
from rayrelief.formulation.intervals import EXACT, IntervalEquations
from rayrelief.fusion.shift import fitted_shift, pixels_per_unit
from rayrelief.graph import PixelGraph
from rayrelief.methods.base import Callback, Iteration, Method, Solution
from rayrelief.prior import DepthPrior, PriorFit
from rayrelief.problem import Anchors, Problem

DEVIATIONS, PIXELS = 3.0, 2.0  # a known depth that is further off than both of these is outvoted
STRONGEST = 1e-3  # sigma of a known depth over that of an equation
WINDOW = 32  # pixels, over which errors are compared with those around them
GAUSSIAN = 1.4826  # standard deviation of a Gaussian over the median of |x|


@dataclass(frozen=True, eq=False)
class Known:
    """Known depths at the nodes of a graph, in terms of the unknown.

    Attributes
    ----------
    nodes
        (M,) nodes whose depth is known.
    values
        (M,) the unknown there.
    sigma
        (M,) standard deviation of the values; None if it is to be estimated.
    """

    nodes: npt.NDArray[np.int64]
    values: FloatArray
    sigma: FloatArray | None


def solve_with_prior(
    problem: Problem,
    prior: DepthPrior,
    method: Method,
    backend: Backend,
    callback: Callback | None = None,
) -> tuple[Solution, PriorFit]:
    """Solve a problem whose depth is known at some pixels, and say how these agree with it."""
    known, history = known_values(problem, prior), list[Iteration]()

    def counted(iteration: Iteration) -> bool:
        history.append(replace(iteration, number=len(history) + 1))
        return callback is not None and bool(callback(history[-1]))

    first = method.solve(problem, backend, counted)
    x = first.x
    if np.isfinite(x).all():
        x = x + fitted_shift(problem, first, known.nodes, known.values)
    pixel = 1.0 / pixels_per_unit(problem)
    residual = known.values - x[known.nodes]
    sigma, extent = _deviation(problem.graph, known, residual, EXACT * pixel)
    most = np.maximum(DEVIATIONS * sigma, PIXELS * pixel)
    outvoted = np.abs(residual) > most
    weights = prior.weight * (_sigma_of_equations(problem) / sigma) ** 2 / extent
    anchors = _anchors(problem.graph, known, np.where(outvoted, 0.0, weights))
    if first.outcome in (Outcome.STOPPED, Outcome.NOT_FINITE) or not anchors.weights.any():
        held = np.zeros(problem.graph.component_count, dtype=np.bool_)
        held[problem.graph.component_of_node[known.nodes]] = True
        solution = replace(first, x=x, anchored=held)
    else:
        held_problem = replace(problem, start=x, anchors=anchors)
        solution = method.solve(held_problem, backend, counted)
    outvoted = np.abs(known.values - solution.x[known.nodes]) > most
    fit = _fit(problem, known, solution.x, outvoted, sigma)
    return replace(solution, history=tuple(history)), fit


def known_values(problem: Problem, prior: DepthPrior) -> Known:
    """Known depths in terms of the unknown of a problem, or an InputError."""
    graph, depth = problem.graph, np.asarray(prior.depth)
    if depth.shape != graph.shape:
        raise InputError(
            f"the known depths have the shape {depth.shape}",
            expected=f"{graph.shape}, the size of the normal map",
            remedy="Scale or crop them to the normal map, with the nearest depth for each pixel",
        )
    if prior.kind not in (None, problem.depth_kind):
        rays = problem.view.rays
        along = rays[..., 2] if prior.kind == "z" else np.linalg.norm(rays, axis=-1)
        depth = np.divide(depth, along, out=np.full(depth.shape, np.nan), where=along > 0)
    values, logarithmic = graph.gather(depth), problem.equations.unknown == "log-depth"
    if logarithmic and bool(np.any(values < 0)):
        raise InputError(
            f"{int(np.sum(values < 0)):,} known depths are negative",
            expected="depths in front of the camera, and NaN or 0 where none is known",
            remedy="Check the sign of the depth",
        )
    if not logarithmic and prior.residual == "log":
        raise InputError(
            "logarithmic residuals of an orthographic depth, whose zero is arbitrary",
            expected="residual='linear'",
            remedy="Leave it out",
        )
    nodes = np.flatnonzero(np.isfinite(values) & ~(logarithmic & (values == 0)))
    if not nodes.size:
        raise InputError(
            "no known depth lies inside the mask",
            expected="at least one",
            remedy="Check that the known depths belong to this normal map",
        )
    found, sigma = values[nodes], None
    if prior.sigma is not None:
        each = np.broadcast_to(np.asarray(prior.sigma, dtype=np.float64), graph.shape)
        sigma = graph.gather(each)[nodes]
        if logarithmic and prior.residual == "linear":
            sigma = sigma / found
    return Known(nodes, np.log(found) if logarithmic else found, sigma)


def _sigma_of_equations(problem: Problem) -> float:
    """Standard deviation of an equation of weight 1, times its gamma."""
    return 1.0 if isinstance(problem.equations, IntervalEquations) else EXACT


def _anchors(graph: PixelGraph, known: Known, weights: FloatArray) -> Anchors:
    every, each = np.zeros(graph.size), np.zeros(graph.size, dtype=np.float32)
    every[known.nodes], each[known.nodes] = known.values, weights
    return Anchors(every, each)


def _deviation(
    graph: PixelGraph, known: Known, residual: FloatArray, least: float
) -> tuple[FloatArray, float]:
    """Sigma (M,) of the known values, and how many pixels share an error."""
    if known.sigma is not None:
        return np.maximum(known.sigma, STRONGEST * least), 1.0
    sigma = max(GAUSSIAN * float(np.median(np.abs(residual))), least)
    return np.full(len(residual), sigma), _extent(graph, known.nodes, residual, sigma)


def _extent(
    graph: PixelGraph, nodes: npt.NDArray[np.int64], residual: FloatArray, sigma: float
) -> float:
    """How many pixels share an error: 1 if it is white, 64 if it is constant in blocks of 8 x 8.

    By so much the squares of the sums over windows exceed the sums of the squares.
    """
    limited = np.clip(residual, -DEVIATIONS * sigma, DEVIATIONS * sigma)
    rows, columns = np.divmod(graph.pixels[nodes], graph.shape[1])
    window = (rows // WINDOW) * graph.shape[1] + columns // WINDOW
    squares = float(np.sum(limited**2))
    together = float(np.sum(np.bincount(window, weights=limited) ** 2))
    return max(together / squares, 1.0) if squares > 0 else 1.0


def _fit(
    problem: Problem, known: Known, x: FloatArray, outvoted: BoolArray, sigma: FloatArray
) -> PriorFit:
    """Residuals in the unit of the depth."""
    logarithmic, graph = problem.equations.unknown == "log-depth", problem.graph
    true = np.exp(known.values) if logarithmic else known.values
    with np.errstate(over="ignore"):
        found = np.exp(x[known.nodes]) if logarithmic else x[known.nodes]
    residual, lost = np.full(graph.size, np.nan), np.zeros(graph.size, dtype=np.bool_)
    residual[known.nodes], lost[known.nodes] = true - found, outvoted
    spread = float(np.median(sigma * true if logarithmic else sigma))
    return PriorFit(graph.scatter(residual), graph.scatter(lost, fill=False), spread)
