"""Tiles of a picture, each with a beam that holds its rays, tell where a ball can be seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.synthetic.shapes import Ball, dot

_SIDE = 8  # pixels along a side of the smallest tile, and tiles along a side of each larger one

Window = tuple[slice, slice]
"""Rows and columns of a picture."""


@dataclass(frozen=True)
class Tiles:
    """A pyramid of tiles over a picture of any camera.

    Attributes
    ----------
    levels
        Beams of a grid of tiles, from the largest tiles to the smallest.
    """

    levels: tuple[_Beams, ...]

    @classmethod
    def of(cls, origins: FloatArray, rays: FloatArray, *, lines: bool) -> Tiles:
        """Tiles of the picture with these rays in the OpenCV camera frame.

        Parameters
        ----------
        origins
            (3,) where all rays start in one point, else (H, W, 3).
        rays
            (H, W, 3), NaN where a pixel has none.
        lines
            Whether a pixel also sees what lies before its origin.
        """
        levels: list[_Beams] = []
        starts = origins if origins.ndim == 3 else origins[None, None]
        boxes = _Boxes(starts, starts, rays, rays)
        while not levels or boxes.rays_low.size > 3:
            boxes = boxes.grouped()
            levels.append(boxes.beams(lines=lines))
        return cls(tuple(reversed(levels)))

    def window(self, ball: Ball) -> Window:
        """Rows and columns that hold every pixel whose ray meets the ball; none if they are empty.

        They may end beyond the picture.
        """
        rows = columns = slice(0, 1)
        for beams in self.levels:
            met = beams.meet(ball, (rows, columns))
            rows, columns = _finer(rows, np.any(met, axis=1)), _finer(columns, np.any(met, axis=0))
        return rows, columns


@dataclass(frozen=True)
class _Boxes:
    """Opposite corners (rows, columns, 3) of boxes that hold the origins and rays of tiles.

    One box may hold the origins of all tiles.
    """

    origins_low: FloatArray
    origins_high: FloatArray
    rays_low: FloatArray
    rays_high: FloatArray

    def grouped(self) -> _Boxes:
        """Boxes of tiles that are larger by one level."""
        # Unlike minimum and maximum, these pass over NaN.
        return _Boxes(
            _grouped(np.fmin, self.origins_low),
            _grouped(np.fmax, self.origins_high),
            _grouped(np.fmin, self.rays_low),
            _grouped(np.fmax, self.rays_high),
        )

    def beams(self, *, lines: bool) -> _Beams:
        """Beams that hold all lines of these origins and rays."""
        middle = (self.rays_low + self.rays_high) / 2
        length = _length(middle)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = _length(self.rays_high - middle) / length
        origins = (self.origins_low + self.origins_high) / 2
        breadths = _length(self.origins_high - self.origins_low) / 2
        return _Beams(
            origins=np.broadcast_to(origins, middle.shape),
            breadths=np.broadcast_to(breadths, length.shape),
            # A box about zero holds rays of all directions, and needs no axis.
            axes=middle / np.where(length == 0.0, 1.0, length)[..., None],
            spreads=np.where(ratio > 1.0, np.pi, np.arcsin(np.minimum(ratio, 1.0))),
            lines=lines,
        )


@dataclass(frozen=True)
class _Beams:
    """Beams (rows, columns) that start in a ball and run within a cone.

    Attributes
    ----------
    origins, breadths
        Centre and radius of the balls where they start.
    axes, spreads
        Unit vectors along the cones, and the angles from there to their sides.
    lines
        Whether they run to both sides.
    """

    origins: FloatArray
    breadths: FloatArray
    axes: FloatArray
    spreads: FloatArray
    lines: bool

    def meet(self, ball: Ball, window: Window) -> BoolArray:
        """Which of the beams of a window may meet the ball."""
        way = np.asarray(ball.centre) - self.origins[window]
        distance = _length(way)
        reach = ball.radius + self.breadths[window]
        axes = self.axes[window]
        with np.errstate(divide="ignore", invalid="ignore"):
            way = way / distance[..., None]
            limit = self.spreads[window] + np.arcsin(np.minimum(reach / distance, 1.0))
            # From the length of the difference, small angles keep all their digits.
            angle = 2 * np.arcsin(np.minimum(_length(way - axes) / 2, 1.0))
            if self.lines:
                angle = np.minimum(angle, 2 * np.arcsin(np.minimum(_length(way + axes) / 2, 1.0)))
        met: BoolArray = (distance <= reach) | (angle <= limit)
        return met


def _grouped(pick: np.ufunc, values: FloatArray) -> FloatArray:
    """Least or greatest values (ceil(rows / 8), ceil(columns / 8), 3) of each tile."""
    for axis in (0, 1):
        values = pick.reduceat(values, np.arange(0, values.shape[axis], _SIDE), axis=axis)
    return values


def _finer(span: slice, met: BoolArray) -> slice:
    """Span of what was met, counted in tiles of the next smaller size."""
    (found,) = np.nonzero(met)
    if not found.size:
        return slice(0, 0)
    start = int(span.start)
    return slice(_SIDE * (start + int(found[0])), _SIDE * (start + int(found[-1]) + 1))


def _length(vectors: FloatArray) -> FloatArray:
    length: FloatArray = np.sqrt(dot(vectors, vectors))
    return length
