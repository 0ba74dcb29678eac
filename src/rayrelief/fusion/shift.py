"""The shift that known depths ask of a surface: constant inside its parts, free at its jumps.

It minimises |misfit| over known depths plus |tear| over edges, an edge that the method trusts less,
or whose equation is less exact, costing less. So parts move as wholes, and of known depths that
contradict each other inside a part the majority wins. Where most depths are known, a bend of less
than a pixel is left to the run that follows, which weighs their noise.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from rayrelief.components import label_medians
from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.formulation.edge_equations import both_ways
from rayrelief.formulation.intervals import IntervalEquations
from rayrelief.formulation.loops import GAUSSIAN_MEDIAN
from rayrelief.graph import PixelGraph
from rayrelief.methods.base import Solution
from rayrelief.operators import Operator
from rayrelief.problem import Problem
from rayrelief.solvers.multigrid import Multigrid

REACH = 8  # pixels around a known depth that share what it asks for: one pixel is torn off easily
SOLVES = 12
WHOLE = 0.5  # an edge that is trusted by more than so much, over the median one, is inside a part
GAUSSIAN = 1.0 / GAUSSIAN_MEDIAN  # standard deviation of a Gaussian over the median of |x|
BLOCK = 8  # pixels, over which known depths are averaged to see how noisy they are
NOISE = 1.0  # pixels by which the means of blocks are off where many known depths count as noisy
FAR = 6.0  # median deviations: what is asked for beyond these, and beyond the relief, is an error
TOGETHER = 0.1  # pixels: an edge that is torn by less is inside a part of the shift
STRAIGHT = 1.0  # pixels: a part that is bent by less is not bent, where most depths are known


@dataclass(frozen=True)
class _Costs:
    """What a shift costs.

    Attributes
    ----------
    say
        What misfitting a pixel costs, over tearing an edge inside a part.
    rounded
        Pixels up to which misfits and tears cost quadratically: a bend of so much at every edge is
        cheaper than a tear, and over a hundred pixels it is a hundred times as large.
    least
        Trust in any edge, over the median one.
    power
        With which power of how exact an edge is it is trusted.
    """

    say: float
    rounded: float
    least: float
    power: float

    def towards(self, other: Self, share: float) -> _Costs:
        """Between these and others."""
        both = zip(astuple(self), astuple(other), strict=True)
        return _Costs(*(own + (its - own) * share for own, its in both))


# Where few depths are known, each speaks for many pixels.
FEW = _Costs(say=0.3, rounded=0.01, least=0.01, power=1.0)
# Where most are, a whole region has a say. It is to follow noise without tearing, and most of all
# not where edges are wide; depths without noise may tear those, but hardly any exact one.
NOISY = _Costs(say=0.03, rounded=0.1, least=0.04, power=0.0)
QUIET = _Costs(say=0.1, rounded=0.01, least=0.001, power=2.0)


def fitted_shift(
    problem: Problem, solution: Solution, nodes: npt.NDArray[np.int64], values: FloatArray
) -> FloatArray:
    """Shift (N,) of a solution towards known values (M,) of the unknown at some nodes (M,)."""
    graph, trust = problem.graph, _trust(problem.graph, solution)
    asked = np.full(graph.size, np.nan)
    asked[nodes] = values - solution.x[nodes]
    asked[nodes[_is_far(graph, solution.x, nodes, asked[nodes])]] = np.nan
    if np.isnan(asked).all():
        return np.zeros(graph.size)
    median = float(np.nanmedian(asked))
    exact = _exactness(problem)
    per_pixel = pixels_per_unit(problem)
    told = np.flatnonzero(np.isfinite(asked))
    blocks = Blocks.of(graph, told)
    noise = blocks.noise(blocks.means(asked[told])) * per_pixel
    quiet = 1.0 / (1.0 + (noise / NOISE) ** 4)
    asked = _spread(graph, trust * exact > WHOLE, asked)
    held = np.isfinite(asked)
    carried = max(1.0 - len(nodes) / np.count_nonzero(held), 0.0)
    costs = NOISY.towards(QUIET, quiet).towards(FEW, carried)
    say, rounded = costs.say, costs.rounded
    trust *= exact**costs.power
    np.maximum(trust, np.float32(costs.least), out=trust, where=graph.exists)
    target = np.where(held, asked, 0.0)
    shift, solver = np.full(graph.size, median), Multigrid()
    conductance = trust.copy()  # least squares to begin with
    pull = np.where(held, say, 0.0).astype(np.float32)
    for _ in range(SOLVES):
        operator = Operator(graph, conductance, pull)
        shift = solver.prepare(operator).solve(pull.astype(np.float64) * target, shift).x
        misfit = np.abs(shift - target) * per_pixel
        pull = np.where(held, say / np.maximum(misfit, rounded), 0.0).astype(np.float32)
        for d, there in enumerate(graph.neighbours):
            tear = np.abs(shift - np.take(shift, there)) * per_pixel
            conductance[d] = trust[d] / np.maximum(tear, rounded)
    # Between depths that are few the bend is all there is.
    return shift if carried > 0.5 else _straightened(graph, shift, per_pixel)


def _straightened(graph: PixelGraph, shift: FloatArray, per_pixel: float) -> FloatArray:
    """Shift (N,) that is constant in parts which it bends by less than a pixel."""
    together = [
        np.abs(shift - np.take(shift, there)) * per_pixel < TOGETHER
        for there in graph.neighbours[::2]
    ]
    part = graph.parts(np.stack(together))
    middle = label_medians(shift, part)
    bend = np.zeros(len(middle))
    np.maximum.at(bend, part, np.abs(shift - middle[part]) * per_pixel)
    return np.where(bend[part] < STRAIGHT, middle[part], shift)


def pixels_per_unit(problem: Problem) -> float:
    """How many pixels of a typical edge one unit of the unknown is."""
    gamma = np.abs(problem.equations.gamma_weight)  # without the confidence
    gamma = gamma[gamma > 0]
    return float(np.median(gamma)) if gamma.size else 1.0


def _trust(graph: PixelGraph, solution: Solution) -> SingleArray:
    """Weight (D, N) of every edge, of its two directions the smaller, over the median weight."""
    exists, weights = graph.exists, solution.weights
    trust = exists.astype(np.float32)
    if weights is None or not exists.any():
        return trust
    for d in range(len(trust)):
        trust[d] *= np.minimum(*both_ways(graph, weights, d))
    median = np.median(trust[exists])
    return trust / median if median > 0.0 else exists.astype(np.float32)


def _exactness(problem: Problem) -> SingleArray:
    """How exact the equation of each edge (D, N) is, over the median of all, at most 1.

    A wide edge may be pixels off, however well it fits. Only intervals tell.
    """
    graph, equations = problem.graph, problem.equations
    exact = np.ones(graph.neighbours.shape, dtype=np.float32)
    if isinstance(equations, IntervalEquations) and graph.exists.any():
        for d in range(len(exact)):
            exact[d] = np.sqrt(equations.precision(d))
        exact /= np.median(exact[graph.exists])
        np.minimum(exact, np.float32(1.0), out=exact)
    return exact


def _is_far(
    graph: PixelGraph, x: FloatArray, nodes: npt.NDArray[np.int64], asked: FloatArray
) -> BoolArray:
    """Which shifts (M,) at some nodes (M,) most others of the same component make impossible.

    They differ from the median by more than the relief of the component, and by far more than the
    others do.
    """
    component, far = graph.component_of_node[nodes], np.zeros(len(nodes), dtype=np.bool_)
    order = np.argsort(component, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(component[order])) + 1):
        lo, hi = graph.starts[component[own[0]]], graph.starts[component[own[0]] + 1]
        relief = 4.0 * float(np.std(x[lo:hi]))
        off = np.abs(asked[own] - np.median(asked[own]))
        far[own] = off > max(relief, FAR * float(np.median(off)))
    return far


@dataclass(frozen=True, eq=False)
class Blocks:
    """Squares of pixels of each component, over which values are averaged.

    Attributes
    ----------
    member
        (M,) the block of each of some nodes.
    component
        (B,) of each block.
    beside
        (P, 2) pairs of blocks of a component that share a side.
    """

    member: npt.NDArray[np.int64]
    component: npt.NDArray[np.int64]
    beside: npt.NDArray[np.int64]

    @classmethod
    def of(cls, graph: PixelGraph, nodes: npt.NDArray[np.int64]) -> Self:
        """Blocks of some nodes (M,)."""
        rows, columns = np.divmod(graph.pixels[nodes].astype(np.int64), graph.shape[1])
        height, width = (-(-side // BLOCK) + 1 for side in graph.shape)  # none beside the last ones
        component = graph.component_of_node[nodes].astype(np.int64)
        place = (component * height + rows // BLOCK) * width + columns // BLOCK
        place, member = np.unique(place, return_inverse=True)
        pairs = []
        for step in (1, width):
            there = np.minimum(np.searchsorted(place, place + step), len(place) - 1)
            here = np.flatnonzero(place[there] == place + step)
            pairs.append(np.stack((here, there[here]), axis=-1))
        return cls(member, place // (height * width), np.concatenate(pairs))

    def means(self, values: FloatArray) -> FloatArray:
        """Mean (B,) of the values (M,) in each block."""
        means: FloatArray = np.bincount(self.member, weights=values) / np.bincount(self.member)
        return means

    def noise(self, means: FloatArray) -> float:
        """Deviation of means (B,) that those of blocks beside each other tell.

        Most blocks stand beside others of the same part. What is left of a difference between two
        surfaces is noise that extends, as that of a coarse depth; that of each pixel for itself is
        averaged out, as it is over parts.
        """
        first, second = self.beside.T
        apart = np.abs(means[first] - means[second])
        return GAUSSIAN * float(np.median(apart)) / math.sqrt(2.0) if apart.size else 0.0


def _spread(graph: PixelGraph, inside: BoolArray, asked: FloatArray) -> FloatArray:
    """Shifts asked for (N,), NaN where none, carried on for REACH edges (D, N) inside parts."""
    asked = asked.copy()
    for _ in range(REACH):
        before = asked.copy()
        for d, there in enumerate(graph.neighbours):
            new = np.isnan(asked) & inside[d]
            asked[new] = before[there[new]]
    return asked
