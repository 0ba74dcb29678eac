"""How known depths compare with the surface of the normals alone."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rayrelief.components import label_medians
from rayrelief.conventions import FloatArray
from rayrelief.fusion.shift import GAUSSIAN, Blocks
from rayrelief.graph import PixelGraph

# Blocks of known depths that tell whether they agree with a surface; what noise has to leave of a
# correlation, also in deviations of one of nothing but noise.
FEWEST, LEAST_LEFT, SURELY = 50, 0.2, 6.0
ROUNDING = 1e-12  # relief of a constant over its size, as means over blocks are rounded
LEVELS = 20  # different values that known depths need: of fewer most neighbours have the same
CAP = 2.0  # median steps: larger ones, as at jumps, have no larger say


def agreement(
    graph: PixelGraph, nodes: npt.NDArray[np.int64], values: FloatArray, x: FloatArray
) -> float:
    """Rank correlation of values (M,) at some nodes with x (N,), each component for itself.

    Of the means of blocks, and over what their noise would leave of a perfect one; NaN where that
    is too little to tell: of a flat surface, say.
    """
    surface, blocks = x[nodes], Blocks.of(graph, nodes)
    if len(blocks.component) < FEWEST or not np.isfinite(surface).all():
        return math.nan
    noise = blocks.noise(blocks.means(values - surface))
    own = blocks.component.astype(np.int32)
    relief = (blocks.means(each) for each in (surface, values))
    one, other = (means - label_medians(means, own)[own] for means in relief)
    left = float(np.std(one)) / (math.hypot(float(np.std(one)), noise) or 1.0)
    is_flat = np.ptp(other) <= ROUNDING * float(np.max(np.abs(values)))
    if left < max(LEAST_LEFT, SURELY / math.sqrt(len(own))) or is_flat:
        return math.nan
    found = float(np.corrcoef(_ranks(one), _ranks(other))[0, 1]) / left
    return min(max(found, -1.0), 1.0)


def slope(
    graph: PixelGraph, nodes: npt.NDArray[np.int64], values: FloatArray, x: FloatArray
) -> float:
    """By how much values (M,) at some nodes rise where x (N,) rises by one.

    The weighted median over steps between blocks beside each other: neither parts of x at wrong
    places nor wrong values change it much. NaN where it could be 1 but for noise, or where the
    values have too few levels to tell.
    """
    surface, blocks = x[nodes], Blocks.of(graph, nodes)
    middle = np.quantile(values, (0.1, 0.9))  # without what is far off
    levels = np.unique(values[(values >= middle[0]) & (values <= middle[1])]).size
    few = len(blocks.component) < FEWEST or levels < LEVELS
    if few or not blocks.beside.size or not np.isfinite(surface).all():
        return math.nan
    first, second = blocks.beside.T
    across, up = (m[second] - m[first] for m in (blocks.means(surface), blocks.means(values)))
    across, up = across[across != 0.0], up[across != 0.0]
    if not across.size:
        return math.nan
    say = np.minimum(np.abs(across), CAP * float(np.median(np.abs(across))))
    found = _weighted_median(up / across, say)
    noise = GAUSSIAN * float(np.median(np.abs(up - found * across)))
    error = 1.25 * noise / math.sqrt(float(np.sum(say**2)))  # that of a median of Gaussian ones
    return found if error * SURELY < max(abs(found), 1.0) / 4.0 else math.nan


def misfit(
    graph: PixelGraph,
    nodes: npt.NDArray[np.int64],
    values: FloatArray,
    x: FloatArray,
    pixel: float,
) -> float:
    """Median distance of values (M,) at some nodes from x (N,), over the size of x.

    Each component is shifted to its values, and as large as its relief or its picture; a pixel is
    so much of x. NaN where no component has two values.
    """
    if not np.isfinite(x).all():
        return math.nan
    component, off = graph.component_of_node[nodes], []
    for each in np.flatnonzero(np.bincount(component) > 1):
        lo, hi = graph.starts[each], graph.starts[each + 1]
        size = max(4.0 * float(np.std(x[lo:hi])), pixel * math.sqrt(hi - lo))
        asked = (values - x[nodes])[component == each]
        off.append(np.abs(asked - np.median(asked)) / size)
    return float(np.median(np.concatenate(off))) if off else math.nan


def _weighted_median(values: FloatArray, weights: FloatArray) -> float:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2.0)])


def _ranks(values: FloatArray) -> FloatArray:
    """Rank of each value, the mean one of those that are equal."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: FloatArray = (np.cumsum(count) - (count - 1) / 2)[place]
    return ranks
