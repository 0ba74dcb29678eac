"""``make calibration``: curves behind the constants of ``Ordered``, and the pictures of its page.

python -m benchmarks.calibration [--size 480,640] [--images docs/images]
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.accuracy.figures.canvas import house_style, write
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
from benchmarks.calibration.plots import calibration_figure
from benchmarks.calibration.tables import constant_table, curve_tables, noise_table
from benchmarks.report import Report, exit_code, progress
from benchmarks.speed.environment import environment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[2]
INPUTS: dict[str, Input] = {"exact": exact, "averaged": averaged, "8 bits": eight_bits}
NOISE = (0.0, 0.25, 0.5, 1.0, 2.0, 5.0)  # degrees


def main(arguments: list[str]) -> int:
    """Measure, print and draw."""
    chosen = parser().parse_args(arguments)
    command = shlex.join(["python", "-m", "benchmarks.calibration", *arguments])
    report = Report({"command": command, **environment()})
    inputs = {name: measured(name, each, chosen.size) for name, each in INPUTS.items()}
    for table in (*curve_tables(inputs), constant_table(inputs)):
        report.add(table)
    levels = {
        degrees: measured(f"{degrees:g} degrees", turned(degrees), chosen.size) for degrees in NOISE
    }
    report.add(noise_table(levels))
    draw(chosen.images / "ordered_calibration.png", partial(calibration_figure, inputs, levels))
    return report.finish(chosen.output, "calibration")


def measured(name: str, input_of: Input, size: tuple[int, int]) -> Edges:
    """Edges of all scenes."""
    progress(f"edges, {name}")
    return Edges.joined(edges_of(render, input_of, size) for render in renderers(*size).values())


def draw(path: Path, figure: Callable[[], Figure]) -> None:
    """Draw one figure of the documentation."""
    progress(f"drawing {path.name}")
    with house_style():
        write(path, figure(), colours=256)


def parser() -> argparse.ArgumentParser:
    """Settings."""
    known = argparse.ArgumentParser(prog="python -m benchmarks.calibration")
    known.add_argument("--size", type=_size, default=SIZE, help="height,width of the scenes")
    known.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results")
    known.add_argument("--images", type=Path, default=ROOT / "docs" / "images")
    return known


def _size(text: str) -> tuple[int, int]:
    height, width = map(int, text.split(","))
    return height, width


if __name__ == "__main__":
    sys.exit(exit_code(main, sys.argv[1:]))
