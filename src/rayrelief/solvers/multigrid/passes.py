"""Passes of conjugate gradients over the pixels, segment by segment."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rayrelief.compiled import njit, prange
from rayrelief.conventions import SingleArray
from rayrelief.operators import Operator
from rayrelief.pieces import shares, side_by_side
from rayrelief.solvers.kernels import FUSED, dot, flow, residual_square
from rayrelief.solvers.multigrid.cycle import DAMPING
from rayrelief.solvers.segments import SEGMENT, ends, for_each, sums

SMALLEST = 1e-37
NODES_AT_A_TIME = 1 << 16


def invert_diagonal(operator: Operator, inverse: SingleArray) -> None:
    """DAMPING over the diagonal, 0 where nothing is joined, or by less than floats can invert."""
    invert = partial(_invert_diagonal, operator.conductance, operator.anchors, inverse)
    side_by_side(invert, shares(len(inverse), NODES_AT_A_TIME))


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def _invert_diagonal(conductance: Any, anchors: Any, inverse: Any, some: Any) -> None:
    for lo in range(some.start, some.stop, SEGMENT):
        hi = min(lo + SEGMENT, some.stop)
        total = conductance[0, lo:hi].astype(np.float64)
        for d in range(1, len(conductance)):
            part = conductance[d, lo:hi]
            for i in range(hi - lo):
                total[i] += part[i]
        if len(anchors) > 0:
            for i in range(hi - lo):
                total[i] += anchors[lo + i]
        for i in range(hi - lo):
            inverse[lo + i] = DAMPING / total[i] if total[i] > SMALLEST else 0.0


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def begin(matrix: Any, inverse: Any, rhs: Any, x: Any, r: Any, z: Any, segments: Any) -> Any:
    """Residual r and the first Jacobi step z; returns r.r of each component."""
    partial = for_each(segments)
    for k in prange(len(partial)):
        lo, hi = ends(segments, k)
        flow(matrix, x, r, segments, k)
        r_block, z_block, inverse_block, rhs_block = r[lo:hi], z[lo:hi], inverse[lo:hi], rhs[lo:hi]
        for i in range(hi - lo):
            left = rhs_block[i] - r_block[i]
            r_block[i] = left
            z_block[i] = inverse_block[i] * left
        partial[k] = residual_square(matrix[-1], inverse, DAMPING, r_block, lo)
    return sums(partial, segments)


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def residual(matrix: Any, r: Any, z: Any, q: Any, segments: Any) -> None:
    """q = r - A z."""
    for k in prange(len(segments[1])):
        lo, hi = ends(segments, k)
        flow(matrix, z, q, segments, k)
        r_block, q_block = r[lo:hi], q[lo:hi]
        for i in range(hi - lo):
            q_block[i] = r_block[i] - q_block[i]


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def smooth(matrix: Any, inverse: Any, r: Any, z: Any, q: Any, segments: Any) -> Any:
    """q = z after one more Jacobi step, the preconditioned residual; returns r.q, sum r, sum q."""
    rq, sum_r, sum_q = for_each(segments), for_each(segments), for_each(segments)
    for k in prange(len(rq)):
        lo, hi = ends(segments, k)
        flow(matrix, z, q, segments, k)
        r_block, q_block, z_block, inverse_block = r[lo:hi], q[lo:hi], z[lo:hi], inverse[lo:hi]
        for i in range(hi - lo):
            q_block[i] = z_block[i] + inverse_block[i] * (r_block[i] - q_block[i])
        rq[k] = dot(r_block, q_block)
        sum_r[k], sum_q[k] = _sum(r_block), _sum(q_block)
    return sums(rq, segments), sums(sum_r, segments), sums(sum_q, segments)


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def turn(factor: Any, mean: Any, p: Any, q: Any, segments: Any) -> None:
    """Next direction: p = q - mean + factor p; p is not read where the factor is zero."""
    for k in prange(len(segments[1])):
        lo, hi = ends(segments, k)
        component = segments[1][k]
        p_block, q_block, turn, shift = p[lo:hi], q[lo:hi], factor[component], mean[component]
        if turn == 0.0:
            for i in range(hi - lo):
                p_block[i] = q_block[i] - shift
        else:
            for i in range(hi - lo):
                p_block[i] = (q_block[i] - shift) + turn * p_block[i]


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def multiply(matrix: Any, p: Any, z: Any, segments: Any) -> Any:
    """z = A p; returns p.z of each component."""
    partial = for_each(segments)
    for k in prange(len(partial)):
        lo, hi = ends(segments, k)
        flow(matrix, p, z, segments, k)
        partial[k] = dot(p[lo:hi], z[lo:hi])
    return sums(partial, segments)


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def advance(
    step: Any, anchors: Any, inverse: Any, x: Any, r: Any, p: Any, z: Any, segments: Any
) -> Any:
    """Step along p, with A p in z; leaves the next Jacobi step in z; returns r.r."""
    partial = for_each(segments)
    for k in prange(len(partial)):
        lo, hi = ends(segments, k)
        x_block, r_block, p_block, z_block = x[lo:hi], r[lo:hi], p[lo:hi], z[lo:hi]
        inverse_block, length = inverse[lo:hi], step[segments[1][k]]
        for i in range(hi - lo):
            x_block[i] += length * p_block[i]
            left = r_block[i] - length * z_block[i]
            r_block[i] = left
            z_block[i] = inverse_block[i] * left
        partial[k] = residual_square(anchors, inverse, DAMPING, r_block, lo)
    return sums(partial, segments)


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def anchored_sums(anchors: Any, q: Any, segments: Any) -> Any:
    """Sum of anchors . q of each component."""
    partial = for_each(segments)
    for k in prange(len(partial)):
        lo, hi = ends(segments, k)
        partial[k] = dot(anchors[lo:hi], q[lo:hi])
    return sums(partial, segments)


@njit(inline="always", error_model="numpy")
def _sum(values: Any) -> float:
    """Sum in four interleaved sums."""
    whole = len(values) // 4 * 4
    s0 = s1 = s2 = s3 = 0.0
    for i in range(0, whole, 4):
        s0 += values[i]
        s1 += values[i + 1]
        s2 += values[i + 2]
        s3 += values[i + 3]
    for i in range(whole, len(values)):
        s0 += values[i]
    return (s0 + s1) + (s2 + s3)
