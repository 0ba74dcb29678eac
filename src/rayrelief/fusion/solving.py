"""Solving with known depths: a run without them, then shifts of the parts and runs with anchors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.backends.base import Backend
from rayrelief.backends.threads import kernel_threads
from rayrelief.checks import require
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import InputError, Outcome, in_number
from rayrelief.formulation.intervals import EXACT, IntervalEquations
from rayrelief.fusion.alone import are_several, joined, keep_shape, placed
from rayrelief.fusion.comparison import agreement, misfit, slope
from rayrelief.fusion.shift import GAUSSIAN, fitted_shift, pixels_per_unit
from rayrelief.graph import PixelGraph
from rayrelief.methods.base import Callback, Method, Solution, numbered_through
from rayrelief.methods.ordered.recipe import Ordered
from rayrelief.methods.recipes import RayPlane
from rayrelief.prior import DepthPrior, PriorFit
from rayrelief.problem import Anchors, Problem

DEVIATIONS, PIXELS = 3.0, 2.0  # a known depth that is further off than both of these is outvoted
FEW = 0.01  # of the pixels
STRONGEST, WEAKEST = 1e-3, 1e6  # sigma of an anchor over that of an equation
WINDOW = 32  # pixels, over which errors are compared with those around them


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
    graph, (counted, history) = problem.graph, numbered_through(callback)
    require(
        any(0 in step for step in graph.steps),
        "known depths with connectivity='diagonal', whose pixels fall into two sets like the "
        "colours of a chessboard",
        "known depths that place all of a component",
        "Use connectivity 4 or 8",
    )
    known = known_values(problem, prior)
    several = are_several(graph, known.nodes)
    told = known.nodes.size if several.any() else 1
    stages, depth = stages_of(prior, method, told, graph.size), None
    kept = keep_shape(graph, several)
    before = int(kept.any() and stages[0] is not method)  # runs that the stages know nothing of
    stages = (method,) * before + stages
    for number, stage in enumerate(stages):
        own = problem if stage is method else _problem_for(problem, stage)
        run = _Run(own, prior, depth, backend)
        solution = stage.solve(run.problem, backend, counted)
        if number == 0:
            free = solution if kept.any() else None
            compared = run.compared(solution.x)
        if solution.outcome is Outcome.STOPPED or number + 1 == len(stages):
            break
        if number >= before and np.isfinite(solution.x).all():
            with np.errstate(all="ignore"):  # absurd depths leave the range of numbers
                found = own.depth(solution.x + run.shift(solution))
                depth = found if np.isfinite(own.unknown(found)).all() else depth
    if own is not problem:  # stopped before its turn came
        solution = Solution(problem.unknown(own.depth(solution.x)), solution.outcome)
        run = _Run(problem, prior, None, backend)
    finite = bool(np.isfinite(solution.x).all())
    if run.problem.anchors is None and several.any() and finite:
        shift = np.where(several[graph.component_of_node], run.shift(solution), 0.0)
        solution = replace(solution, x=solution.x + shift, anchored=several)
    if number and free is not None:
        solution = joined(graph, kept, solution, free)
    if finite:
        solution = placed(graph, solution, run.known.nodes, run.known.values)
    fit = replace(run.fit(solution.x), **compared)
    heeded = known.nodes[~graph.gather(fit.outvoted)[known.nodes]]
    return replace(solution.known_at(heeded), history=tuple(history)), fit


def stages_of(prior: DepthPrior, method: Method, known: int, pixels: int) -> tuple[Method, ...]:
    """Methods that run with a depth known at some of the pixels; the last is the method itself.

    Many known depths place the parts that the method finds. Where there are few, most parts have
    none: they follow others, and which ones Ordered and RayPlane see differently. So both take
    turns before the method runs, each from what the known depths left of the last surface. A single
    one tells nothing but a constant.
    """
    if prior.weight == 0 or known < 2:
        return (method,)
    if known >= FEW * pixels:
        return method, method
    ordered = method if isinstance(method, Ordered) else Ordered()
    other = method if isinstance(method, RayPlane) else RayPlane()
    return ordered, other, ordered, method


def _problem_for(problem: Problem, stage: Method) -> Problem:
    """Return the same problem in the equations of another method."""
    recipe: Any = stage
    made = replace(problem, equations_for=recipe.equations).connected(recipe.connectivity)
    if problem.start is None:
        return made
    return replace(made, start=made.unknown(problem.depth(problem.start)))


class _Run:
    """One method with the known depths: as anchors, where a surface has been placed before."""

    def __init__(
        self, problem: Problem, prior: DepthPrior, depth: FloatArray | None, backend: Backend
    ) -> None:
        self.known, self.problem = known_values(problem, prior), problem
        self._threads: int | None = getattr(backend, "threads", None)
        self._pixel = 1.0 / pixels_per_unit(problem)
        self._sigma: FloatArray | None = None
        if depth is not None:
            x = problem.unknown(depth)
            residual = self.known.values - x[self.known.nodes]
            sigma, extent = self._deviation(residual)
            weights = self._weights(sigma * math.sqrt(extent) / math.sqrt(prior.weight))
            weights[self._is_outvoted(residual, sigma)] = 0.0
            anchors = _anchors(problem.graph, self.known, weights)
            self._sigma = sigma
            self.problem = replace(
                problem, start=x, anchors=anchors if anchors.weights.any() else None
            )

    def shift(self, solution: Solution) -> FloatArray:
        """What the known depths ask of a solution, (N,)."""
        with kernel_threads(self._threads, self.problem.graph.size):
            return fitted_shift(self.problem, solution, self.known.nodes, self.known.values)

    def compared(self, x: FloatArray) -> dict[str, Any]:
        """How the known depths compare with a surface x (N,) that knows nothing of them."""
        graph, given = self.problem.graph, (self.known.nodes, self.known.values, x)
        is_few = len(given[0]) < FEW * graph.size  # the noise of many may exceed the relief
        return {
            "agreement": agreement(graph, *given),
            "slope": slope(graph, *given),
            "misfit": misfit(graph, *given, self._pixel) if is_few else math.nan,
        }

    def fit(self, x: FloatArray) -> PriorFit:
        """How the known depths agree with x (N,)."""
        residual = self.known.values - x[self.known.nodes]
        sigma = self._deviation(residual)[0] if self._sigma is None else self._sigma
        return _fit(self.problem, self.known, x, self._is_outvoted(residual, sigma), sigma)

    def _weights(self, sigma: FloatArray) -> FloatArray:
        """Weights (M,) of anchors with a sigma (M,), within what single precision holds."""
        least = EXACT * self._pixel
        sigma = np.clip(sigma, STRONGEST * least, WEAKEST * least)
        return (_sigma_of_equations(self.problem) / sigma) ** 2

    def _deviation(self, residual: FloatArray) -> tuple[FloatArray, float]:
        return _deviation(self.problem.graph, self.known, residual, EXACT * self._pixel)

    def _is_outvoted(self, residual: FloatArray, sigma: FloatArray) -> BoolArray:
        most = np.maximum(DEVIATIONS * sigma, PIXELS * self._pixel)
        outvoted: BoolArray = np.abs(residual) > most
        return outvoted


def known_values(problem: Problem, prior: DepthPrior) -> Known:
    """Known depths in terms of the unknown of a problem, or an InputError."""
    graph, depth = problem.graph, np.asarray(prior.depth)
    if depth.shape != graph.shape:
        raise InputError(
            f"the known depths have the shape {depth.shape}",
            expected=f"{graph.shape}, the size of the normal map",
            remedy="Scale or crop them to the normal map, with the nearest depth for each pixel",
        )
    along = np.ones(graph.shape)  # of the prior's depth, along a ray of which ours is 1
    if prior.kind not in (None, problem.depth_kind):
        rays = problem.view.rays
        along = rays[..., 2] if prior.kind == "z" else np.linalg.norm(rays, axis=-1)
        depth = np.divide(depth, along, out=np.full(depth.shape, np.nan), where=along != 0)
    values, logarithmic = graph.gather(depth), problem.equations.unknown == "log-depth"
    if logarithmic and bool(np.any(values < 0)):
        raise InputError(
            in_number(int(np.sum(values < 0)), "known depth is", "known depths are") + " negative",
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
            "the known depths inside the mask are 0, which stands for one that is not known"
            if np.any(values == 0)
            else "no known depth lies inside the mask",
            expected="at least one" + " above 0" * logarithmic,
            remedy="Check that the known depths belong to this normal map",
        )
    found, sigma = values[nodes], None
    if prior.sigma is not None:
        each = np.broadcast_to(np.asarray(prior.sigma, dtype=np.float64), graph.shape)
        sigma = graph.gather(each)[nodes]
        if prior.residual == "linear" or not logarithmic:
            sigma = sigma / np.abs(graph.gather(along)[nodes])
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
        return known.sigma, 1.0
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
