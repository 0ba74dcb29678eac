"""Means of the normals around a pixel, at a cost that does not depend on how far around."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, FloatArray

PixelArray = npt.NDArray[np.int64]
CANCELLED = 1e-6  # a sum of unit normals this short has no direction


def average_neighbours(
    unit: FloatArray,
    rays: FloatArray,
    good: BoolArray,
    repair: BoolArray,
    radius: int,
    joined: tuple[bool, bool] = (False, False),
) -> int:
    """Replace normals by the mean of good ones around, in place; NaN, counted, where that fails.

    The window, of this radius at first, grows until the mean exists and faces the camera itself.
    It goes on across the border where the ends of the rows, or of the columns, are ``joined``.
    """
    from scipy.ndimage import distance_transform_cdt

    v, u = np.nonzero(repair)
    unit[v, u] = np.nan
    if not good.any():
        return len(v)
    table = _SummedNormals(unit, good, joined)
    nearest = distance_transform_cdt(~good, metric="chessboard")[v, u]
    whole = np.zeros_like(v)
    for at, n, wraps in zip((v, u), good.shape, joined, strict=True):
        whole = np.maximum(whole, n // 2 if wraps else np.maximum(at, n - 1 - at))
        if wraps:  # the nearest may be beyond the border
            nearest = np.minimum(nearest, np.minimum(at + 1, n - at))
    radii = np.maximum(nearest, radius).astype(np.int64)  # smaller windows hold no good normal
    while len(v):
        mean = table.sums(v, u, radii)
        length = np.linalg.norm(mean, axis=-1)
        exists = length > CANCELLED  # opposite normals may cancel
        mean[exists] /= length[exists, None]
        solved = exists & (np.einsum("ij,ij->i", mean, rays[v, u]) < 0)
        unit[v[solved], u[solved]] = mean[solved]
        hopeless = ~solved & (radii >= whole)  # that was the whole image
        left = ~(solved | hopeless)
        v, u, radii, whole = v[left], u[left], radii[left] + 1, whole[left]
    return int(np.count_nonzero(np.isnan(unit[repair, 0])))


class _SummedNormals:
    """Sums of unit normals over square windows, at a cost that does not depend on their size.

    The normals are rounded to whole numbers, as fine as their sum over the image allows: tables of
    whole numbers are exact, whatever the size of the image.
    """

    def __init__(self, unit: FloatArray, good: BoolArray, joined: tuple[bool, bool]) -> None:
        height, width = good.shape
        self.joined = joined
        self.scale = 2.0 ** (62 - math.ceil(math.log2(good.size + 1)))
        self.table = np.zeros((height + 1, width + 1, 3), dtype=np.int64)
        inner = self.table[1:, 1:]
        inner[good] = np.rint(unit[good] * self.scale)
        np.cumsum(inner, axis=0, out=inner)
        np.cumsum(inner, axis=1, out=inner)

    def sums(self, v: PixelArray, u: PixelArray, radii: PixelArray) -> FloatArray:
        """Sums (n, 3) over the windows of these radii around pixels.

        They are cut off at the border, or go on at the other end where this is joined.
        """
        height, width = self.table.shape[:2]
        total = np.zeros((len(v), 3), dtype=np.int64)
        for top, bottom in _intervals(v, radii, height - 1, wraps=self.joined[0]):
            for left, right in _intervals(u, radii, width - 1, wraps=self.joined[1]):
                total += self.table[bottom, right] - self.table[bottom, left]
                total -= self.table[top, right] - self.table[top, left]
        sums: FloatArray = total / self.scale
        return sums


def _intervals(
    at: PixelArray, radii: PixelArray, n: int, *, wraps: bool
) -> list[tuple[PixelArray, PixelArray]]:
    """Begins and ends of windows around places on an axis: one for each, or two if it wraps."""
    begin, end = at - radii, at + radii + 1
    within = [(np.maximum(begin, 0), np.minimum(end, n))]
    if wraps:
        is_whole = end - begin >= n  # nothing counts twice
        before = np.where((begin < 0) & ~is_whole, begin + n, n), np.full_like(at, n)
        after = np.zeros_like(at), np.where((end > n) & ~is_whole, end - n, 0)
        within[0] = np.where(is_whole, 0, within[0][0]), np.where(is_whole, n, within[0][1])
        within += [before, after]
    return within
