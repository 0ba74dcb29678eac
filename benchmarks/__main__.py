"""``make bench``: speed, memory and what they cost in accuracy, held to limits.

python -m benchmarks [PART ...] [--objects bear,cow] [--iterations 30] [--sizes 128,256]
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import meshes
from benchmarks.diligent import object_names
from benchmarks.report import Report, Table, exit_code
from benchmarks.speed import cameras, cold_start, gpu, maps, scaling, solvers, systems
from benchmarks.speed.environment import environment

PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Table]]] = {
    "maps": lambda chosen: maps.tables(chosen.objects, chosen.iterations),
    "systems": lambda chosen: systems.tables(chosen.objects),
    "scaling": lambda chosen: scaling.tables(chosen.sizes),
    "solvers": lambda chosen: solvers.tables(),
    "cold_start": lambda chosen: cold_start.tables(),
    "cameras": lambda chosen: cameras.tables(),
    "meshes": lambda chosen: meshes.tables(),
    "gpu": lambda chosen: gpu.tables(chosen.objects),
}
RESULTS = Path(__file__).with_name("results")


def main(arguments: list[str]) -> int:
    """Run parts; 1 if a limit is missed."""
    known = parser()
    chosen = known.parse_args(arguments)
    if unknown := sorted(set(chosen.parts) - set(PARTS)):
        known.error(f"unknown parts {unknown}; there are {', '.join(PARTS)}")
    command = shlex.join(["python", "-m", "benchmarks", *arguments])
    report = Report({"command": command, **environment()})
    # A run of some parts leaves the report of the whole alone.
    stem = "-".join(["bench", *chosen.parts])
    for part in chosen.parts or PARTS:
        with report.part(part):
            for table in PARTS[part](chosen):
                report.add(table)
        report.write(chosen.output, stem)  # after each part: a long run may be interrupted
    return report.finish(chosen.output, stem)


def parser() -> argparse.ArgumentParser:
    """Parts and settings; limits that need more than is measured are left out."""
    known = argparse.ArgumentParser(prog="python -m benchmarks", description=parser.__doc__)
    known.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    known.add_argument("--objects", type=object_names, default=(), help="default: all nine")
    known.add_argument("--iterations", type=int, default=maps.FULL, help="of published schedules")
    known.add_argument("--sizes", type=_numbers, default=scaling.SIZES, help="sides of squares")
    known.add_argument("--output", type=Path, default=RESULTS, help="folder for the report")
    return known


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


if __name__ == "__main__":
    sys.exit(exit_code(main, sys.argv[1:]))
