"""Intervals: what two normals say about a jump between their pixels, besides the equation.

The planes of two neighbouring pixels meet somewhere between them: at one pixel, at the other, or in
the middle, as the paper takes it. The two ends bound what a continuous surface can do. How far
apart they are tells how exact the equation is and how likely a jump; whether the planes form a
valley or a ridge, and which of them recedes faster, tells where jumps are and what is in front: a
body turns away before it hides something.

All lengths are in pixels: differences of log-distance times the pixels per radian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rayrelief.cameras.view import View
from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.formulation.edge_equations import (
    COINCIDENT,
    EdgeBlock,
    EdgeEquations,
    dot,
    kept,
    node_pieces,
    on_edge_blocks,
    pixels_per_ray,
)
from rayrelief.formulation.lone import without_lone
from rayrelief.formulation.loops import Loops
from rayrelief.formulation.ray_plane import difference_of, log_omega_of
from rayrelief.formulation.steep import less_steep
from rayrelief.graph import PixelGraph, Scalar
from rayrelief.pieces import side_by_side

STEEPEST = 1e3  # slope in pixels per pixel: beyond it a plane is seen edge-on
# Standard deviation of the equation of a continuous surface in pixels: where both normals agree,
# and over the half-width of the interval (docs/ordered.md has the curve).
EXACT, SPREAD = 0.03, 0.2
ALLOWED = math.radians(0.6)  # noise of the normals that these two allow for
AGREE = 2.0  # neighbours whose normals differ by so many deviations of the noise are averaged
LEFT = 0.1  # share of the noise's variance that is left in widths from averaged normals, at most
NOISELESS = 1e-3  # radians: below, there is nothing to average


@dataclass(frozen=True, eq=False, kw_only=True)
class IntervalEquations(EdgeEquations):
    """Two-plane equations with intervals, of edges towards even directions alone (D / 2, N).

    The opposite edge says the same. ``gamma`` is the number of pixels per radian: a residual times
    it is in pixels.

    Attributes
    ----------
    half_width
        Half of the interval in pixels; positive in valleys, where things touch or hide one
        another, negative on ridges, where a body bends. Along a diagonal it counts by the longer
        step: the equation is less exact there, and a jump likelier. Where loops show that a jump
        grows along its border, at least what it grows by from one pixel to the next.
    sigma
        Standard deviation of the equation where the surface is continuous, in pixels.
    lead
        By how many pixels the plane at a recedes further on the way to b than that at b on the way
        to a: where it is positive, a jump has a in front.
    noise
        Standard deviation of the normals in radians about each axis.
    lone
        How many normals were replaced by the mean of those around them (formulation/lone).
    """

    offset: SingleArray  # type: ignore[assignment]  # 6e-8 of a slope is far below its noise
    half_width: SingleArray
    sigma: SingleArray
    lead: SingleArray
    noise: float
    lone: int = 0

    def offset_of(self, d: int, nodes: slice = slice(None)) -> FloatArray:
        """Offset (n,) of the edges of one direction into some nodes; 0 where there is none."""
        offset = self._of_edge(self.offset, d, nodes).astype(np.float64)
        return np.where(self._exists(d, nodes), -offset, 0.0) if d % 2 else offset

    def gamma_of(self, d: int) -> SingleArray:
        """Gamma (N,) of the edges of one direction into all nodes; 0 where there is none."""
        gamma = self._of_edge(self.gamma, d)
        return np.where(self._exists(d), gamma, np.float32(0.0)) if d % 2 else gamma

    def precision(self, d: int) -> FloatArray:
        """(N,): what the squared residual of an edge of weight 1 counts, in one direction."""
        sigma = self._of_edge(self.sigma, d).astype(np.float64)
        precision: FloatArray = super().precision(d) / sigma**2
        return precision

    def _of_edge(
        self, values: npt.NDArray[Scalar], d: int, nodes: slice = slice(None)
    ) -> npt.NDArray[Scalar]:
        """What is known of the edges of one direction, from the node at their even end."""
        row = values[d // 2]
        return np.take(row, self.graph.neighbours[d, nodes]) if d % 2 else row[nodes]

    def _exists(self, d: int, nodes: slice = slice(None)) -> BoolArray:
        here = np.arange(*nodes.indices(self.graph.size), dtype=np.uint32)
        exists: BoolArray = self.graph.neighbours[d, nodes] != here
        return exists


def interval_equations(
    graph: PixelGraph, normals: FloatArray, view: View, *, noise: float | None = None
) -> IntervalEquations:
    """Equations with intervals for normals (H, W, 3) seen through a view, central or orthographic.

    The noise of the normals in radians is estimated unless given.
    """
    whole, parallel = graph, view.origins is not None
    at_nodes, lone = without_lone(graph, graph.gather(normals))
    offset = _offsets(graph, at_nodes, view)
    graph, offset, at_nodes = _possible(graph, offset, at_nodes)
    places = graph.gather(view.origins) if view.origins is not None else _unit_rays(graph, view)
    gamma, half_width, lead, leverage = np.empty((4, *offset.shape), dtype=np.float32)
    _fill_intervals(graph, at_nodes, places, parallel, (gamma, half_width, lead, leverage))
    loops = Loops.of(graph, offset, gamma, leverage)
    noise = loops.noise() if noise is None else noise
    if noise > ALLOWED:
        rays = None if parallel else places
        at_nodes, turned = less_steep(at_nodes, rays, _beyond_allowed(noise))
        if turned:
            found = _offsets(graph, at_nodes, view)
            np.copyto(offset, found, where=np.isfinite(found))  # where just one end is, none may be
            del found
        del rays
    if noise > NOISELESS:
        # The equations keep the normals as they are; a weight that follows the noise of its own
        # normal would prefer flat ones.
        at_nodes = agreeing_average(graph, at_nodes, noise)
        _fill_intervals(graph, at_nodes, places, parallel, (gamma, half_width, lead, leverage))
    del at_nodes, places  # what follows needs the memory
    sigma = _sigma(graph, half_width, leverage, noise)
    grows = loops.growth(noise)
    np.copyto(half_width, grows, where=grows > np.abs(half_width))
    return IntervalEquations(
        graph=graph,
        offset=offset,
        gamma=gamma,
        gamma_weight=gamma,
        unknown="depth" if parallel else "log-depth",
        left_out=0 if graph is whole else int(whole.exists.sum()) - int(graph.exists.sum()),
        half_width=half_width,
        sigma=sigma,
        lead=lead,
        noise=noise,
        lone=lone,
    )


def agreeing_average(graph: PixelGraph, normals: FloatArray, noise: float) -> FloatArray:
    """Normals (N, 3), each averaged with those beside it that the noise alone may tell apart."""
    average = normals.copy()

    def fill(nodes: slice) -> None:
        total, here = average[nodes], np.arange(nodes.start, nodes.stop, dtype=np.uint32)
        for towards in graph.neighbours:
            b = towards[nodes]
            beside = np.take(normals, b, axis=0)
            apart = beside - normals[nodes]
            say = np.exp(-0.5 * dot(apart, apart) / (AGREE * noise) ** 2)
            total += np.where(b != here, say, 0.0)[:, None] * beside
        total /= np.sqrt(dot(total, total))[:, None]

    side_by_side(fill, node_pieces(graph))
    return average


def _offsets(graph: PixelGraph, normals: FloatArray, view: View) -> SingleArray:
    """Offsets (D / 2, N) of normals (N, 3); NaN where they are impossible."""
    parallel = view.origins is not None
    places = graph.gather(view.rays if view.origins is None else view.origins)
    offset: SingleArray = np.empty((len(graph.steps) // 2, graph.size), dtype=np.float32)

    def fill(edge: EdgeBlock) -> None:
        found = difference_of(edge) if parallel else log_omega_of(edge)
        offset[edge.direction // 2, edge.nodes] = found

    on_edge_blocks(fill, graph, normals, places, every=2)
    return offset


def _possible(
    graph: PixelGraph, offset: SingleArray, normals: FloatArray
) -> tuple[PixelGraph, SingleArray, FloatArray]:
    """The graph without the edges whose offset is NaN; the offsets and normals on it."""
    impossible: BoolArray = np.zeros(graph.neighbours.shape, dtype=np.bool_)
    impossible[::2] = np.isnan(offset)
    if not impossible.any():
        return graph, offset, normals
    possible, order = graph.without(impossible)
    return possible, kept(offset, order, possible.exists[::2]), normals[order]


def _fill_intervals(
    graph: PixelGraph,
    normals: FloatArray,
    places: FloatArray,
    parallel: bool,
    out: tuple[SingleArray, SingleArray, SingleArray, SingleArray],
) -> None:
    """Fill in pixels per radian, half-width, lead and leverage (D / 2, N).

    From normals (N, 3), and unit rays (N, 3) or the origins of parallel ones.
    """
    gamma, half_width, lead, leverage = out
    coincident = 0.0 if parallel else COINCIDENT

    def fill(edge: EdgeBlock) -> None:
        step, at = graph.steps[edge.direction], (edge.direction // 2, edge.nodes)
        focal = pixels_per_ray(step, edge.r_b - edge.r_a, coincident)
        length = math.hypot(*step)
        rise_a, rise_b, variance = _rises(edge, parallel)
        ends = focal * (_end(rise_a, parallel) + _end(rise_b, parallel))
        gamma[at] = focal  # 0 where there is no edge
        half_width[at] = 0.5 * length * ends
        lead[at] = focal * (rise_a - rise_b)
        leverage[at] = 0.25 * length**2 * variance

    on_edge_blocks(fill, graph, normals, places, every=2)


def _unit_rays(graph: PixelGraph, view: View) -> FloatArray:
    """Rays (N, 3) of unit length: along them a plane square to its ray recedes nowhere."""
    rays = graph.gather(view.rays)
    own = rays if rays.flags.writeable else None
    unit: FloatArray = np.divide(rays, np.sqrt(dot(rays, rays))[:, None], out=own)
    return unit


def _rises(edge: EdgeBlock, parallel: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """How far the plane at a recedes on the way to b, and that at b on the way to a.

    In units of log-distance, or of depth along parallel rays. Third, the variance of the sum of
    both slopes over that of the normals: a plane with the slope s, seen at the angle i to its
    normal, has (1 + s^2) / cos(i)^2.
    """
    step = edge.r_b - edge.r_a
    length = np.sqrt(dot(step, step))
    rises, variance = [], np.zeros(len(step))
    for normal, ray, sign in ((edge.n_a, edge.r_a, -1.0), (edge.n_b, edge.r_b, 1.0)):
        cosine = normal[:, 2] if parallel else dot(normal, ray)
        cosine = np.where(np.abs(cosine) > 1 / STEEPEST, cosine, -1 / STEEPEST)
        rise = sign * dot(normal, step) / cosine
        slope = np.divide(rise, length, out=np.zeros_like(rise), where=length > 0)
        rises.append(rise)
        variance += (1.0 + slope**2) / cosine**2
    return rises[0], rises[1], variance


def _end(rise: FloatArray, parallel: bool) -> FloatArray:
    """End of the interval where a plane goes all the way to the next pixel, as it recedes.

    The distance to a plane changes by 1 / (1 - rise); one that rises by 1 or more is never met.
    """
    return rise if parallel else -np.log(np.maximum(1.0 - rise, 1 / STEEPEST))


def _beyond_allowed(noise: float) -> float:
    """The noise (radians) that EXACT and SPREAD do not allow for."""
    return math.sqrt(max(noise**2 - ALLOWED**2, 0.0))


def _sigma(
    graph: PixelGraph, half_width: SingleArray, leverage: SingleArray, noise: float
) -> SingleArray:
    """Sigma of every equation, in place of its leverage; noise is taken off the widths in place."""
    excess = _beyond_allowed(noise) ** 2

    def fill(nodes: slice) -> None:
        width, lever = half_width[:, nodes], leverage[:, nodes]
        from_noise = excess * lever.astype(np.float64)
        squared = np.maximum(width.astype(np.float64) ** 2 - LEFT * from_noise, 0.0)
        width[:] = np.copysign(np.sqrt(squared), width)
        lever[:] = np.sqrt(EXACT**2 + SPREAD**2 * squared + from_noise)

    side_by_side(fill, node_pieces(graph))
    return leverage
