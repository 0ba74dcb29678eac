"""How the surface moves from iterate to iterate, free of scale, shift and unit."""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from rayrelief.conventions import FloatArray, SingleArray
from rayrelief.graph import PixelGraph

WINDOW = 6  # iterations, after which the surface is compared with where it was
# A surface wanders to and fro if over a window, and in the last step, it has moved by no more than
# this fraction of its relief, and over the window by no more than this many of its usual steps; a
# random walk would move by 2.4 of them.
WANDERING = 0.02
STEPS = 1.5
UNDER_WAY = 0.2  # of the relief, over a window
REMEMBERED = 1e-6  # what single precision tells of a distance
EXCURSION = 5.0  # times the usual distance from the last two iterates


class Motion:
    """What an iteration has to know of the way that its surface took.

    The bilateral weights of most real maps never quite come to rest: edges between two states go
    to and fro for ever, and now and then one of them tilts a whole part of the surface, which the
    next iteration undoes.

    Parameters
    ----------
    start
        (N,) first iterate.
    tolerance
        Change below which the surface is still. None records changes only: no question about the
        motion is asked then.
    """

    def __init__(self, graph: PixelGraph, start: FloatArray, tolerance: float | None) -> None:
        self.changes: list[float] = []
        self._graph = graph
        self._tolerance = tolerance
        self._last_but_one = self._landmark = remembered(graph, start)
        self._return = np.inf  # distance from the last iterate but one
        self._drift = np.inf  # distance over the last whole window
        self._distances: deque[float] = deque(maxlen=WINDOW)  # from the nearer of the last two

    def add(self, old: FloatArray, new: FloatArray) -> None:
        """Add an iterate; ``old`` is the one before it."""
        self.changes.append(relative_change(self._graph, new, old))
        if self._tolerance is None:
            return
        if len(self.changes) > 2:
            self._return = relative_change(self._graph, new, self._last_but_one)
        self._last_but_one = remembered(self._graph, old)
        self._distances.append(min(self.changes[-1], self._return))
        if len(self.changes) % WINDOW == 0 and not self.strays:
            self._drift = relative_change(self._graph, new, self._landmark)
            self._landmark = remembered(self._graph, new)

    @property
    def rests(self) -> bool:
        """Whether the last iteration changed next to nothing."""
        return self._tolerance is not None and self.changes[-1] < self._tolerance

    @property
    def alternates(self) -> bool:
        """Whether the surface does not rest, but is back where it was two iterations ago."""
        if self._tolerance is None or self.rests:
            return False
        return self._return < max(self._tolerance, REMEMBERED)

    @property
    def strays(self) -> bool:
        """Whether the last iterate is far from both before it, compared with the usual distance."""
        if len(self._distances) < WINDOW:
            return False
        return self._distances[-1] > EXCURSION * median(self._distances)

    @property
    def wanders(self) -> bool:
        """Whether a window has just ended that led nowhere."""
        if self._tolerance is None or len(self.changes) % WINDOW or self.strays:
            return False
        small = max(self._drift, self.changes[-1]) <= WANDERING
        return small and self._drift <= STEPS * median(self.changes[-WINDOW:])

    def under_way(self, x: FloatArray) -> bool:
        """Whether the last window, or what came after it, moved the surface far, to x (N,) now.

        Before the second window the last iteration decides, or the one before an excursion.
        """
        if self._tolerance is None:
            return False
        if len(self.changes) < 2 * WINDOW:
            return self.changes[-2 if self.strays else -1] > UNDER_WAY
        return max(self._drift, relative_change(self._graph, x, self._landmark)) > UNDER_WAY


def relative_change(
    graph: PixelGraph, new: FloatArray, old: npt.NDArray[np.floating[Any]]
) -> float:
    """Root mean square of new - old over that of new, both without each component's mean."""
    moved, relief, largest = _squares(graph.starts, new, old)
    if not np.isfinite(moved + relief):
        return float("nan")
    relief = max(relief, (1e-12 * largest) ** 2 * graph.size)
    return float(np.sqrt(moved / relief)) if relief > 0 else 0.0


@njit(cache=True)
def _squares(starts: Any, new: Any, old: Any) -> Any:
    """Squared distances from the means, of new - old and of new; largest |new|."""
    moved = relief = largest = 0.0
    for c in range(len(starts) - 1):
        lo, hi = starts[c], starts[c + 1]
        mean_moved = mean_new = 0.0
        for i in range(lo, hi):
            mean_moved += new[i] - old[i]
            mean_new += new[i]
        mean_moved /= hi - lo
        mean_new /= hi - lo
        for i in range(lo, hi):
            moved += (new[i] - old[i] - mean_moved) ** 2
            relief += (new[i] - mean_new) ** 2
            largest = max(largest, abs(new[i]))
    return moved, relief, largest


def remembered(graph: PixelGraph, x: FloatArray) -> SingleArray:
    """x without each component's mean, in single precision: enough to compare with."""
    centred = np.empty(len(x), dtype=np.float32)
    _centre(graph.starts, x, centred)
    return centred


@njit(cache=True)
def _centre(starts: Any, x: Any, centred: Any) -> None:
    for c in range(len(starts) - 1):
        lo, hi = starts[c], starts[c + 1]
        mean = 0.0
        for i in range(lo, hi):
            mean += x[i] - x[lo]
        mean = x[lo] + mean / (hi - lo)
        for i in range(lo, hi):
            centred[i] = x[i] - mean
