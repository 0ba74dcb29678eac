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
    height, width = good.shape
    beyond = [n // 2 if wraps else 0 for n, wraps in zip(good.shape, joined, strict=True)]
    if any(beyond):
        pads = [(pad, pad) for pad in beyond]
        around = np.pad(good, pads, mode="wrap")
        table = _SummedNormals(np.pad(unit, (*pads, (0, 0)), mode="wrap"), around)
    else:
        around, table = good, _SummedNormals(unit, good)
    below, right = beyond
    distance = distance_transform_cdt(~around, metric="chessboard")
    nearest = distance[v + below, u + right]
    radii = np.maximum(nearest, radius).astype(np.int64)  # smaller windows hold no good normal
    whole = np.maximum(np.maximum(v, height - 1 - v), np.maximum(u, width - 1 - u))
    while len(v):
        mean = table.sums(v + below, u + right, radii)
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

    def __init__(self, unit: FloatArray, good: BoolArray) -> None:
        height, width = good.shape
        self.scale = 2.0 ** (62 - math.ceil(math.log2(good.size + 1)))
        self.table = np.zeros((height + 1, width + 1, 3), dtype=np.int64)
        inner = self.table[1:, 1:]
        inner[good] = np.rint(unit[good] * self.scale)
        np.cumsum(inner, axis=0, out=inner)
        np.cumsum(inner, axis=1, out=inner)

    def sums(self, v: PixelArray, u: PixelArray, radii: PixelArray) -> FloatArray:
        """Sums (n, 3) over the windows of these radii around pixels, cut off at the border."""
        height, width = self.table.shape[:2]
        top, left = np.maximum(v - radii, 0), np.maximum(u - radii, 0)
        bottom, right = np.minimum(v + radii + 1, height - 1), np.minimum(u + radii + 1, width - 1)
        upper = self.table[top, right] - self.table[top, left]
        lower = self.table[bottom, right] - self.table[bottom, left]
        sums: FloatArray = (lower - upper) / self.scale
        return sums
