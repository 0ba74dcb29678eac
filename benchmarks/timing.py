"""Seconds of an action, repeated while that is cheap."""

from __future__ import annotations

import time
from collections.abc import Callable

REPEATS = 5
BUDGET = 5.0  # seconds after which an action is not repeated any more


def best_seconds(action: Callable[[], object]) -> float:
    """Least time of a few repetitions: the others were disturbed."""
    best, total, repeats = float("inf"), 0.0, 0
    while repeats < REPEATS and total < BUDGET:
        began = time.perf_counter()
        action()
        seconds = time.perf_counter() - began
        best, total, repeats = min(best, seconds), total + seconds, repeats + 1
    return best
