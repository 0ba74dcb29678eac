"""Auxiliary edges: every pixel is a small plane of its own, joined to its neighbours at corners.

In the spirit of Kim et al., CVPR 2024, built from its outline alone. Pixels that meet in a corner
each have a depth of their own there; auxiliary edges bridge these depths, and what is left across
one of them is a jump. Here the sides of a pixel are exact: its normal ties the depths at its
corners to that at its centre, which alone stays unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rayrelief.cameras.view import View
from rayrelief.conventions import FloatArray
from rayrelief.formulation.edge_equations import (
    COINCIDENT,
    EdgeBlock,
    EdgeEquations,
    Unknown,
    dot,
    empty_factors,
    empty_terms,
    on_edge_blocks,
    pixels_per_ray,
)
from rayrelief.formulation.ray_plane import AXIS
from rayrelief.graph import PixelGraph


def auxiliary_edge_equations(graph: PixelGraph, normals: FloatArray, view: View) -> EdgeEquations:
    """Equations for normals (H, W, 3) seen through a view, central or orthographic.

    Straight neighbours share two corners, and the mean of both is their equation; diagonal ones
    share one. Where a corner has no ray, the ray midway between the two pixels stands in for it.
    """
    parallel = view.origins is not None
    points = view.rays if view.origins is None else view.origins
    corners = corner_rays(points, wraps=view.wraps).reshape(-1, 3)
    rise = rise_of_depth if parallel else rise_of_log_depth
    offset, gamma = empty_terms(graph), empty_factors(graph)

    def fill(edge: EdgeBlock) -> None:
        step, at = graph.steps[edge.direction], (edge.direction, edge.nodes)
        v, u = np.divmod(graph.pixels[edge.nodes].astype(np.int64), graph.shape[1])
        midway = 0.5 * (edge.r_a + edge.r_b)
        total, count = np.zeros(len(v)), np.zeros(len(v))
        for i, j in shared_corners(step):
            corner = np.take(corners, (v + j) * (graph.shape[1] + 1) + (u + i), axis=0)
            corner = np.where(np.isfinite(corner), corner, midway)
            difference = rise(edge.n_b, edge.r_b, corner) - rise(edge.n_a, edge.r_a, corner)
            possible = np.isfinite(difference)
            np.add(total, difference, out=total, where=possible)
            count += possible
        with np.errstate(invalid="ignore"):  # no corner where both planes are seen: left out
            offset[at] = np.where(edge.exists, total / count, 0.0)
        focal = pixels_per_ray(step, edge.r_b - edge.r_a, 0.0 if parallel else COINCIDENT)
        gamma[at] = focal * dot(edge.n_a, AXIS if parallel else edge.r_a)  # 0 without an edge

    on_edge_blocks(fill, graph, graph.gather(normals), graph.gather(points))
    unknown: Unknown = "depth" if parallel else "log-depth"
    return EdgeEquations(graph, offset, gamma, gamma, unknown).without_impossible()


def rise_of_log_depth(n: FloatArray, tau: FloatArray, tau_c: FloatArray) -> FloatArray:
    """Log-depth at the corner tau_c minus that at the centre tau, on a pixel's own plane.

    NaN where the ray through the corner does not meet the plane.
    """
    at_centre, at_corner = dot(n, tau), dot(n, tau_c)
    rise: FloatArray = np.full_like(at_centre, np.nan)
    meets = at_centre * at_corner > 0
    rise[meets] = np.log(at_centre[meets] / at_corner[meets])
    return rise


def rise_of_depth(n: FloatArray, o: FloatArray, o_c: FloatArray) -> FloatArray:
    """Depth at the corner o_c minus that at the centre o, on a pixel's own plane; parallel rays.

    NaN where the plane is parallel to the rays.
    """
    rise: FloatArray = np.full(len(n), np.nan)
    np.divide(dot(n, o - o_c), n[:, 2], out=rise, where=n[:, 2] != 0)
    return rise


def corner_rays(rays: FloatArray, *, wraps: bool = False) -> FloatArray:
    """Rays (or origins) at the corners of the pixels, (H + 1, W + 1, 3), from those at the centres.

    Each is the mean of the four around it, and those at the border continue the image by half a
    pixel; NaN next to a pixel that has no ray.
    """
    rows = np.pad(rays, ((1, 1), (0, 0), (0, 0)), mode="reflect", reflect_type="odd")
    aside = ((0, 0), (1, 1), (0, 0))
    if wraps:
        padded = np.pad(rows, aside, mode="wrap")
    else:
        padded = np.pad(rows, aside, mode="reflect", reflect_type="odd")
    pairs = padded[:, :-1] + padded[:, 1:]
    corners: FloatArray = 0.25 * (pairs[:-1] + pairs[1:])
    return corners


def shared_corners(step: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Corners (i, j) of a pixel, 0 or 1 to the right and down, that it shares with a neighbour."""
    du, dv = step
    for i in (0, 1) if du == 0 else ((1 + du) // 2,):
        for j in (0, 1) if dv == 0 else ((1 + dv) // 2,):
            yield i, j
