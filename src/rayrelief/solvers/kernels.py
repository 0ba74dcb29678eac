"""Parts of the solvers' kernels, written once; most of them are inlined.

numba's cache watches the file of a cached function only: after a change here, delete the caches of
the kernels that use it (CONTRIBUTING.md). Arrays that kernels read together come as a tuple; those
that they write do not: numba takes writing to the members of a tuple, in a parallel loop, for dead
code. A tuple in a tuple does not compile there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rayrelief.compiled import njit
from rayrelief.conventions import FloatArray, SingleArray
from rayrelief.solvers.segments import Segments, ends, of_components, of_each

EPSILON = float(np.finfo(np.float64).eps)
FUSED = {"contract"}  # multiply and add in one instruction; the order of sums stays as written


@njit(inline="always")
def block_range(block: int, size: int, first: int, end: int) -> Any:
    """Where a block of so many of the nodes first..end begins and ends."""
    lo = first + block * size
    return lo, min(lo + size, end)


@njit(inline="always", error_model="numpy")
def flow(matrix: Any, x: Any, out: Any, segments: Any, k: Any) -> None:
    """out = A x on segment k. Slices and unsigned indices spare the checks of each access."""
    first, stretches, neighbours, conductance, anchors = matrix
    lo, hi = ends(segments, k)
    x_block, out_block = x[lo:hi], out[lo:hi]
    out_block[:] = 0.0
    for d in range(0, len(conductance), 2):
        begin, end = first[d // 2, k], first[d // 2, k + 1]
        for s in range(begin, end):
            start, stop = stretches[s, 0], stretches[s, 1]
            to_there, to_back = stretches[s, 2], stretches[s, 3]
            x_here, out_here = x[start:stop], out[start:stop]
            x_there = x[start + to_there : stop + to_there]
            x_back = x[start + to_back : stop + to_back]
            c_there, c_back = conductance[d, start:stop], conductance[d + 1, start:stop]
            for i in range(stop - start):
                out_here[i] += c_there[i] * (x_here[i] - x_there[i]) + c_back[i] * (
                    x_here[i] - x_back[i]
                )
        if begin == end:  # ragged: there are none
            there, back = neighbours[d, lo:hi], neighbours[d + 1, lo:hi]
            c_there, c_back = conductance[d, lo:hi], conductance[d + 1, lo:hi]
            for i in range(hi - lo):
                out_block[i] += c_there[i] * (x_block[i] - x[there[i]]) + c_back[i] * (
                    x_block[i] - x[back[i]]
                )
    if len(anchors) > 0:
        anchor = anchors[lo:hi]
        for i in range(hi - lo):
            out_block[i] += anchor[i] * x_block[i]


@njit(inline="always", error_model="numpy")
def dot(left: Any, right: Any) -> Any:
    """Dot product in eight interleaved sums: a fixed order that still fills the vector unit."""
    whole = len(left) // 8 * 8
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for i in range(0, whole, 8):
        s0 += left[i] * right[i]
        s1 += left[i + 1] * right[i + 1]
        s2 += left[i + 2] * right[i + 2]
        s3 += left[i + 3] * right[i + 3]
        s4 += left[i + 4] * right[i + 4]
        s5 += left[i + 5] * right[i + 5]
        s6 += left[i + 6] * right[i + 6]
        s7 += left[i + 7] * right[i + 7]
    for i in range(whole, len(left)):
        s0 += left[i] * right[i]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@njit(inline="always")
def entries(rows: Any, i: int, size: int) -> Any:
    """First, end and step of the entries of row i of so many of multigrid's ``Rows``."""
    start, column, _ = rows
    if len(start) > 0:
        return start[i], start[i + 1], 1
    return i, len(column), size


@njit(inline="always", error_model="numpy")
def residual_square(anchors: Any, inverse: Any, factor: float, r: Any, lo: int) -> Any:
    """Square of the residual r of the nodes from lo on; the diagonal is factor / inverse.

    An anchored node counts by the share of its edges in its diagonal: what a strong anchor alone
    leaves of a residual moves nothing, and would hide everything else.
    """
    if len(anchors) == 0:
        return dot(r, r)
    total = 0.0
    for i in range(len(r)):
        left = r[i] * max(0.0, 1.0 - anchors[lo + i] * inverse[lo + i] / factor)
        total += left * left
    return total


def residual_limits(
    segments: Segments,
    anchors: SingleArray,
    rhs: FloatArray,
    x: FloatArray,
    inverse: FloatArray | SingleArray,
    factor: float,
    rtol: float,
) -> FloatArray:
    """``residual_square`` (C,) at which each component counts as solved.

    Next to no right-hand side is common: plateaus whose jumps have no weight. There the residual
    ends in rounding errors of x, and following these leads to infinity. Of what anchors ask for
    only the part counts that their edges resist.
    """
    squares = of_each(segments, _right_and_rounding, 2, anchors, rhs, x, inverse, factor)
    right, rounding = of_components(segments, squares)
    limits: FloatArray = rtol * rtol * right + rounding
    return limits


@njit(cache=True, nogil=True, error_model="numpy")
def _right_and_rounding(
    out: Any,
    segments: Any,
    anchors: Any,
    rhs: Any,
    x: Any,
    inverse: Any,
    factor: float,
    some: Any,
) -> None:
    """Squares of the right-hand side, and of the rounding errors of the residual."""
    for k in range(some.start, some.stop):
        lo, hi = ends(segments, k)
        right = rounding = 0.0
        for i in range(lo, hi):
            flux = rhs[i]
            error = EPSILON * x[i] * factor / inverse[i] if inverse[i] > 0.0 else 0.0
            if len(anchors) > 0:
                share = max(0.0, 1.0 - anchors[i] * inverse[i] / factor)
                flux, error = share * (rhs[i] - anchors[i] * x[i]), share * error
            right += flux * flux
            rounding += error * error
        out[k, 0], out[k, 1] = right, rounding
