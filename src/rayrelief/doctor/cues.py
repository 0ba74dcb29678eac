"""Cues to the axes of a normal map: curl, outline and contours.

Each says how well a map read in some axes looks like the normals of a surface.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray, to_opencv
from rayrelief.doctor.windows import Projection, Slopes, Window

BLOCK, SMALL_BLOCK, SMALL_MAP = 8, 4, 400  # pixels
TILE = 16  # pixels: curls within a tile are one observation
STEEPEST = 2.5  # px per px: beyond this, the slope of a pixel says little about its neighbourhood
SMOOTH = math.cos(math.radians(20.0))  # between neighbours: more is a crease or a jump
MOST_CURL = 10.0  # standard deviations: curl is trusted no further
MARGIN = 0.1  # a difference of the relative curl that is beyond doubt
LEAST_TILES = 8
# px: a curl that is nothing, and what it could be where that is nothing. Exact maps leave less, and
# how these compare is rounding.
LEAST_CURL, LEAST_MOST = 1e-3, 1e-2
GRAZING = 0.8  # length of (x, y) where a surface is about to turn away
RIM, BLUR = 2, 2.0  # pixels: width of an outline, and how smooth its direction is
INWARDS = 6  # pixels from an outline to where a body has turned towards the viewer
STEEP, MILD = 2.0, 0.3  # px per px, on the two sides of a contour


@dataclass(frozen=True, eq=False)
class Curl:
    """Curl of a map read in some axes through some projection; a surface has none.

    Attributes
    ----------
    size
        Per tile, mean |curl| around its blocks; NaN where it has none.
    most
        Per tile, what it could be: the mean sum of the sizes of its two terms.
    """

    size: FloatArray
    most: FloatArray

    @property
    def mean(self) -> float:
        """Of what it could be, over the whole map; 0 for a smooth surface, and without any tile."""
        total = float(np.nansum(self.possible))
        return float(np.nansum(self.size)) / total if total > 0 else 0.0

    @property
    def possible(self) -> FloatArray:
        """Per tile, what it could be in a map with some noise: an exact one may leave nothing."""
        possible: FloatArray = np.maximum(self.most, LEAST_MOST)
        return possible

    def evidence_against(self, other: Curl) -> float:
        """Standard deviations by which less curl speaks for this reading and against another.

        Curls and what they are of what they could be must agree. Noise makes the first smaller in
        axes in which a plane is seen less obliquely, the second in those in which a sphere is a
        saddle.
        """
        sizes = _preference(self.size, other.size, np.ones_like(self.size))
        weight = np.sqrt(np.minimum(self.most, other.most))  # flat tiles say little
        relative = _preference(self.size / self.possible, other.size / other.possible, weight)
        if sizes * relative <= 0:
            return 0.0
        return math.copysign(min(abs(sizes), abs(relative)), sizes)


def _preference(one: FloatArray, other: FloatArray, weight: FloatArray) -> float:
    """Standard deviations by which curls, one per tile, are smaller than others."""
    told = np.isfinite(one) & np.isfinite(other) & (weight > 0)
    if np.count_nonzero(told) < LEAST_TILES:
        return 0.0
    difference, larger = other[told] - one[told], np.maximum(one[told], other[told])
    weight = weight[told] / weight[told].sum()
    scale = max(float(weight @ larger), LEAST_CURL)
    mean = float(weight @ difference) / scale
    # Tiles of a perfect map all agree: they are not trusted beyond a tenth.
    spread = math.sqrt(float(weight**2 @ ((difference / scale - mean) ** 2 + 0.01)))
    return limited(mean / spread, MOST_CURL * min(1.0, abs(mean) / MARGIN))


def limited(evidence: float, most: float) -> float:
    """Evidence that is not trusted beyond a limit."""
    return max(-most, min(most, evidence))


def between(value: float, none: float, full: float) -> float:
    """How far a value has come on the way from one to another, from 0 to 1."""
    return min(1.0, max(0.0, (value - none) / (full - none)))


def smooth_cells(window: Window) -> BoolArray:
    """Which squares of 2 x 2 pixels (h - 1, w - 1) hold one smooth piece of a surface."""
    n = window.vectors
    with np.errstate(invalid="ignore"):
        right = np.einsum("...i,...i->...", n[:, :-1], n[:, 1:]) > SMOOTH
        down = np.einsum("...i,...i->...", n[:-1], n[1:]) > SMOOTH
    smooth: BoolArray = right[:-1] & right[1:] & down[:, :-1] & down[:, 1:]
    return smooth


def curl(
    windows: list[Window], cells: list[BoolArray], axes: str, projections: list[Projection]
) -> Curl:
    """Curl of the smooth cells of all windows."""
    block = SMALL_BLOCK if max(windows[0].size) < SMALL_MAP else BLOCK
    tiles = [
        _curl_means(Slopes.read(window, axes, projection), smooth, block)
        for window, smooth, projection in zip(windows, cells, projections, strict=True)
    ]
    curls, totals = (np.concatenate(parts) for parts in zip(*tiles, strict=True))
    return Curl(curls, totals)


def _curl_means(slopes: Slopes, cells: BoolArray, block: int) -> tuple[FloatArray, FloatArray]:
    """Means per tile of |curl| around blocks of cells, and of what it is made of."""
    right, down = slopes.right, slopes.down
    with np.errstate(invalid="ignore"):
        usable = (slopes.incidence < -1e-3) & (np.maximum(np.abs(right), np.abs(down)) < STEEPEST)
        across = 0.5 * np.diff(right[:, :-1] + right[:, 1:], axis=0)
        along = 0.5 * np.diff(down[:-1] + down[1:], axis=1)
    cells = cells & usable[:-1, :-1] & usable[1:, :-1] & usable[:-1, 1:] & usable[1:, 1:]
    # Around a block the steps of an encoding cancel, and curls do not.
    whole = _sums(cells.astype(np.float64), block) == block**2
    across, along = (
        np.where(whole, _sums(np.where(cells, part, 0.0), block), 0.0) for part in (across, along)
    )
    curls, totals = np.abs(across - along), np.abs(across) + np.abs(along)
    count = _sums(whole.astype(np.float64), TILE // block).ravel()
    with np.errstate(invalid="ignore", divide="ignore"):
        per_block = [_sums(each, TILE // block).ravel() / count for each in (curls, totals)]
    return per_block[0], per_block[1]


def _sums(image: FloatArray, side: int) -> FloatArray:
    """Sums over squares of this side, the last of which may be cut off."""
    (height, width), places = (
        image.shape,
        ((0, -image.shape[0] % side), (0, -image.shape[1] % side)),
    )
    squares = np.pad(image, places).reshape(-(-height // side), side, -(-width // side), side)
    sums: FloatArray = squares.sum(axis=(1, 3))
    return sums


@dataclass(frozen=True, eq=False)
class Outline:
    """Where a mask ends at a grazing surface, which then faces outwards.

    Attributes
    ----------
    vectors, out
        (N, 3), in the axes of the file; (N, 2), the way out of the mask, as right and down.
    share
        Of the edge of the mask that is grazing.
    left
        How much of z is left at the outline, of what it is a few pixels inwards. About half for a
        body, which turns away, as the square root of the distance; 1 for a surface that was cut
        off, such as a bowl at its rim.
    """

    vectors: FloatArray
    out: FloatArray
    share: float
    left: float

    @classmethod
    def of(cls, windows: list[Window], channel: int) -> Outline:
        """Outline of a map whose z is in this channel."""
        parts = [_rim(window) for window in windows]
        vectors, inwards, out = (np.concatenate(each) for each in zip(*parts, strict=True))
        z, further = np.abs(vectors[:, channel]), np.abs(inwards[:, channel])
        grazing = z < math.sqrt(1 - GRAZING**2)
        known = grazing & (further > 0)
        left = z[known] / further[known]
        return cls(
            vectors[grazing],
            out[grazing],
            share=float(np.mean(grazing)) if grazing.size else 0.0,
            left=float(np.median(left)) if left.size else 1.0,
        )

    @property
    def trust(self) -> float:
        """How likely the edge of the mask is the outline of a body, from 0 to 1."""
        return between(self.share, 0.0, 0.3) * between(self.left, 0.85, 0.75)

    def agreement(self, axes: str) -> float:
        """Mean cosine between normals read as ``axes`` and the way out, as seen in the image."""
        if not len(self.vectors):
            return 0.0
        normals = to_opencv(self.vectors, axes)[:, :2]
        length = np.linalg.norm(normals, axis=-1)
        return float(np.mean(np.einsum("ij,ij->i", normals, self.out) / length))


def _rim(window: Window) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Vectors (N, 3) along the edge of the mask, off the border of the image, and the way out.

    Between them the vectors (N, 3) a little further in, NaN where there are none.
    """
    from scipy.ndimage import binary_erosion, gaussian_filter

    pad = 8
    extended = np.pad(window.inside, pad, mode="edge")
    core = binary_erosion(extended, iterations=RIM)[pad:-pad, pad:-pad]
    blurred = gaussian_filter(extended.astype(np.float64), BLUR)
    down, right = (-slope[pad:-pad, pad:-pad] for slope in np.gradient(blurred))
    v, u = np.nonzero(window.inside & ~core & (np.hypot(right, down) > 0.02))
    height, width = window.size
    row, column = v + window.top, u + window.left
    off_border = np.minimum(row, height - 1 - row) > RIM
    off_border &= np.minimum(column, width - 1 - column) > RIM
    v, u = v[off_border], u[off_border]
    out = np.stack([right[v, u], down[v, u]], axis=-1)
    out /= np.linalg.norm(out, axis=-1, keepdims=True)
    inner = np.rint(np.stack([u, v], axis=-1) - INWARDS * out).astype(np.intp)
    s, t = np.clip(inner, 0, np.array(window.inside.shape[::-1]) - 1).T
    return window.vectors[v, u], window.vectors[t, s], out


def contours(slopes: Slopes) -> tuple[int, int]:
    """How often a steep surface beside a mild one recedes towards it, and how often it rises.

    A smooth body turns away before it hides something: the first is far more frequent.
    """
    recedes = rises = 0
    facing = slopes.incidence < 0
    for slope, seen in ((slopes.right, facing), (slopes.down.T, facing.T)):
        first, second = slope[:, :-1], slope[:, 1:]
        both = seen[:, :-1] & seen[:, 1:]
        with np.errstate(invalid="ignore"):
            before = both & (np.abs(first) > STEEP) & (np.abs(second) < MILD)
            after = both & (np.abs(second) > STEEP) & (np.abs(first) < MILD)
            recedes += int((before & (first > 0)).sum() + (after & (second < 0)).sum())
            rises += int((before & (first < 0)).sum() + (after & (second > 0)).sum())
    return recedes, rises
