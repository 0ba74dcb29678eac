"""Minimum cut of a small graph, by flow along shortest paths (Edmonds and Karp)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rayrelief.compiled import njit

LEAST = 1e-9  # capacity below which rounding is all that is left


@njit(cache=True, error_model="numpy")
def source_side(capacity: Any, source: int, sink: int) -> Any:
    """Whether each node (N,) is on the side of the source of a minimum cut of capacities (N, N).

    What is left of the capacities is written into them.
    """
    n = len(capacity)
    while True:
        came_from = np.full(n, -1)
        came_from[source] = source
        queue, head, tail = np.empty(n, dtype=np.int64), 0, 1
        queue[0] = source
        while head < tail and came_from[sink] < 0:
            a = queue[head]
            head += 1
            for b in range(n):
                if came_from[b] < 0 and capacity[a, b] > LEAST:
                    came_from[b] = a
                    queue[tail] = b
                    tail += 1
        if came_from[sink] < 0:
            return came_from >= 0
        flow, b = np.inf, sink
        while b != source:
            flow = min(flow, capacity[came_from[b], b])
            b = came_from[b]
        b = sink
        while b != source:
            capacity[came_from[b], b] -= flow
            capacity[b, came_from[b]] += flow
            b = came_from[b]
