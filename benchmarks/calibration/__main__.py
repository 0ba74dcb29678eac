"""``make calibration``: curves behind the constants of ``Ordered``, and the pictures of its page.

python -m benchmarks.calibration [PART ...] [--size 480,640] [--images docs/images]
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator
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
from benchmarks.calibration.sketches import sketch_figure
from benchmarks.calibration.stages import stage_figure, stage_table
from benchmarks.calibration.tables import constant_table, curve_tables, noise_table
from benchmarks.report import Report, Table, exit_code, progress
from benchmarks.speed.environment import environment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[2]
INPUTS: dict[str, Input] = {"exact": exact, "averaged": averaged, "8 bits": eight_bits}
NOISE = (0.0, 0.25, 0.5, 1.0, 2.0, 5.0)  # degrees


def main(arguments: list[str]) -> int:
    """Measure, print and draw."""
    known = parser()
    chosen = known.parse_args(arguments)
    if unknown := sorted(set(chosen.parts) - set(PARTS)):
        known.error(f"unknown parts {unknown}; there are {', '.join(PARTS)}")
    command = shlex.join(["python", "-m", "benchmarks.calibration", *arguments])
    report = Report({"command": command, **environment()})
    for part in chosen.parts or PARTS:
        for table in PARTS[part](chosen.size, chosen.images):
            report.add(table)
    return report.finish(chosen.output, "-".join(["calibration", *chosen.parts]))


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


PARTS: dict[str, Callable[[tuple[int, int], Path], Iterator[Table]]] = {
    "curves": curves,
    "stages": stages,
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


def parser() -> argparse.ArgumentParser:
    """Settings."""
    known = argparse.ArgumentParser(prog="python -m benchmarks.calibration")
    known.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    known.add_argument("--size", type=_size, default=SIZE, help="height,width of the scenes")
    known.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results")
    known.add_argument("--images", type=Path, default=ROOT / "docs" / "images")
    return known


def _size(text: str) -> tuple[int, int]:
    height, width = map(int, text.split(","))
    return height, width


if __name__ == "__main__":
    sys.exit(exit_code(main, sys.argv[1:]))
