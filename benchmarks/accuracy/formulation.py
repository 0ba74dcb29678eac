"""Table 1 and its relatives: residuals of two formulations on the true depth; nothing to cache."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

import rayrelief
from benchmarks.accuracy.tables import Sheet
from benchmarks.published import known_remarks, published_tables
from benchmarks.report import Column, Table
from rayrelief.cameras.view import View
from rayrelief.conventions import FloatArray
from rayrelief.evaluation.residuals import Spread, formulation_residuals
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.graph import PixelGraph
from rayrelief.methods.base import Method


@dataclass(frozen=True)
class BareBiNI(rayrelief.BiNI):
    """BiNI whose equations lack their right-hand side: what its printed residuals seem to be."""

    def equations(self, graph: PixelGraph, normals: FloatArray, view: View) -> EdgeEquations:
        """Say of all neighbours that they are equally far."""
        equations = super().equations(graph, normals, view)
        return replace(equations, offset=np.zeros_like(equations.offset))


METHODS: dict[str, Method] = {
    "bini": rayrelief.BiNI.published(),
    "bini_without_right_side": BareBiNI.published(),
    "ours": rayrelief.RayPlane.published(),
}
COMPARED_WITH = {"bini_without_right_side": "bini"}  # row of the paper, where the name is another
# Part of published.toml: name of the residual, and the title.
PARTS = {
    "absolute": ("absolute", "Absolute residuals on the true log-depth"),
    "log_depth": ("relative_log_depth", "Residuals relative to the true log-depth"),
    "depth": ("relative_depth", "Residuals relative to the true depth"),
}


def formulation_sheets(scenes: Mapping[str, rayrelief.Scene], command: str) -> Iterator[Sheet]:
    """Three tables of mean and standard deviation over all edges, ours / printed."""
    known, remarks = published_tables(), known_remarks()
    found = {
        (row, name): formulation_residuals(scene, method)
        for row, method in METHODS.items()
        for name, scene in scenes.items()
    }
    for part, (residual, title) in PARTS.items():
        rows, records = [], [("row", "column", "printed", "mean", "standard_deviation")]
        for row in METHODS:
            cells = known["formulation"][part][COMPARED_WITH.get(row, row)]
            printed = dict(zip(known["table2"]["objects"], cells, strict=True))
            spreads = {name: getattr(found[row, name], residual) for name in scenes}
            rows.append((row, *(f"{scientific(s)} / {printed[n]}" for n, s in spreads.items())))
            records += [
                (row, n, printed[n], f"{s.mean:.6g}", f"{s.std:.6g}") for n, s in spreads.items()
            ]
        columns = (Column("row"), *(Column(name) for name in scenes))
        notes = tuple(remarks[key] for key in (f"formulation/{part}", "formulation"))
        table = Table(f"{title}, ours / printed", command, columns, tuple(rows), notes)
        yield Sheet(f"formulation-{part}", table, tuple(records))


def scientific(spread: Spread) -> str:
    """Mean and standard deviation as the paper prints them: the larger one sets the exponent."""
    largest = max(spread.mean, spread.std)
    if not (math.isfinite(largest) and largest > 0):
        return f"({spread.mean:.2f} ± {spread.std:.2f}) × 10^0"
    exponent = int(f"{largest:.2e}".partition("e")[2])  # after rounding: 9.996 is 1.00 x 10
    mean, std = (value / 10.0**exponent for value in (spread.mean, spread.std))
    return f"({mean:.2f} ± {std:.2f}) × 10^{exponent}"
