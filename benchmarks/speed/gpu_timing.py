"""Repeated runs on a GPU, and what their times include."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

REPEATS, WARM_UP = 7, 2
INCLUDED = (
    "From normals in the memory of the GPU (single precision) to depth in it (double precision); "
    "equations, components, constants and stopping rule included, transfers not. Medians of "
    f"repeated runs after {WARM_UP}."
)


def timed(run: Callable[[], Any], repeats: int = REPEATS) -> tuple[Any, float, float, bool]:
    """Result, median and spread of the seconds after warm-up, and whether all bits are equal."""
    import cupy

    seconds, depths, found = [], [], None
    for _ in range(repeats):
        found = None  # whose memory the next one may take
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        found = run()
        cupy.cuda.Device().synchronize()
        seconds.append(time.perf_counter() - began)
        depth = getattr(found, "depth", None)
        if depth is not None and depth.size < 1 << 20:
            depths.append(cupy.asnumpy(depth).tobytes())
    timed = seconds[WARM_UP:]
    return found, statistics.median(timed), max(timed) - min(timed), len(set(depths)) == 1
