"""Sketches in section: depth goes up, the camera looks up from below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.accuracy.figures.canvas import FEW, plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIRST, SECOND, THIRD, _ = FEW
INCHES = 10.0, 3.2


def sketch_figure() -> Figure:
    """Interval, order and touching."""
    figure, axes = plots("", 3)
    figure.set_size_inches(INCHES)
    for each, (draw, title) in zip(
        axes,
        (
            (_draw_interval, "An edge says an interval"),
            (_draw_order, "A body turns away before it hides something"),
            (_draw_touching, "Parts touch"),
        ),
        strict=True,
    ):
        draw(each)
        each.set_title(title)
        each.set(xticks=[], yticks=[])
    axes[0].set_ylabel("depth")
    return figure


def _draw_interval(axes: Axes) -> None:
    """From a fixed depth at a, where b can be on a continuous surface."""
    slope_a, slope_b = 1.0, -0.35
    middle = 0.5 * (slope_a + slope_b)
    axes.plot([-0.25, 1.0], [-0.25 * slope_a, slope_a], color=FIRST)
    axes.plot([-0.25, 0.25], [-0.25 * slope_a, 0.25 * slope_a], color=FIRST, lw=4, alpha=0.4)
    meets = {slope_a: "planes meet at b", middle: "in the middle", slope_b: "at a"}
    for depth, words in meets.items():
        at_middle = depth == middle
        along = np.array([0.0 if depth == slope_b else 0.5 if at_middle else 1.0, 1.25])
        axes.plot(along, depth + slope_b * (along - 1.0), "--", color=SECOND, lw=1)
        near = np.array([0.85, 1.2])
        axes.plot(near, depth + slope_b * (near - 1.0), color=SECOND, lw=4, alpha=0.4)
        axes.plot(1.0, depth, "o", color=SECOND, ms=7 if at_middle else 5)
        axes.annotate(words, (1.27, depth - 0.1), va="center")
    axes.plot(0.0, 0.0, "o", color=FIRST, ms=7)
    axes.annotate("a", (0.0, 0.0), (-0.12, 0.08))
    axes.annotate("b", (1.0, slope_a), (0.97, slope_a + 0.1))
    axes.annotate("", (0.93, slope_a), (0.93, slope_b), arrowprops={"arrowstyle": "<->"})
    axes.annotate("interval\n2 h", (0.9, 0.1), ha="right", va="center")
    axes.set(xlim=(-0.4, 2.15), ylim=(-0.55, 1.3), xlabel="two pixels, side by side")


def _draw_order(axes: Axes) -> None:
    """A ball in front of a wall."""
    along = np.linspace(-0.2, 1.0, 200)
    axes.plot(along, 1.0 - np.sqrt(1.0 - along**2), color=FIRST, lw=2)
    axes.plot([1.0, 2.0], [1.5, 1.55], color=SECOND, lw=2)
    axes.plot([1.0, 1.0], [1.0, 1.5], ":", color="0.5")
    arrow = {"arrowstyle": "->", "color": "0.3"}
    axes.annotate("recedes fast:\nin front", (0.97, 0.76), (-0.15, 1.05), arrowprops=arrow)
    axes.annotate("hardly recedes:\nbehind", (1.25, 1.5), (1.2, 0.85), arrowprops=arrow)
    axes.annotate("jump", (0.97, 1.25), ha="right", va="center")
    axes.set(xlim=(-0.3, 2.1), ylim=(-0.15, 1.8), xlabel="along a row of the image")


def _draw_touching(axes: Axes) -> None:
    """The border between a body and the table that it stands on."""
    up = np.linspace(0.0, 1.0, 50)
    table, body = 0.2 + 1.1 * up, 0.2 + 0.25 * up
    axes.plot(np.linspace(-0.3, 1.0, 50), 0.2 + 1.1 * np.linspace(-0.3, 1.0, 50), color=SECOND)
    axes.fill_between(up, body, table, color="0.93")
    axes.plot(up, body, color=FIRST, lw=2)
    axes.plot(up, body + 0.33, "--", color=FIRST, lw=1)
    arrow = {"arrowstyle": "->", "color": FIRST}
    axes.annotate("", (0.12, 0.24), (0.12, 0.55), arrowprops=arrow)
    grey = {"arrowstyle": "->", "color": "0.3"}
    axes.annotate("contact: no jump", (0.0, 0.2), (0.08, -0.08), arrowprops=grey)
    axes.annotate("moved as a whole", (0.1, 0.42), ha="right", va="center", color=FIRST)
    axes.annotate("jump", (0.9, 0.56), ha="center")
    axes.annotate("table", (0.8, 1.12), ha="right", color=SECOND)
    axes.annotate("body", (1.0, 0.33), ha="right", color=FIRST)
    axes.set(xlim=(-0.5, 1.1), ylim=(-0.2, 1.4), xlabel="along the border of two parts")
