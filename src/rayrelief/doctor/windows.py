"""A normal map as the cues look at it: unit vectors of parts of the image, and their rays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rayrelief.cameras.base import Camera, pixel_grid
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.conventions import BoolArray, FloatArray, from_opencv, to_opencv

LARGEST = 1 << 19  # pixels looked at: the cues need no more
SIDE = 128  # of the squares that are taken from larger maps
SPARSE, SMALL = 4, 20_000  # every fourth row and column of a map with more pixels is counted
# Files hold any vectors, also such that nearly touch the image plane: their slopes are infinite.
FOREIGN = np.errstate(divide="ignore", invalid="ignore", over="ignore")
AROUND = 8  # pixels left around the mask, where its outline is looked at


@dataclass(frozen=True, eq=False)
class Window:
    """A part of a map, in the axes of its file.

    Attributes
    ----------
    vectors
        (h, w, 3), of unit length, NaN outside.
    inside
        (h, w), where there are vectors.
    top, left
        Its place in the image.
    size
        (height, width) of the image.
    """

    vectors: FloatArray
    inside: BoolArray
    top: int
    left: int
    size: tuple[int, int]

    @property
    def pixels(self) -> FloatArray:
        """Coordinates (h, w, 2) in the image, as (u, v)."""
        pixels: FloatArray = pixel_grid(*self.inside.shape) + np.array([self.left, self.top])
        return pixels


@dataclass(frozen=True, eq=False)
class Projection:
    """How the pixels of a window see, in the camera frame.

    Attributes
    ----------
    rays
        (h, w, 3) or (3,).
    right, down
        How they, or their origins, change from a pixel to the next; scaled to a length of about 1.
    """

    rays: FloatArray
    right: FloatArray
    down: FloatArray

    @classmethod
    def of(cls, camera: Camera, window: Window) -> Projection:
        """Projection of a camera."""
        if isinstance(camera, Orthographic) or min(window.inside.shape) < 2:
            return cls.pinhole(0.0, window)
        rays = camera.directions(window.pixels)
        with np.errstate(invalid="ignore"):
            rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
            down, right = map(np.asarray, np.gradient(rays, axis=(0, 1)))
            step = np.linalg.norm(right, axis=-1)
        seen = np.isfinite(step) & (step > 0)
        scale = 1.0 / float(np.median(step[seen])) if seen.any() else 1.0
        return cls(rays, right * scale, down * scale)

    @classmethod
    def pinhole(cls, widening: float, window: Window) -> Projection:
        """Projection of a centred pinhole: longer side over focal length; 0 for parallel rays."""
        height, width = window.size
        rays, right, down = np.eye(3)[[2, 0, 1]]
        if widening:
            offset = window.pixels - ((width - 1) / 2, (height - 1) / 2)
            rays = np.ones((*window.inside.shape, 3))
            rays[..., :2] = offset * (widening / max(height, width))
        return cls(rays, right, down)


@dataclass(frozen=True, eq=False)
class Slopes:
    """A window read in some axes through some projection.

    Attributes
    ----------
    right, down
        (h, w) slopes of the surface, px per px; positive where it recedes.
    incidence
        (h, w) n . ray.
    """

    right: FloatArray
    down: FloatArray
    incidence: FloatArray

    @classmethod
    def read(cls, window: Window, axes: str, projection: Projection) -> Slopes:
        """Read a window."""
        normals = to_opencv(window.vectors, axes)
        incidence, right, down = (
            np.einsum("...i,...i->...", normals, vector)
            for vector in (projection.rays, projection.right, projection.down)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(-right / incidence, -down / incidence, incidence)


def share_facing_away(windows: list[Window], axes: str, projections: list[Projection]) -> float:
    """Share of the normals with n . ray clearly above 0."""
    away = total = 0
    some = np.s_[::SPARSE, ::SPARSE] if sum(w.inside.size for w in windows) > SMALL else np.s_[:, :]
    for window, projection in zip(windows, projections, strict=True):
        rays = projection.rays if projection.rays.ndim == 1 else projection.rays[some]
        along = np.einsum("...i,...i->...", window.vectors[some], from_opencv(rays, axes))
        incidence = along[window.inside[some]]
        away += int(np.count_nonzero(incidence > 0.02))
        total += incidence.size
    return away / max(total, 1)


def windows_of(
    vectors: FloatArray, mask: BoolArray, largest: int = LARGEST, side: int = SIDE
) -> list[Window]:
    """Parts of a map (H, W, 3), in the axes of its file, that say enough about all of it.

    Parameters
    ----------
    largest
        Pixels, beyond which squares of the map are taken, spread over it.
    side
        Of a square, in pixels.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        length = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))
        inside = mask & np.isfinite(length) & (length > 1e-6)
    rows, columns = (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
    if not rows.size:
        return []
    top, left = (max(0, int(first) - AROUND) for first in (rows[0], columns[0]))
    bottom, right = int(rows[-1]) + AROUND + 1, int(columns[-1]) + AROUND + 1
    places = [np.s_[top:bottom, left:right]]
    if (bottom - top) * (right - left) > largest:
        squares = [
            np.s_[row : row + side, column : column + side]
            for row in range(top, bottom, side)
            for column in range(left, right, side)
            if inside[row : row + side, column : column + side].any()
        ]
        places = squares[:: max(1, len(squares) * side * side // largest)]
    windows = []
    for place in places:
        within = inside[place]
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = vectors[place] / length[place][..., None]
        unit[~within] = np.nan
        windows.append(Window(unit, within, place[0].start, place[1].start, mask.shape))  # type: ignore[arg-type]
    return windows
