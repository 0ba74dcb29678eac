"""Joining blocks: the surface is that of all blocks by their shares, each part of a block moved.

What moves a large part is bilinear on a grid of nodes over its block: so it may be lifted, tilted
and bent. A small one, which hardly reaches some of the nodes, is lifted alone. By how much is found
by a coarse problem (coarse.py), whose unknowns are all nodes of large parts, and small parts.

What no equation joins to anything beyond one core is that core's alone: no other block has a share
in it, and it has no unknown. Of such dust a map may have as many pieces as pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import FloatArray
from rayrelief.large.equations import EdgeImages
from rayrelief.large.job import Job
from rayrelief.large.layout import NODES, Block, IntArray, Window, common, shape_of, size_of, within

INSIDE, ALONE = 1, 2  # pixels of a core; those of parts of the map that are in no other core

Asked = tuple[int, IntArray, FloatArray]
"""Number of a block, unknowns of it, counted from its first, and what is asked of each."""

Own = tuple[IntArray, FloatArray]
"""Unknowns of a block, counted from its first, and their moves; all others do not move."""

Moves = Mapping[int, Own]
"""Moves of blocks, by their numbers."""


def unknowns_of(job: Job, number: int) -> int:
    """Unknowns of a block: all nodes of each part that may bend, and one of each other part."""
    return job.first[number + 1] - job.first[number] + (NODES**2 - 1) * job.bending[number]


def equations_of(job: Job, window: Window) -> EdgeImages:
    """Equations of a window, each as the block decided whose core has its pixel a."""
    stacked = job.store.window(job.layout, "equations", window)
    inside = job.store.window(job.layout, "inside", window)
    images = EdgeImages.stacked(job.connectivity, stacked)
    for _, here, there, conductance, _ in images.pairs():
        # Two blocks may differ about a pixel beside one without a normal.
        conductance[(inside[here] == 0) | (inside[here] != inside[there])] = 0.0
    return images


@dataclass(frozen=True, eq=False)
class Member:
    """What a block has of a window.

    Attributes
    ----------
    block, both
        The block, and what it and the window have in common.
    labels, share
        (h, w) parts of the block there, -1 where it has none that is joined to those of other
        blocks, and what it counts at each pixel.
    """

    block: Block
    both: Window
    labels: npt.NDArray[np.int32]
    share: FloatArray


def members(job: Job, window: Window) -> Iterator[Member]:
    """What each block has of a window."""
    alone = job.store.window(job.layout, "inside", window) == ALONE
    for block in job.layout.around(window):
        both = common(block.whole, window)
        if size_of(both):
            labels = job.store.read("parts", block.number)[within(both, block.whole)]
            share = job.layout.share(block, both)
            if (here := alone[within(both, window)]).any():
                labels, core = np.where(here, np.int32(-1), labels), common(block.core, window)
                share[here] = 0.0
                share[within(core, both)][here[within(core, both)]] = 1.0
            yield Member(block, both, labels, share)


def nodes(job: Job, member: Member) -> Iterator[tuple[IntArray, FloatArray]]:
    """Unknowns (h, w) that move each pixel, counted from the first of its block, and their weights.

    There are four for each pixel. They are -1 where the block has no part.
    """
    labels, bending = member.labels.astype(np.int64), job.bending[member.block.number]
    bends = (labels >= 0) & (labels < bending)
    first = np.where(bends, NODES**2 * labels, labels + (NODES**2 - 1) * bending)
    first[labels < 0] = -1
    for node, weight in job.layout.corners(member.block, member.both):
        yield first + np.where(bends, node, 0), weight


def lift(job: Job, member: Member, own: Own) -> FloatArray:
    """By how much (h, w) the parts of a block are moved."""
    moves = np.zeros(unknowns_of(job, member.block.number) + 1)  # the last where there is no part
    moves[own[0]] = own[1]
    lifted: FloatArray = np.zeros(shape_of(member.both))
    for unknown, weight in nodes(job, member):
        lifted += weight * moves[unknown]
    return lifted


def glued(job: Job, window: Window, sweep: int, moves: Moves | None = None) -> FloatArray:
    """Surface (h, w) of a window after a sweep, all blocks by their shares; NaN outside."""
    total, weight = np.zeros(shape_of(window)), np.zeros(shape_of(window))
    for member in members(job, window):
        number, both = member.block.number, member.both
        x = np.array(job.store.read(job.surface(sweep), number)[within(both, member.block.whole)])
        if moves is not None:
            x += lift(job, member, moves[number])
        found = np.isfinite(x)
        here = within(both, window)
        total[here] += np.where(found, member.share * x, 0.0)
        weight[here] += np.where(found, member.share, 0.0)
    surface: FloatArray = np.divide(
        total, weight, out=np.full(total.shape, np.nan), where=weight > 0
    )
    return surface


def filled(x: FloatArray) -> FloatArray:
    """A surface, changed in place: its median where it has no value."""
    missing = ~np.isfinite(x)
    x[missing] = 0.0 if missing.all() else np.median(x[~missing][::101])
    return x


def ring_values(job: Job, block: Block, sweep: int, moves: Moves) -> FloatArray:
    """Surface of the pixels just outside of a block, 0 where there is none."""
    found = [glued(job, window, sweep, moves).ravel() for window in job.layout.ring(block)]
    values: FloatArray = np.nan_to_num(np.concatenate(found)) if found else np.zeros(0)
    return values


def residual_of_core(job: Job, block: Block, sweep: int) -> list[Asked]:
    """What the equations of one core ask of the blocks in it."""
    outer = job.layout.grown(block.core, 1)
    images = equations_of(job, outer)
    x = np.nan_to_num(glued(job, outer, sweep))
    left = images.residual(x)[within(block.core, outer)]
    asked = []
    for member in members(job, block.core):
        number = member.block.number
        count = unknowns_of(job, number)
        inside = member.labels >= 0
        much = (member.share * left[within(member.both, block.core)])[inside]
        total = np.zeros(count)
        for unknown, weight in nodes(job, member):
            total += np.bincount(unknown[inside], weight[inside] * much, minlength=count)
        which = np.flatnonzero(total)
        asked.append((number, which, total[which]))
    return asked
