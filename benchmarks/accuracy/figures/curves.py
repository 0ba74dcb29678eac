"""Plots of errors against the settings of the method, noise and iterations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from benchmarks.accuracy.experiments import NOISE, NOISY_OBJECT, Cell, noise_cells
from benchmarks.accuracy.figures.canvas import FEW, MANY, plots
from benchmarks.accuracy.figures.study import Plan, Study
from benchmarks.accuracy.tables import Score, printed_number
from benchmarks.diligent import OBJECTS, STEADY
from benchmarks.published import PUBLISHED
from rayrelief import BiNI, RayPlane
from rayrelief.conventions import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Key = TypeVar("Key", bound=Hashable)
MADE_IN_MM = "MADE in mm"
NOISE_AXES = {"outliers": "outliers in percent", "rotations": "rotations in degrees"}
COUNTS = (1, 2, 5, 10, 20, 50, 100, 150, 300, 600, 1200)
# Methods for any number of outer iterations, and the rows of Table 2 that print some of these.
SCHEDULES: dict[str, tuple[Callable[[int], BiNI | RayPlane], dict[int, str]]] = {
    "BiNI": (BiNI.published, {1200: "bini"}),
    "without α": (
        lambda count: RayPlane.published(count, jumps=False),
        {150: "no_jumps_150", 1200: "no_jumps_1200"},
    ),
    "with α": (RayPlane.published, {150: "jumps_150", 1200: "jumps_1200"}),
}


@dataclass(frozen=True, eq=False)
class Curve:
    """Our errors in mm, median and extremes, and printed ones or NaN, all (N,), at some values."""

    at: FloatArray
    low: FloatArray
    ours: FloatArray
    high: FloatArray
    printed: FloatArray

    @classmethod
    def of(cls, points: Sequence[tuple[float, Score]]) -> Curve:
        """One point for each value and score."""
        lines = [
            (at, each.extremes[0], each.median, each.extremes[1], printed_number(each.printed))
            for at, each in points
        ]
        return cls(*np.array(lines).T)

    @classmethod
    def mean(cls, curves: Iterable[Curve]) -> Curve:
        """Means of curves over the same values."""
        return cls(*np.mean([(c.at, c.low, c.ours, c.high, c.printed) for c in curves], axis=0))


def curves_of(
    study: Study, cells: Iterable[Cell], place: Callable[[Cell], tuple[Key, float]]
) -> dict[Key, Curve]:
    """Curves of the cells, each of which has its place: which curve, and where on it."""
    points: dict[Key, list[tuple[float, Score]]] = defaultdict(list)
    for cell in cells:
        key, at = place(cell)
        points[key].append((at, study.score(cell)))
    return {key: Curve.of(each) for key, each in points.items()}


def activation_place(cell: Cell) -> tuple[tuple[float, str], float]:
    """Errors over q, for each rho and object."""
    method: Any = cell.tasks[0].method
    return (method.activation_threshold, cell.column), method.activation_slope


def noise_place(cell: Cell) -> tuple[str, float]:
    """Errors over the level of noise, for each way of preprocessing."""
    source: Any = cell.tasks[0].source
    return cell.row, source.noise.level


def iteration_place(cell: Cell) -> tuple[tuple[str, str], float]:
    """Errors over outer iterations, for each method and object."""
    return (cell.row, cell.column), cell.tasks[0].method.usual_iterations


def iteration_cells(study: Study) -> Iterator[Cell]:
    """What each method gives after so many iterations, as predictions of their own.

    A run that ends somewhere may differ from one that passes there, since none ends on an
    excursion; and where a table has the same number of iterations, it is the same prediction.
    """
    for name in study.settings.objects:
        for row, (method, rows) in SCHEDULES.items():
            cells = {}
            for count in COUNTS:
                task = study.task(study.settings.source(name), method(count))
                printed = "-"
                if study.settings.full and count in rows:
                    printed = PUBLISHED["table2"]["rows"][rows[count]][OBJECTS.index(name)]
                # Few iterations make some of the counts equal.
                cells[task.method.max_iterations] = Cell(row, name, printed, (task,))
            yield from cells.values()


def activation(study: Study) -> Plan:
    """Errors against q for each rho."""
    study.need(*STEADY)
    cells = study.cells("activation")

    def draw(title: str) -> Figure:
        curves = curves_of(study, cells, activation_place)
        thresholds = list(dict.fromkeys(rho for rho, _ in curves))
        figure, axes = plots(title, len(thresholds), sharey=True)
        for each, rho in zip(axes, thresholds, strict=True):
            found = {name: curve for (other, name), curve in curves.items() if other == rho}
            for (name, curve), colour in zip(found.items(), MANY, strict=False):
                draw_curve(each, curve, name, colour, width=0.9, dot=3)
            mean = Curve.mean(found[name] for name in STEADY)
            draw_curve(each, mean, f"mean of the {len(STEADY)}\nstable objects", "black", 2.5, 6)
            each.set(title=f"ρ = {rho:g}", xlabel="q", xscale="log", yscale="log")
        return labelled(figure, axes, MADE_IN_MM)

    return Plan("Errors against the slope q of the activation; dots as printed", cells, draw)


def noise(study: Study) -> Plan:
    """Errors against the level of noise for each way of preprocessing."""
    cells = {kind: list(noise_cells(kind, study.settings)) for kind in NOISE}

    def draw(title: str) -> Figure:
        figure, axes = plots(title, len(NOISE), sharey=True)
        for each, kind in zip(axes, NOISE, strict=True):
            curves = curves_of(study, cells[kind], noise_place)
            for (row, curve), colour in zip(curves.items(), FEW, strict=True):
                band = (curve.at, curve.low, curve.high)
                each.fill_between(*band, color=colour, alpha=0.18, linewidth=0)
                draw_curve(each, curve, row.replace("_", ", "), colour)
            each.set(xlabel=NOISE_AXES[kind], xticks=curve.at, yscale="log")
        return labelled(figure, axes, MADE_IN_MM)

    title = f"Noise on {NOISY_OBJECT}: median and extremes over seeds; dots as printed"
    return Plan(title, [cell for each in cells.values() for cell in each], draw)


def iterations(study: Study) -> Plan:
    """Errors after so many outer iterations."""
    cells, names = list(iteration_cells(study)), study.settings.objects

    def draw(title: str) -> Figure:
        curves = curves_of(study, cells, iteration_place)
        columns = min(3, len(names))
        figure, axes = plots(title, columns, -(-len(names) // columns), sharex=True, sharey=True)
        for each, name in zip(axes, names, strict=False):
            for row, colour in zip(SCHEDULES, FEW, strict=False):
                draw_curve(each, curves[row, name], row, colour)
            each.set(title=name, xscale="log", yscale="log")
        for each in axes[len(names) :]:
            each.set_visible(False)
        figure.supxlabel("outer iterations")
        return labelled(figure, axes, MADE_IN_MM)

    title = "Errors against outer iterations" + "; dots as printed" * study.settings.full
    return Plan(title, cells, draw)


def draw_curve(
    axes: Axes, curve: Curve, label: str, colour: str, width: float = 1.5, dot: float = 5
) -> None:
    """A line for our numbers, dots for the printed ones."""
    axes.plot(curve.at, curve.ours, color=colour, linewidth=width, label=label)
    axes.plot(curve.at, curve.printed, "o", color=colour, markersize=dot)


def labelled(figure: Figure, axes: Sequence[Axes], values: str) -> Figure:
    """One label and one legend for all plots of a figure."""
    figure.supylabel(values)
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside right upper", frameon=False)
    return figure
