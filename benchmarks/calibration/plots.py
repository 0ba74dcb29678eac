"""The curves as plots: what was measured in colour, the model dashed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.accuracy.figures.canvas import FEW, plots
from benchmarks.calibration.curves import COSTS, error_over_sigma
from benchmarks.calibration.edges import Edges
from benchmarks.calibration.tables import KINDS, MODEL, PLACES, TITLES, per_axis
from rayrelief.formulation import intervals
from rayrelief.methods.ordered import evidence, parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCHES = 12.6, 5.6
NARROWEST = 2e-3  # pixels, where plots over the half-width begin
FARTHEST = 20.0  # pixels, of the residuals whose costs are shown
# Half-width and lead of edges whose costs are shown.
EDGES = {"narrow": (0.1, 0.0), "foot: both recede": (2.0, 1.0), "rim: one recedes": (2.0, 5.0)}
LEAST = {
    "errors": 1e-4,
    "jumps": 1e-5,
    "feet": 0.0,
    "order": 0.4,
}  # where the others begin, upwards


def calibration_figure(inputs: Mapping[str, Edges], levels: Mapping[float, Edges]) -> Figure:
    """All curves on one sheet."""
    figure, (errors, jumps, feet, order, costs, noise) = plots("", 3, 2)
    shown = {"errors": errors, "jumps": jumps, "feet": feet, "order": order}
    for kind, axes in shown.items():
        _draw_curves(kind, inputs, axes)
    _draw_costs(costs)
    _draw_noise(levels, noise)
    handles = errors.get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=len(inputs) + 1, frameon=False)
    figure.set_size_inches(INCHES)
    return figure


def _draw_curves(kind: str, inputs: Mapping[str, Edges], axes: Axes) -> None:
    names = " (solid), ".join(KINDS[kind])
    for curve, line in zip(KINDS[kind].values(), ("-", ":"), strict=True):
        for colour, (source, edges) in zip(FEW, inputs.items(), strict=False):
            found = curve(edges)
            seen = np.where(found.measured > 0, found.measured, np.nan)  # no zero on a log axis
            axes.plot(found.at, seen, line, color=colour, marker=".", label=source)
        found = curve(next(iter(inputs.values())))
        axes.plot(found.at, found.model, line, color="black", lw=2, label=MODEL)
    for each in axes.get_lines()[len(inputs) + 1 :]:
        each.set_label(None)  # named once
    axes.set(title=f"{TITLES[kind]}:\n{names} (dotted)", xlabel=PLACES[kind])
    if kind != "feet":
        axes.set(xscale="log")
    if kind in ("errors", "jumps"):
        axes.set(yscale="log", xlim=(NARROWEST, None))
    axes.set_ylim(bottom=LEAST[kind])


def _draw_costs(axes: Axes) -> None:
    """What a residual costs, in order (to the left) and against it, on three kinds of edges."""
    residuals = np.linspace(-FARTHEST, FARTHEST, 801)
    for colour, (name, (half_width, lead)) in zip(FEW, EDGES.items(), strict=False):
        least = evidence.least_jump_costs(half_width, lead, COSTS)
        sigma = math.hypot(parts.BENT, intervals.EXACT, intervals.SPREAD * half_width)
        costs = [
            min(
                evidence.fit_cost(each, sigma),
                evidence.jump_cost(each, half_width, lead, least, COSTS),
            )
            for each in residuals
        ]
        axes.plot(residuals, costs, color=colour, label=name)
    axes.set(title="What a residual costs where parts are placed", xlabel="residual, px")
    axes.set_ylim(0.0, 13.0)  # room for the legend
    axes.legend(loc="upper right", frameon=False)


def _draw_noise(levels: Mapping[float, Edges], axes: Axes) -> None:
    true = [per_axis(degrees) for degrees in levels]
    estimates = [np.degrees(np.median(edges.noise)) for edges in levels.values()]
    axes.plot(true, estimates, color=FEW[0], marker=".", label="estimate, degrees")
    axes.plot(true, true, "k--", lw=1, label="estimate that is right")
    for share, line in ((0.5, "-"), (0.9, ":")):
        over = [error_over_sigma(edges, share) for edges in levels.values()]
        label = f"error over sigma, {share:.0%}"
        axes.plot(true, over, line, color=FEW[1], marker=".", label=label)
    axes.axvline(np.degrees(intervals.ALLOWED), color="0.8", lw=1, label="ALLOWED")
    axes.set(title="Noise of the normals", xlabel="noise about each axis, degrees")
    axes.set_ylim(top=1.8 * max(true))  # room for the legend
    axes.legend(loc="upper left", frameon=False)
