"""Distances from points to a mesh, exact as far as one cares."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rayrelief.compiled import njit
from rayrelief.conventions import FloatArray
from rayrelief.mesh.base import Faces

MOST_CELLS = 4096  # along a side


def farthest(points: FloatArray, vertices: FloatArray, faces: Faces, limit: float) -> float:
    """Largest distance of points (P, 3) from the faces of a mesh; infinite where above a limit.

    Faces lie in the cells of a grid that they come as close to as the limit: a point asks those of
    its own cell. Of the grids along the three axes that with the fewest faces in a cell is taken:
    seen edge-on, a flat base would lie in one row of cells.
    """
    low, high = vertices.min(axis=0) - limit, vertices.max(axis=0) + limit
    best = np.inf
    for axis in range(3):  # one after the other: their cells take memory
        along = _grid(low, high, np.delete(np.arange(3), axis), len(faces), limit)
        counts = _counts(vertices, faces, along, limit)
        cost = float(counts @ counts)
        if cost < best:
            best, grid, starts = cost, along, np.append(0, np.cumsum(counts))
    held = np.empty(starts[-1], dtype=np.int32)
    _visit_cells(vertices, faces, grid, limit, starts[:-1].copy(), held)
    return float(_farthest(points, vertices, faces, grid, limit, starts, held))


def _grid(low: FloatArray, high: FloatArray, plane: Any, faces: int, limit: float) -> Any:
    """Axes of a grid, where it begins, the side of a cell, and how many there are along one."""
    longest = float((high - low)[plane].max())
    # Cells smaller than the limit would only hold the same faces again and again.
    cells = int(np.clip(min(math.sqrt(faces), longest / (2 * limit)), 1, MOST_CELLS))
    return plane, low[plane], longest / cells, cells


def _counts(vertices: FloatArray, faces: Faces, grid: Any, limit: float) -> Any:
    """How many faces lie in each cell."""
    counts = np.zeros(grid[3] ** 2, dtype=np.int64)
    _visit_cells(vertices, faces, grid, limit, counts, np.empty(0, dtype=np.int32))
    return counts


@njit(cache=True)
def _visit_cells(
    vertices: Any, faces: Any, grid: Any, limit: float, places: Any, held: Any
) -> None:
    """Count the faces of each cell or, with the places where they begin, list them."""
    plane, low, size, cells = grid
    span = np.empty((2, 2), dtype=np.int64)
    for f in range(len(faces)):
        for side in range(2):
            a, b, c = (
                vertices[faces[f, 0], plane[side]],
                vertices[faces[f, 1], plane[side]],
                vertices[faces[f, 2], plane[side]],
            )
            span[side, 0] = _cell(min(a, b, c) - limit, low[side], size, cells)
            span[side, 1] = _cell(max(a, b, c) + limit, low[side], size, cells)
        for i in range(span[0, 0], span[0, 1] + 1):
            for j in range(span[1, 0], span[1, 1] + 1):
                if len(held):
                    held[places[i * cells + j]] = f
                places[i * cells + j] += 1


@njit(inline="always")
def _cell(x: Any, low: Any, size: Any, cells: int) -> Any:
    return min(max(int((x - low) / size), 0), cells - 1)


@njit(cache=True, error_model="numpy")
def _farthest(
    points: Any, vertices: Any, faces: Any, grid: Any, limit: float, starts: Any, held: Any
) -> Any:
    plane, low, size, cells = grid
    most = 0.0
    for row in range(len(points)):
        p = _point(points, row)
        i = _cell(points[row, plane[0]], low[0], size, cells)
        j = _cell(points[row, plane[1]], low[1], size, cells)
        nearest = np.inf
        for place in range(starts[i * cells + j], starts[i * cells + j + 1]):
            a, b, c = faces[held[place]]
            corners = _point(vertices, a), _point(vertices, b), _point(vertices, c)
            nearest = min(nearest, _squared_distance(p, corners))
            if nearest <= most:
                break  # this point is not the farthest
        most = max(most, nearest)
        if most > limit * limit:
            return np.inf
    return math.sqrt(most)


@njit(inline="always", error_model="numpy")
def _squared_distance(p: Any, corners: Any) -> Any:
    """Squared distance of a point from a triangle: from its inside, or from its edges."""
    a, b, c = corners
    ab, ac, ap = _minus(b, a), _minus(c, a), _minus(p, a)
    along_b, along_c = _dot(ab, ap), _dot(ac, ap)
    bb, bc, cc = _dot(ab, ab), _dot(ab, ac), _dot(ac, ac)
    determinant = bb * cc - bc * bc
    s = (cc * along_b - bc * along_c) / determinant
    t = (bb * along_c - bc * along_b) / determinant
    if determinant > 0.0 and s >= 0.0 and t >= 0.0 and s + t <= 1.0:
        off = _minus(_minus(ap, _times(s, ab)), _times(t, ac))
        return _dot(off, off)
    edges = _from_edge(ap, ab), _from_edge(ap, ac), _from_edge(_minus(p, b), _minus(c, b))
    return min(edges)


@njit(inline="always", error_model="numpy")
def _from_edge(from_start: Any, edge: Any) -> Any:
    length = _dot(edge, edge)
    part = 0.0
    if length > 0.0:
        part = min(1.0, max(0.0, _dot(from_start, edge) / length))
    off = _minus(from_start, _times(part, edge))
    return _dot(off, off)


# Tuples of three numbers: arrays of that size would be allocated one by one.
@njit(inline="always")
def _point(rows: Any, i: int) -> Any:
    return rows[i, 0], rows[i, 1], rows[i, 2]


@njit(inline="always")
def _minus(a: Any, b: Any) -> Any:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit(inline="always")
def _times(factor: Any, a: Any) -> Any:
    return factor * a[0], factor * a[1], factor * a[2]


@njit(inline="always")
def _dot(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
