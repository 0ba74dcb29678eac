"""The coarse problem: what moves the parts of all blocks so that the energy is least.

The surface is the sum over blocks of share * (x of the block + the bilinear move of its part). The
moves that minimise the energy of all equations solve a problem with one unknown per node of each
part that may bend and one per other part, and a matrix Z^T A Z in which those are neighbours that
an equation joins. What is one core's alone has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.compiled import njit
from rayrelief.conventions import FloatArray
from rayrelief.graph import STEPS
from rayrelief.large.job import Job
from rayrelief.large.joining import Asked, Moves, equations_of, members, nodes, unknowns_of
from rayrelief.large.layout import NODES, Block, IntArray, Window, common, shape_of, size_of, within

TILE = 128  # pixels along a side of what is coupled at a time
REGULAR = 1e-11  # of the diagonal: fixes what nothing else determines
LEAST = 1e-11  # of its largest value: what the diagonal counts as at least
SAME = 1e-12  # weights of one unknown at two pixels that differ by less do not differ
CORNERS = 4
MOST = 1024  # unknowns whose matrix is dense


@dataclass(frozen=True, eq=False)
class Coupling:
    """Entries of the coarse matrix from the equations of one core.

    Attributes
    ----------
    first, second, value
        (E,) unknowns, and what is added to the matrix there.
    links
        (L, 2) parts that have a pixel in common, each also with itself. They are one piece of
        surface, even if both count alike at all of their pixels, so that no equation joins them.
    """

    first: IntArray
    second: IntArray
    value: FloatArray
    links: IntArray


def couple_core(job: Job, block: Block) -> Coupling:
    """Coarse matrix of the equations of one core: Z^T A Z, with the moves of all unknowns in Z."""
    steps = np.array(STEPS[job.connectivity][::2], dtype=np.int64)
    # Unknowns of the blocks around are counted from 0: those of the whole map are too many.
    near = [each.number for each in job.layout.around(job.layout.grown(block.core, 1))]
    counts = [unknowns_of(job, n) for n in near]
    begin = dict(zip(near, np.cumsum([0, *counts]).tolist(), strict=False))
    starts = _starts(job)
    whole = np.concatenate([np.arange(starts[n], starts[n + 1]) for n in near])
    local = np.full(len(whole), -1, np.int32)
    dense = np.zeros((MOST, MOST))
    first, second, value = [], [], []
    rows, columns = block.core
    for top in range(rows.start, rows.stop, TILE):
        strip = slice(top, min(top + TILE, rows.stop)), columns
        outer = job.layout.grown(strip, 1)
        conductance = equations_of(job, outer).conductance
        unknown, weight = _unknowns(job, outer, begin)
        for left in range(columns.start, columns.stop, TILE):
            tile = strip[0], slice(left, min(left + TILE, columns.stop))
            part = within(job.layout.grown(tile, 1), outer)
            own = within(tile, job.layout.grown(tile, 1))
            bounds = (own[0].start, own[0].stop, own[1].start, own[1].stop)
            arrays = tuple(
                np.ascontiguousarray(array[(slice(None), *part)])
                for array in (unknown, weight, conductance)
            )
            done = 0
            while done < size_of(tile):
                met, matrix, done = _galerkin(arrays, steps, bounds, local, dense, done)
                i, j = np.nonzero(matrix)
                first.append(whole[met[i]])
                second.append(whole[met[j]])
                value.append(matrix[i, j])
    both, total = _added_up(*map(np.concatenate, (first, second, value)))
    return Coupling(both[0], both[1], total, _links(job, block.core))


class Coarse:
    """The coarse problem, factorised.

    Attributes
    ----------
    parts, component
        (P,) numbers of the parts that have unknowns, and which of them hang together.
    part
        (U,) which of those parts each unknown moves.
    """

    def __init__(self, couplings: list[Coupling], job: Job) -> None:
        from scipy.sparse import coo_array, diags_array
        from scipy.sparse.csgraph import connected_components
        from scipy.sparse.linalg import splu

        first = np.concatenate([c.first for c in couplings])
        second = np.concatenate([c.second for c in couplings])
        value = np.concatenate([c.value for c in couplings])
        links = np.concatenate([c.links for c in couplings])
        self.parts = np.unique(links)
        self._starts = _starts(job)
        self._unknowns, self.part = _numbered(job, self.parts, self._starts)
        first, second = (np.searchsorted(self._unknowns, each) for each in (first, second))
        pairs = np.searchsorted(self.parts, links).T
        one, other = np.concatenate((self.part[np.stack((first, second))], pairs), axis=1)
        joined = coo_array((np.ones(len(one)), (one, other)), shape=(len(self.parts),) * 2)
        self.component: npt.NDArray[np.int32] = connected_components(joined, directed=False)[1]
        # Most large parts do not reach all nodes of their block.
        self._met, position = np.unique(first, return_inverse=True)
        entries = value, (position, np.searchsorted(self._met, second))
        matrix: Any = coo_array(entries, shape=(len(self._met),) * 2).tocsc()
        diagonal = matrix.diagonal()
        least = LEAST * diagonal.max(initial=0.0)
        regular = diags_array(REGULAR * np.maximum(diagonal, least))
        # Of a symmetric, positive matrix: a third fewer numbers than the usual order leaves.
        order: Any = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0}
        order["options"] = {"SymmetricMode": True}
        found = len(self._met) > 0
        self._solver = splu((matrix + regular).tocsc(), **order) if found else None

    def moves(self, asked: list[list[Asked]]) -> FloatArray:
        """Moves (U,), from what all cores ask of unknowns of some blocks."""
        right = np.zeros(len(self._unknowns))
        for core in asked:
            for number, which, values in core:
                right[np.searchsorted(self._unknowns, self._starts[number] + which)] += values
        moves = np.zeros_like(right)
        if self._solver is None:
            return moves
        moves[self._met] = self._solver.solve(right[self._met])
        # The constant of a component is free, and rounding errors must not move it.
        component = self.component[self.part[self._met]]
        total, count = np.bincount(component, moves[self._met]), np.bincount(component)
        moves[self._met] -= (total / np.maximum(count, 1))[component]
        return moves

    def by_block(self, moves: FloatArray) -> Moves:
        """Moves (U,) of all unknowns, block by block."""
        ends = pairwise(np.searchsorted(self._unknowns, self._starts).tolist())
        return {
            number: (self._unknowns[begin:end] - self._starts[number], moves[begin:end])
            for number, (begin, end) in enumerate(ends)
        }


def _starts(job: Job) -> IntArray:
    """First unknown of each block, and how many there are in all."""
    return np.cumsum([0, *(unknowns_of(job, number) for number in range(len(job.layout)))])


def _numbered(job: Job, parts: IntArray, starts: IntArray) -> tuple[IntArray, IntArray]:
    """Unknowns (U,) of some parts, and which of these each moves."""
    number = np.searchsorted(job.first, parts, side="right") - 1
    label, bending = parts - np.take(job.first, number), np.array(job.bending)[number]
    more = NODES**2 - 1
    count = np.where(label < bending, 1 + more, 1)
    first = starts[number] + label + more * np.minimum(label, bending)
    part = np.repeat(np.arange(len(parts)), count)
    return first[part] + np.arange(len(part)) - (np.cumsum(count) - count)[part], part


def _unknowns(
    job: Job, window: Window, begin: dict[int, int]
) -> tuple[npt.NDArray[np.int32], FloatArray]:
    """Unknowns (Q, h, w) that move each pixel of a window, -1 for none, and how much.

    Those of a block are counted from where it begins.
    """
    found = [*members(job, window)]
    shape = CORNERS * len(found), *shape_of(window)
    unknown, much = np.full(shape, -1, np.int32), np.zeros(shape)
    q = 0
    for member in found:
        here = within(member.both, window)
        inside = (member.labels >= 0) & (member.share > 0)
        first = begin[member.block.number]
        for node, weight in nodes(job, member):
            met = inside & (weight > 0)
            unknown[q][here] = np.where(met, first + node, -1)
            much[q][here] = np.where(met, member.share * weight, 0.0)
            q += 1
    return unknown, much


def _links(job: Job, window: Window) -> IntArray:
    """Parts (L, 2) that have a pixel of a window in common, each also with itself."""
    found = []
    for one, other in combinations_with_replacement(members(job, window), 2):
        both = common(one.both, other.both)
        parts = [
            np.where(part >= 0, part.astype(np.int64) + job.first[member.block.number], -1)
            for member in (one, other)
            for part in [member.labels[within(both, member.both)]]
        ]
        inside = (parts[0] >= 0) & (parts[1] >= 0)
        pairs = np.unique(parts[0][inside] * job.first[-1] + parts[1][inside])
        found.append(np.stack(np.divmod(pairs, job.first[-1]), axis=-1))
    return np.concatenate(found) if found else np.zeros((0, 2), np.int64)


def _added_up(first: IntArray, second: IntArray, value: FloatArray) -> tuple[IntArray, FloatArray]:
    """Places (2, E), and the sum of what is added at each."""
    both, where = np.unique(np.stack((first, second)), axis=1, return_inverse=True)
    total: FloatArray = np.zeros(both.shape[1])
    np.add.at(total, where.ravel(), value)
    return both, total


@njit(cache=True)
def _galerkin(arrays: Any, steps: Any, bounds: Any, local: Any, dense: Any, done: int) -> Any:
    """Unknowns in the equations of a tile's own pixels, their dense matrix, and how many are done.

    It begins after those done, and ends before there are too many unknowns. Unknowns and weights
    (Q, h, w) and conductances (P, h, w) include the pixels around those within the bounds; local is
    all -1 and dense all 0 before and afterwards.
    """
    unknown, weight, conductance = arrays
    met, count = np.empty(len(dense), np.int64), 0
    at, by = np.empty(2 * len(unknown), np.int64), np.empty(2 * len(unknown))
    top, bottom, left, right = bounds
    width = right - left
    while done < (bottom - top) * width and count + len(steps) * len(at) <= len(dense):
        i, j = top + done // width, left + done % width
        done += 1
        for p in range(len(steps)):
            say = conductance[p, i, j]
            if say <= 0:
                continue
            i_there, j_there = i + steps[p, 1], j + steps[p, 0]
            n = 0
            for q in range(len(unknown)):
                a, b = unknown[q, i, j], unknown[q, i_there, j_there]
                here, there = weight[q, i, j], weight[q, i_there, j_there]
                if a == b:
                    if a >= 0 and here != there:
                        n = _put(at, by, n, a, here - there)
                    continue
                if a >= 0:
                    n = _put(at, by, n, a, here)
                if b >= 0:
                    n = _put(at, by, n, b, -there)
            n = _differing(at, by, n)
            for k in range(n):
                if local[at[k]] < 0:
                    local[at[k]] = count
                    met[count] = at[k]
                    count += 1
            for k in range(n):
                scaled = say * by[k]
                for m in range(n):
                    dense[local[at[k]], local[at[m]]] += scaled * by[m]
    for k in range(count):
        local[met[k]] = -1
    matrix = dense[:count, :count].copy()
    dense[:count, :count] = 0.0
    return met[:count].copy(), matrix, done


@njit(inline="always")
def _put(at: Any, by: Any, n: int, unknown: int, weight: float) -> int:
    """Add a weight to that of an unknown; returns how many there are then."""
    for k in range(n):
        if at[k] == unknown:
            by[k] += weight
            return n
    at[n], by[n] = unknown, weight
    return n + 1


@njit(inline="always")
def _differing(at: Any, by: Any, n: int) -> int:
    """Leave out unknowns that move both pixels alike: a rounding error on the diagonal has a say.

    Those of a small part are its four corners, which are one unknown.
    """
    kept = 0
    for k in range(n):
        if abs(by[k]) > SAME:
            at[kept], by[kept] = at[k], by[k]
            kept += 1
    return kept
