"""``make calibration``: curves behind the constants of ``Ordered``, and the pictures of its page.

python -m benchmarks.calibration [PART ...] [--size 480,640] [--images docs/images]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import command
from benchmarks.accuracy.figures.canvas import house_style, write
from benchmarks.calibration.costs import cost_table
from benchmarks.calibration.edges import (
    SIZE,
    Edges,
    Input,
    averaged,
    edges_of,
    eight_bits,
    exact,
    renderers,
    turned,
)
from benchmarks.calibration.found import jump_table
from benchmarks.calibration.noisy import (
    averaged_table,
    extended_table,
    outlier_table,
    small_table,
    steep_table,
)
from benchmarks.calibration.plots import calibration_figure
from benchmarks.calibration.sketches import sketch_figure
from benchmarks.calibration.stages import stage_figure, stage_table
from benchmarks.calibration.tables import constant_table, curve_tables, noise_table
from benchmarks.report import Table, exit_code, progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IMAGES = Path(__file__).parents[2] / "docs" / "images"
INPUTS: dict[str, Input] = {"exact": exact, "averaged": averaged, "8 bits": eight_bits}
NOISE = (0.0, 0.25, 0.5, 1.0, 2.0, 5.0)  # degrees


def main(arguments: list[str]) -> int:
    """Measure, print and draw."""
    known = command.parser("benchmarks.calibration", PARTS, main.__doc__)
    known.add_argument("--size", type=_size, default=SIZE, help="height,width of the scenes")
    known.add_argument("--images", type=Path, default=IMAGES, help="folder for the pictures")
    return command.run(known, PARTS, arguments, "calibration")


def curves(size: tuple[int, int], images: Path) -> Iterator[Table]:
    """Curves of width, jumps, order and noise, and their plots."""
    inputs = {name: measured(name, each, size) for name, each in INPUTS.items()}
    yield from curve_tables(inputs)
    yield constant_table(inputs)
    levels = {level: measured(f"{level:g} degrees", turned(level), size) for level in NOISE}
    yield noise_table(levels)
    draw(images / "ordered_calibration.png", partial(calibration_figure, inputs, levels))


def stages(size: tuple[int, int], images: Path) -> Iterator[Table]:
    """Errors after each stage, and the other pictures of docs/ordered.md."""
    draw(images / "ordered_sketches.png", sketch_figure)
    draw(images / "ordered_stages.png", stage_figure)
    yield stage_table(size)


PARTS: command.Parts = {
    "curves": lambda chosen: curves(chosen.size, chosen.images),
    "stages": lambda chosen: stages(chosen.size, chosen.images),
    "costs": lambda chosen: [cost_table(chosen.size)],
    "jumps": lambda chosen: [jump_table(chosen.size)],
    "extended": lambda chosen: [extended_table(chosen.size)],
    "small": lambda chosen: [small_table(chosen.size)],
    "averaged": lambda chosen: [averaged_table(chosen.size)],
    "steep": lambda chosen: [steep_table(chosen.size)],
    "outliers": lambda chosen: [outlier_table(chosen.size)],
}


def measured(name: str, input_of: Input, size: tuple[int, int]) -> Edges:
    """Edges of all scenes."""
    progress(f"edges, {name}")
    return Edges.joined(edges_of(render, input_of, size) for render in renderers(*size).values())


def draw(path: Path, figure: Callable[[], Figure]) -> None:
    """Draw one figure of the documentation."""
    progress(f"drawing {path.name}")
    with house_style():
        write(path, figure(), colours=256)


def _size(text: str) -> tuple[int, int]:
    height, width = map(int, text.split(","))
    return height, width


if __name__ == "__main__":
    sys.exit(exit_code(main, sys.argv[1:]))
