"""Joining blocks: one offset per part of a block, from a coarse problem.

The surface is the sum over blocks of share * (x of the block + offset of its part). The offsets
that minimise the energy of all equations solve a problem with one unknown per part, whose matrix
is again a weighted graph Laplacian: parts that overlap, or that an equation joins, are neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import FloatArray
from rayrelief.large.equations import EdgeImages
from rayrelief.large.layout import Block, Window, common, shape_of, size_of, within

if TYPE_CHECKING:
    from rayrelief.large.steps import Job

ROWS = 128  # of a core whose equations are coupled at a time
REGULAR = 1e-11  # of the diagonal: fixes the constant that nothing else determines

Parts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Coupling:
    """Entries of the coarse matrix from the equations of one core, and the shares on its ring.

    Attributes
    ----------
    first, second, value
        (E,) parts and what is added to the matrix there.
    pixel, part, share
        (S,) of the ring of the block: how much the offset of a part moves a pixel.
    """

    first: Parts
    second: Parts
    value: FloatArray
    pixel: Parts
    part: Parts
    share: FloatArray


def equations_of(job: Job, window: Window) -> EdgeImages:
    """Equations of a window, each as the block decided that its pixel a is in the core of."""
    stacked = job.store.window(job.layout, "equations", window)
    inside = job.store.window(job.layout, "inside", window)
    images = EdgeImages.stacked(job.connectivity, stacked)
    for _, here, there, conductance, _ in images.pairs():
        # Two blocks may differ about a pixel beside one without a normal.
        conductance[~(inside[here] & inside[there])] = 0.0
    return images


def glued(job: Job, window: Window, sweep: int, offsets: FloatArray | None = None) -> FloatArray:
    """Surface (h, w) of a window after a sweep, all blocks by their shares; NaN outside."""
    total, weight = np.zeros(shape_of(window)), np.zeros(shape_of(window))
    for block in job.layout.around(window):
        both = common(block.whole, window)
        if not size_of(both):
            continue
        there = within(both, block.whole)
        x = np.array(job.store.read(f"surface.{sweep}", block.number)[there])
        if offsets is not None:
            labels = job.store.read("parts", block.number)[there]
            own = np.append(offsets[job.first[block.number] : job.first[block.number + 1]], 0.0)
            x += own[labels]  # the last one where there is no part
        share = job.layout.share(block, both)
        found = np.isfinite(x)
        here = within(both, window)
        total[here] += np.where(found, share * x, 0.0)
        weight[here] += np.where(found, share, 0.0)
    surface: FloatArray = np.divide(
        total, weight, out=np.full(total.shape, np.nan), where=weight > 0
    )
    return surface


def ring_values(job: Job, block: Block, sweep: int) -> FloatArray:
    """Surface of the pixels just outside of a block, 0 where there is none."""
    found = [glued(job, window, sweep).ravel() for window in job.layout.ring(block)]
    values: FloatArray = np.nan_to_num(np.concatenate(found)) if found else np.zeros(0)
    return values


def residual_of_core(job: Job, block: Block, sweep: int) -> tuple[Parts, FloatArray]:
    """Parts, and what the equations ask of each in one core."""
    outer = job.layout.grown(block.core, 1)
    images = equations_of(job, outer)
    x = np.nan_to_num(glued(job, outer, sweep))
    core = within(block.core, outer)
    left = images.residual(x)[core]
    total = np.zeros(job.first[-1])
    for labels, share in _members(job, block.core):
        inside = labels >= 0
        total += np.bincount(labels[inside], (share * left)[inside], minlength=len(total))
    (met,) = np.nonzero(total)
    return met, total[met]


def couple_core(job: Job, block: Block) -> Coupling:
    """Coarse matrix of the equations of one core: Z^T A Z, with the shares of all parts in Z."""
    from scipy.sparse import coo_array

    count = job.first[-1]
    matrix: Any = coo_array((count, count)).tocsr()
    rows, columns = block.core
    for top in range(rows.start, rows.stop, ROWS):
        strip = slice(top, min(top + ROWS, rows.stop)), columns
        outer = job.layout.grown(strip, 1)
        images = equations_of(job, outer)
        # Those of the strip's own pixels, to which another strip does not come back.
        own = np.zeros(shape_of(outer), np.bool_)
        own[within(strip, outer)] = True
        images.conductance[:, ~own] = 0.0
        members = [*_members(job, outer)]
        for _, here, there, conductance, _ in images.pairs():
            active = np.zeros(conductance.shape, np.bool_)
            for labels, share in members:
                active |= (labels[here] != labels[there]) | (share[here] != share[there])
            e = np.flatnonzero(active & (conductance > 0))
            if not e.size:
                continue
            edge, part, value = [], [], []
            for labels, share in members:
                for side, sign in ((here, 1.0), (there, -1.0)):
                    which, much = labels[side].ravel()[e], share[side].ravel()[e]
                    met = np.flatnonzero((which >= 0) & (much > 0))
                    edge.append(met)
                    part.append(which[met])
                    value.append(sign * much[met])
            entries = np.concatenate(value), (np.concatenate(edge), np.concatenate(part))
            difference = coo_array(entries, shape=(len(e), count)).tocsr()
            scaled = difference.multiply(conductance.ravel()[e].astype(np.float64)[:, None])
            matrix = matrix + (difference.T @ scaled.tocsr())
    found = matrix.tocoo()
    pixels, parts, shares = _ring_shares(job, block)
    first, second = found.coords
    return Coupling(
        first.astype(np.int64), second.astype(np.int64), found.data, pixels, parts, shares
    )


class Coarse:
    """The coarse problem, factorised."""

    def __init__(self, couplings: list[Coupling], count: int) -> None:
        from scipy.sparse import coo_array, diags_array
        from scipy.sparse.csgraph import connected_components
        from scipy.sparse.linalg import splu

        first = np.concatenate([c.first for c in couplings])
        second = np.concatenate([c.second for c in couplings])
        value = np.concatenate([c.value for c in couplings])
        matrix = coo_array((value, (first, second)), shape=(count, count)).tocsr()
        self.component: npt.NDArray[np.int32] = connected_components(matrix, directed=False)[1]
        diagonal = matrix.diagonal()
        alone = diagonal <= 0
        regular = REGULAR * diagonal + np.where(alone, 1.0, 0.0)
        self._solver = splu((matrix + diags_array(regular)).tocsc()) if count else None
        self.count = count

    def offsets(self, asked: list[tuple[Parts, FloatArray]]) -> FloatArray:
        """Offset of each part, from what all cores ask of them."""
        right = np.zeros(self.count)
        for parts, values in asked:
            right[parts] += values
        if self._solver is None:
            return right
        offsets: FloatArray = self._solver.solve(right)
        # The constant of a component is free, and rounding errors must not move it.
        sizes = np.bincount(self.component)
        offsets -= (np.bincount(self.component, offsets) / sizes)[self.component]
        return offsets


def _members(job: Job, window: Window) -> Iterator[tuple[Parts, FloatArray]]:
    """Of each block in a window: numbers of its parts (h, w), -1 where it has none, and shares."""
    for block in job.layout.around(window):
        both = common(block.whole, window)
        if not size_of(both):
            continue
        labels = np.full(shape_of(window), -1, np.int64)
        share = np.zeros(shape_of(window))
        found = np.array(job.store.read("parts", block.number)[within(both, block.whole)], np.int64)
        here = within(both, window)
        labels[here] = np.where(found >= 0, found + job.first[block.number], -1)
        share[here] = job.layout.share(block, both)
        yield labels, share


def _ring_shares(job: Job, block: Block) -> tuple[Parts, Parts, FloatArray]:
    pixels, parts, shares, passed = [], [], [], 0
    for window in job.layout.ring(block):
        for labels, share in _members(job, window):
            met = np.flatnonzero((labels >= 0) & (share > 0))
            pixels.append(met + passed)
            parts.append(labels.ravel()[met])
            shares.append(share.ravel()[met])
        passed += size_of(window)
    if not pixels:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    return np.concatenate(pixels), np.concatenate(parts), np.concatenate(shares)
