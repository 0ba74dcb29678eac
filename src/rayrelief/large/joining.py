"""Joining blocks: the surface is that of all blocks by their shares, each part of a block moved.

What moves a large part is bilinear on a grid of nodes over its block: so it may be lifted, tilted
and bent. A small one, which hardly reaches some of the nodes, is lifted alone, by its first node.
By how much is found by a coarse problem (coarse.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import FloatArray
from rayrelief.large.equations import EdgeImages
from rayrelief.large.layout import NODES, Block, IntArray, Window, common, shape_of, size_of, within

if TYPE_CHECKING:
    from rayrelief.large.steps import Job

Asked = tuple[int, FloatArray]
"""Number of a block, and what is asked of each of its parts and nodes (P, nodes)."""

Moves = Mapping[int, FloatArray]
"""Of blocks, by their numbers, the moves (P, nodes) of their parts."""


def equations_of(job: Job, window: Window) -> EdgeImages:
    """Equations of a window, each as the block decided that its pixel a is in the core of."""
    stacked = job.store.window(job.layout, "equations", window)
    inside = job.store.window(job.layout, "inside", window)
    images = EdgeImages.stacked(job.connectivity, stacked)
    for _, here, there, conductance, _ in images.pairs():
        # Two blocks may differ about a pixel beside one without a normal.
        conductance[~(inside[here] & inside[there])] = 0.0
    return images


@dataclass(frozen=True, eq=False)
class Member:
    """What a block has of a window.

    Attributes
    ----------
    block, both
        The block, and what it and the window have in common.
    labels, share
        (h, w) parts of the block there, -1 where it has none, and what it counts at each pixel.
    """

    block: Block
    both: Window
    labels: npt.NDArray[np.int32]
    share: FloatArray


def members(job: Job, window: Window) -> Iterator[Member]:
    """What each block has of a window."""
    for block in job.layout.around(window):
        both = common(block.whole, window)
        if size_of(both):
            labels = job.store.read("parts", block.number)[within(both, block.whole)]
            yield Member(block, both, labels, job.layout.share(block, both))


def nodes(job: Job, member: Member) -> Iterator[tuple[IntArray, FloatArray]]:
    """Nodes (h, w) that move each pixel, counted over all parts of its block, and their weights.

    There are four for each pixel. They are negative where the block has no part.
    """
    first = member.labels.astype(np.int64) * NODES**2
    bends = member.labels < job.bending[member.block.number]
    for node, weight in job.layout.corners(member.block, member.both):
        yield first + np.where(bends, node, 0), weight


def lift(job: Job, member: Member, moves: FloatArray) -> FloatArray:
    """By how much (h, w) the parts of a block are moved, from the moves (P, nodes) of its nodes."""
    padded = np.append(moves.ravel(), np.zeros(NODES**2))  # the last ones where there is no part
    lifted: FloatArray = np.zeros(shape_of(member.both))
    for node, weight in nodes(job, member):
        lifted += weight * padded[node]
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
        count = NODES**2 * (job.first[number + 1] - job.first[number])
        inside = member.labels >= 0
        much = (member.share * left[within(member.both, block.core)])[inside]
        total = np.zeros(count)
        for node, weight in nodes(job, member):
            total += np.bincount(node[inside], weight[inside] * much, minlength=count)
        asked.append((number, total.reshape(-1, NODES**2)))
    return asked
