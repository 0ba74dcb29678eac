"""RayMap: any central camera, given as one ray per pixel."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.cameras.base import Camera, as_vectors, check_part, check_size, in_blocks, pixel_grid
from rayrelief.checks import as_array
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import CameraError, InputError

# The search for a pixel ends when a step is this short; what lies this far outside still counts.
PIXEL_TOLERANCE = 1e-9
NEWTON_STEPS = 40
LONGEST_STEP = 8.0

NARROWEST_PANORAMA = 8  # pixels: three rays around a triangle are a panorama of nothing

# Chord between unit vectors that count as one direction.
SAME_DIRECTION = 1e-12


class RayMap(Camera):
    """Any central camera, given by the ray of every pixel in the OpenCV camera frame.

    Between pixel centres the rays are interpolated bilinearly within cells of 2 x 2 pixels; where
    the map wraps around, also between the last column and the first.

    Parameters
    ----------
    rays
        (H, W, 3) directions of any positive length; NaN or zero where a pixel has no ray.

    Attributes
    ----------
    unit
        (H, W, 3) unit rays, read-only; NaN where there is none.
    """

    def __init__(self, rays: npt.ArrayLike) -> None:
        self.unit = _normalise(_check(rays))
        self.unit.flags.writeable = False

    def __repr__(self) -> str:
        height, width = self.unit.shape[:2]
        valid = np.isfinite(self.unit[..., 0]).mean()
        return f"RayMap({width}x{height} pixels, {valid:.0%} with a ray)"

    @property
    def resolution(self) -> tuple[int, int]:
        """(width, height) of the map."""
        return self.unit.shape[1], self.unit.shape[0]

    def unit_rays(self, height: int, width: int) -> FloatArray:
        """Rays of unit length, (height, width, 3), in the camera frame; NaN where there is none."""
        self.check_resolution(height, width)
        return self.unit.copy()

    def crop(self, left: int, top: int, width: int, height: int) -> RayMap:
        """Camera of a part of the image, whose first pixel is (left, top)."""
        check_part(self.resolution, (left, top, width, height))
        return RayMap(self.unit[top : top + height, left : left + width])

    def resize(self, width: int, height: int) -> RayMap:
        """Camera of the image scaled to another size: rays are interpolated between pixel centres.

        The outermost half pixel of an enlarged map continues the cells next to it.
        """
        old_width, old_height = self.resolution
        check_size((width, height))
        pixels = (pixel_grid(height, width) + 0.5) * (old_width / width, old_height / height) - 0.5
        return RayMap(in_blocks(self._interpolated, pixels, 3))

    def wraps(self, width: int) -> bool:
        """Whether the step from the last column to the first is like the next ones, in all rows."""
        if width < NARROWEST_PANORAMA:
            return False
        first, second, last_but_one, last = (self.unit[:, u] for u in (0, 1, -2, -1))
        seam = np.linalg.norm(first - last, axis=-1)
        before = np.linalg.norm(last - last_but_one, axis=-1)
        after = np.linalg.norm(second - first, axis=-1)
        usual = 0.5 * (before + after)
        known = np.isfinite(seam) & np.isfinite(usual)
        return bool(known.any() and np.allclose(seam[known], usual[known], rtol=1e-2, atol=1e-9))

    def directions(self, pixels: FloatArray) -> FloatArray:
        """Directions (..., 3) interpolated at pixels (..., 2); NaN outside and next to no ray."""
        return in_blocks(self._directions, as_vectors(pixels, 2), 3)

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Pixels (..., 2) of points (..., 3) in the camera frame; NaN where no ray is near."""
        return in_blocks(self._project, as_vectors(points, 3), 2)

    def _directions(self, pixels: FloatArray) -> FloatArray:
        right, bottom = self._last
        left = -0.5 if self._closes else 0.0
        inside = ((pixels >= (left, 0)) & (pixels <= (right, bottom))).all(axis=1)
        directions = np.full((len(pixels), 3), np.nan)
        directions[inside] = self._interpolated(pixels[inside])
        return directions

    def _interpolated(self, pixels: FloatArray) -> FloatArray:
        """Directions (n, 3) at pixels (n, 2); those outside continue the cell next to them."""
        if self._closes:
            pixels = np.stack((pixels[:, 0] % self.resolution[0], pixels[:, 1]), axis=1)
        corner = np.clip(np.floor(pixels), 0, np.maximum(self._last - 1, 0))
        s, t = (pixels - corner).T[..., None]
        u, v = corner.astype(np.intp).T
        # The neighbours of the last column and row do not exist where the map is one pixel wide.
        right, below = np.minimum(u + 1, self._last[0]), np.minimum(v + 1, self._last[1])
        return (
            _weighted((1 - s) * (1 - t), self._grid[v, u])
            + _weighted(s * (1 - t), self._grid[v, right])
            + _weighted((1 - s) * t, self._grid[below, u])
            + _weighted(s * t, self._grid[below, right])
        )

    def _project(self, points: FloatArray) -> FloatArray:
        points = _normalise(points)
        pixels = np.full((len(points), 2), np.nan)
        seen = np.isfinite(points).all(axis=1)
        if self._cells.size:
            _, nearest = self._cell_tree.query(points[seen])
            pixels[seen] = self._refine(points[seen], self._cells[nearest])
        if self._lone_pixels.size:
            chord, nearest = self._lone_tree.query(points[seen])
            hit = np.flatnonzero(seen)[chord < SAME_DIRECTION]
            pixels[hit] = self._lone_pixels[nearest[chord < SAME_DIRECTION]]
        if self._closes:  # what lies half a column before the first is there, and not past the last
            pixels[pixels[:, 0] >= self.resolution[0] - 0.5, 0] -= self.resolution[0]
        return pixels

    def _refine(self, points: FloatArray, cells: npt.NDArray[np.intp]) -> FloatArray:
        """Pixels (n, 2) of unit points (n, 3), searched by Newton's method from cells (n, 2).

        A step solves b + s b_u + t b_v = scale * point on the bilinear patch of the present cell.
        The search moves on to the cell in which it lands where that is complete.
        """
        found = np.full((len(points), 2), np.nan)
        active = np.arange(len(points))
        pixels: FloatArray = cells + np.float64(0.5)
        for _ in range(NEWTON_STEPS):
            ray, along_u, along_v = self._patch(cells, pixels - cells)
            across_u, across_v = np.cross(along_u, points), np.cross(along_v, points)
            with np.errstate(divide="ignore", invalid="ignore"):  # a degenerate patch gives NaN
                step = np.stack(
                    (
                        -_dot(ray, across_v) / _dot(along_u, across_v),
                        -_dot(ray, across_u) / _dot(along_v, across_u),
                    ),
                    axis=1,
                )
            step = np.clip(step, -LONGEST_STEP, LONGEST_STEP)
            pixels = pixels + step
            short = np.abs(step).max(axis=1) < PIXEL_TOLERANCE
            offset = pixels - cells
            within = ((offset > -PIXEL_TOLERANCE) & (offset < 1 + PIXEL_TOLERANCE)).all(axis=1)
            hit = short & within & (_dot(ray, points) > 0)
            found[active[hit]] = np.clip(pixels[hit], 0, self._last)

            landed = np.clip(np.floor(pixels), 0, self._last - 1)
            rest = np.isfinite(landed).all(axis=1) & ~short
            if not rest.any():
                break
            active, points, pixels, cells = active[rest], points[rest], pixels[rest], cells[rest]
            landed = landed[rest].astype(np.intp)
            complete = self._complete[landed[:, 1], landed[:, 0]]
            cells = np.where(complete[:, None], landed, cells)
        return found

    def _patch(
        self, cells: npt.NDArray[np.intp], offset: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Ray (n, 3) at an offset (n, 2) in cells (n, 2), and its derivatives by u and v."""
        u, v = cells.T
        s, t = offset.T[..., None]
        top_left, top_right = self._grid[v, u], self._grid[v, u + 1]
        low_left, low_right = self._grid[v + 1, u], self._grid[v + 1, u + 1]
        along_u = (1 - t) * (top_right - top_left) + t * (low_right - low_left)
        left_edge, right_edge = low_left - top_left, low_right - top_right
        along_v = (1 - s) * left_edge + s * right_edge
        return top_left + t * left_edge + s * along_u, along_u, along_v

    @cached_property
    def _closes(self) -> bool:
        return self.wraps(self.resolution[0])

    @cached_property
    def _grid(self) -> FloatArray:
        """(H, W, 3) unit rays; where the map closes, with the first column once more at the end."""
        return np.concatenate((self.unit, self.unit[:, :1]), axis=1) if self._closes else self.unit

    @cached_property
    def _last(self) -> npt.NDArray[np.intp]:
        """Last column and row of the grid."""
        return np.array([self._grid.shape[1] - 1, self._grid.shape[0] - 1])

    @cached_property
    def _valid(self) -> BoolArray:
        """True where a pixel of the grid has a ray."""
        valid: BoolArray = np.isfinite(self._grid[..., 0])
        return valid

    @cached_property
    def _complete(self) -> BoolArray:
        """True where all four corners of a cell of the grid have a ray, and so has its middle.

        Between opposite rays there is none.
        """
        rows = self._grid[:-1] + self._grid[1:]
        middle = rows[:, :-1] + rows[:, 1:]
        complete: BoolArray = np.linalg.norm(middle, axis=-1) > SAME_DIRECTION  # not for NaN
        return complete

    @cached_property
    def _cells(self) -> npt.NDArray[np.intp]:
        """(n, 2) first pixels (u, v) of the complete cells."""
        return np.argwhere(self._complete)[:, ::-1]

    @cached_property
    def _lone_pixels(self) -> npt.NDArray[np.intp]:
        """(n, 2) pixels (u, v) that have a ray and belong to no complete cell."""
        lone = self._valid.copy()
        for rows in (slice(None, -1), slice(1, None)):
            for columns in (slice(None, -1), slice(1, None)):
                lone[rows, columns] &= ~self._complete
        return np.argwhere(lone)[:, ::-1]

    @cached_property
    def _cell_tree(self) -> Any:
        """Tree of the rays in the middle of the complete cells."""
        from scipy.spatial import KDTree

        middle, _, _ = self._patch(self._cells, np.full((len(self._cells), 2), 0.5))
        return KDTree(_normalise(middle))

    @cached_property
    def _lone_tree(self) -> Any:
        """Tree of the rays of the lone pixels."""
        from scipy.spatial import KDTree

        u, v = self._lone_pixels.T
        return KDTree(self._grid[v, u])


def _check(rays: npt.ArrayLike) -> FloatArray:
    """Float64 copy of rays (H, W, 3); CameraError for anything else."""
    try:
        array = as_array(rays, "rays")
    except InputError as error:
        raise CameraError(error.found, expected=error.expected, remedy=error.remedy) from error
    if array.dtype.kind not in "fiu":
        raise CameraError(
            f"rays of the type {array.dtype}",
            expected="an array of real numbers, such as float64",
            remedy="Convert the rays with numpy.asarray(rays, dtype=float)",
        )
    if array.ndim != 3 or array.shape[2] != 3 or array.size == 0:
        raise CameraError(
            f"rays of the shape {array.shape}",
            expected="(height, width, 3), one direction x, y, z per pixel",
            remedy="Move the components of the rays to the last axis",
        )
    rays = array.astype(np.float64)
    rays[~np.isfinite(rays).all(axis=-1)] = np.nan
    if not (rays != 0).any(where=np.isfinite(rays)):
        raise CameraError(
            "a ray map without a single valid ray",
            expected="a direction that is finite and not zero in at least one pixel",
            remedy="Check the file or the function that the rays come from",
        )
    return rays


def _normalise(vectors: FloatArray) -> FloatArray:
    """Vectors (..., 3) of unit length from vectors of any length; NaN for those of length zero."""
    largest = np.abs(vectors).max(axis=-1, keepdims=True)  # against overflow and underflow
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = vectors / largest
    unit: FloatArray = scaled / np.sqrt(_dot(scaled, scaled))[..., None]
    return unit


def _weighted(weight: FloatArray, rays: FloatArray) -> FloatArray:
    """Rays times weights (n, 1); a missing ray of weight zero does not matter."""
    return np.where(weight != 0, weight * rays, 0.0)


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Dot products (...) of vectors (..., 3)."""
    product: FloatArray = np.einsum("...i,...i->...", a, b)
    return product
