"""Table 1 and its relatives: residuals of two formulations on the true depth; nothing to cache."""

from __future__ import annotations

import math
from collections.abc import Iterator

import rayrelief
from benchmarks.accuracy.inputs import Settings, scene_of
from benchmarks.accuracy.residuals import Spread, formulation_residuals
from benchmarks.diligent import OBJECTS
from benchmarks.published import PUBLISHED
from benchmarks.report import Column, Table
from rayrelief.methods import Reweighted

METHODS: dict[str, Reweighted] = {
    "bini": rayrelief.BiNI.published(),
    "ours": rayrelief.RayPlane.published(),
}
# Part of published.toml: name of the residual, and the title.
PARTS = {
    "absolute": ("absolute", "Absolute residuals on the true log-depth"),
    "log_depth": ("relative_log_depth", "Residuals relative to the true log-depth"),
    "depth": ("relative_depth", "Residuals relative to the true depth"),
}


def formulation_tables(settings: Settings) -> Iterator[Table]:
    """Three tables of mean and standard deviation over all edges, ours / printed."""
    found = {
        (row, name): formulation_residuals(scene_of(settings.source(name)), method)
        for row, method in METHODS.items()
        for name in settings.objects
    }
    for part, (residual, title) in PARTS.items():
        rows, records = [], []
        for row in METHODS:
            line = [row]
            for name in settings.objects:
                printed = PUBLISHED["formulation"][part][row][OBJECTS.index(name)]
                spread = getattr(found[row, name], residual)
                line.append(f"{scientific(spread)} / {printed}")
                records.append({"row": row, "column": name, "mean": spread.mean, "std": spread.std})
            rows.append(tuple(line))
        columns = tuple(map(Column, ("row", *settings.objects)))
        yield Table(f"{title}, ours / printed", columns, tuple(rows), records=tuple(records))


def scientific(spread: Spread) -> str:
    """Mean and standard deviation as the paper prints them: the larger one sets the exponent."""
    largest = max(spread.mean, spread.std)
    if not (math.isfinite(largest) and largest > 0):
        return f"({spread.mean:.2f} ± {spread.std:.2f}) × 10^0"
    exponent = int(f"{largest:.2e}".partition("e")[2])  # after rounding: 9.996 is 1.00 x 10
    mean, std = (value / 10.0**exponent for value in (spread.mean, spread.std))
    return f"({mean:.2f} ± {std:.2f}) × 10^{exponent}"
