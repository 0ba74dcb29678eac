"""Components on a GPU: their pixels in order, and the free constant of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rayrelief.backends.cuda.equations import Segments
from rayrelief.backends.cuda.machine import Array


@dataclass(frozen=True, eq=False)
class Parts:
    """Components of an image, each known by its first pixel.

    Attributes
    ----------
    arrays
        numpy, or a module like it.
    component
        (H * W,) first pixel of each pixel's component; -1 outside.
    nodes, count
        Pixels inside, and components.
    """

    arrays: Any
    component: Array
    nodes: int
    count: int

    def firsts(self) -> Array:
        """(C,) first pixel of each component."""
        xp = self.arrays
        return xp.flatnonzero(self.component == xp.arange(self.component.size))

    def medians(self, x: Array) -> Array:
        """Median (C,) of x (H * W,) over each of several components; kernels find that of one."""
        xp = self.arrays
        pixels, starts, sizes = self._sorted()
        labels = self.component[pixels]
        ordered = x[pixels][xp.lexsort(xp.stack((x[pixels], labels)))]
        return (ordered[starts + (sizes - 1) // 2] + ordered[starts + sizes // 2]) / 2

    def numbers(self) -> Array:
        """(H * W,) number of each pixel's component, 0 outside too; in the order of the medians."""
        xp = self.arrays
        pixels, starts, _ = self._sorted()
        firsts = self.component[pixels[starts]]
        return xp.searchsorted(firsts, xp.maximum(self.component, firsts[0])).astype(xp.int32)

    def segments(self) -> Segments:
        """Lists that kernels add up the components by."""
        pixels, starts, _ = self._sorted()
        ends = self.arrays.concatenate((starts, self.arrays.asarray([self.nodes])))
        host = ends.get() if hasattr(ends, "get") else ends
        return Segments.of(pixels.astype(np.int32), host.astype(np.int64))

    def _sorted(self) -> tuple[Array, Array, Array]:
        """Pixels by component, where each begins among them, and how many it has."""
        xp = self.arrays
        inside = xp.flatnonzero(self.component >= 0)
        pixels = inside[xp.argsort(self.component[inside], kind="stable")]
        labels = self.component[pixels]
        starts = xp.flatnonzero(xp.concatenate((xp.asarray([True]), labels[1:] != labels[:-1])))
        sizes = xp.diff(xp.concatenate((starts, xp.asarray([self.nodes]))))
        return pixels, starts, sizes
