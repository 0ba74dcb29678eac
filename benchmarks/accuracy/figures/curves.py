"""Plots of errors against the settings of the method, noise and iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.accuracy.experiments import NOISE, NOISY_OBJECT, noise_cells
from benchmarks.accuracy.figures.canvas import FEW, MANY, logarithmic, plots
from benchmarks.accuracy.figures.numbers import (
    SCHEDULES,
    Curve,
    activation_curves,
    activation_settings,
    iteration_cells,
    iteration_curves,
    noise_curves,
)
from benchmarks.accuracy.figures.study import Plan, Study
from benchmarks.diligent import STEADY
from rayrelief.methods.edge_terms import activation as activation_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MADE_IN_MM = "MADE in mm"
NOISE_AXES = {"outliers": "outliers in percent", "rotations": "rotations in degrees"}


def beta(study: Study) -> Plan:
    """The activation for every q and rho of the paper."""

    def draw(title: str) -> Figure:
        from matplotlib import colormaps

        cells = study.cells("activation")
        settings = list(dict.fromkeys(activation_settings(cell.tasks[0]) for cell in cells))
        thresholds = list(dict.fromkeys(rho for rho, _ in settings))
        figure, axes = plots(title, len(thresholds), sharey=True)
        weights = np.linspace(0, 1, 501)
        for each, rho in zip(axes, thresholds, strict=True):
            slopes = [q for threshold, q in settings if threshold == rho]
            for q, colour in zip(slopes, np.linspace(0.95, 0, len(slopes)), strict=True):
                values = [activation_of(w, q, rho) for w in weights]
                each.plot(weights, values, color=colormaps["cividis"](colour), label=f"q = {q:g}")
            each.axvline(rho, color="0.6", linewidth=0.8, linestyle=":")
            each.set(title=f"ρ = {rho:g}", xlabel="weight w")
        axes[0].set_ylabel("β(w)")
        legend_beside(figure, axes[0])
        return figure

    return Plan("Discontinuity activation β for the q and ρ of the paper", (), draw)


def activation(study: Study) -> Plan:
    """Errors against q for each rho."""
    study.need(*STEADY)
    cells = study.cells("activation")

    def draw(title: str) -> Figure:
        curves = activation_curves(study, cells)
        thresholds = list(dict.fromkeys(rho for rho, _ in curves))
        figure, axes = plots(title, len(thresholds), sharey=True)
        for each, rho in zip(axes, thresholds, strict=True):
            found = {name: curve for (other, name), curve in curves.items() if other == rho}
            for (name, curve), colour in zip(found.items(), MANY, strict=False):
                draw_curve(each, curve, name, colour, width=0.9, dot=3)
            mean = Curve.mean(found[name] for name in STEADY)
            draw_curve(each, mean, f"mean of the {len(STEADY)}\nstable objects", "black", 2.5, 6)
            each.set(title=f"ρ = {rho:g}", xlabel="q")
            logarithmic(each, "x", "y")
        axes[0].set_ylabel(MADE_IN_MM)
        legend_beside(figure, axes[0])
        return figure

    return Plan("Errors against the slope q of the activation; dots as printed", cells, draw)


def noise(study: Study) -> Plan:
    """Errors against the level of noise for each way of preprocessing."""
    study.need(NOISY_OBJECT)
    cells = {
        kind: list(noise_cells(kind, study.scenes, study.settings, study.library)) for kind in NOISE
    }

    def draw(title: str) -> Figure:
        figure, axes = plots(title, len(NOISE), sharey=True)
        for each, kind in zip(axes, NOISE, strict=True):
            curves = noise_curves(study, cells[kind])
            for (row, curve), colour in zip(curves.items(), FEW, strict=True):
                each.fill_between(
                    curve.at, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0
                )
                draw_curve(each, curve, row.replace("_", ", "), colour)
            each.set(xlabel=NOISE_AXES[kind], xticks=curve.at)
            logarithmic(each, "y")
        axes[0].set_ylabel(MADE_IN_MM)
        legend_beside(figure, axes[0])
        return figure

    title = f"Noise on {NOISY_OBJECT}: median and quartiles over seeds; dots as printed"
    return Plan(title, [cell for each in cells.values() for cell in each], draw)


def iterations(study: Study) -> Plan:
    """Errors after so many outer iterations."""
    cells = list(iteration_cells(study))

    def draw(title: str) -> Figure:
        curves = iteration_curves(study, cells)
        columns = min(3, len(study.scenes))
        rows = -(-len(study.scenes) // columns)
        figure, axes = plots(title, columns, rows, sharex=True, sharey=True)
        for each, name in zip(axes, study.scenes, strict=False):
            for row, colour in zip(SCHEDULES, FEW, strict=False):
                draw_curve(each, curves[row, name], row, colour)
            each.set_title(name)
            logarithmic(each, "x", "y")
        for each in axes[len(study.scenes) :]:
            each.set_visible(False)
        figure.supxlabel("outer iterations")
        figure.supylabel(MADE_IN_MM)
        legend_beside(figure, axes[0])
        return figure

    printed = any(cell.printed != "-" for cell in cells)
    title = "Errors against outer iterations" + "; dots as printed" * printed
    return Plan(title, cells, draw)


def draw_curve(
    axes: Axes, curve: Curve, label: str, colour: str, width: float = 1.5, dot: float = 5
) -> None:
    """A line for our numbers, dots for the printed ones."""
    axes.plot(curve.at, curve.ours, color=colour, linewidth=width, label=label)
    axes.plot(curve.at, curve.printed, "o", color=colour, markersize=dot)


def legend_beside(figure: Figure, axes: Axes) -> None:
    """One legend for all plots of a figure."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", frameon=False)
