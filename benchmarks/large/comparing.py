"""Depths against each other, part by part."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.large.maps import RENDERED
from rayrelief.large.results import windows

NEAR = 4  # pixels from the border of a core that count as next to it


def compared(depth: Any, other: Any, report: dict[str, Any], side: int) -> str:
    """Mean relative difference in percent (of the relief for a relief), also beside borders."""
    counts = math.isqrt(report["blocks"])
    borders = [round(i * side / counts) for i in range(1, counts)]
    near_line = np.zeros(side, np.bool_)
    for border in borders:
        near_line[border - NEAR : border + NEAR] = True
    central = "Pinhole" in report["camera"]
    sample = [
        np.asarray(depth[r, c])[::7, ::7].ravel().astype(np.float64)
        / (np.asarray(other[r, c])[::7, ::7].ravel() if central else 1.0)
        - (0.0 if central else np.asarray(other[r, c])[::7, ::7].ravel())
        for r, c in windows(side, side, RENDERED)
    ]
    middle = float(np.nanmedian(np.concatenate(sample)))
    sums: dict[bool, list[float]] = {True: [0.0, 0.0], False: [0.0, 0.0]}
    for r, c in windows(side, side, RENDERED):
        a, b = np.asarray(depth[r, c], np.float64), np.asarray(other[r, c], np.float64)
        error = np.abs(a / (middle * b) - 1) if central else np.abs(a - middle - b)
        near = near_line[r, None] | near_line[None, c]
        for which in (True, False):
            found = error[(near == which) & np.isfinite(error)]
            sums[which][0] += found.sum()
            sums[which][1] += found.size
    total = sum(s for s, _ in sums.values()) / max(sum(n for _, n in sums.values()), 1)
    beside, away = (sums[which][0] / max(sums[which][1], 1) for which in (True, False))
    factor, unit = (100, " %") if central else (1, "")
    texts = (f"{factor * value:.3g}{unit}" for value in (total, beside, away))
    return "{}, next to borders {}, elsewhere {}".format(*texts)
