"""``make bench``: speed, memory and what they cost in accuracy, held to limits.

python -m benchmarks [PART ...] [--objects bear,cow] [--iterations 30] [--sizes 128,256]
"""

from __future__ import annotations

import sys

from benchmarks import command, meshes
from benchmarks.diligent import object_names
from benchmarks.report import exit_code
from benchmarks.speed import (
    cameras,
    cold_start,
    first_picture,
    gpu,
    maps,
    scaling,
    solvers,
    systems,
    threads,
)

PARTS: command.Parts = {
    "maps": lambda chosen: maps.tables(chosen.objects, chosen.iterations),
    "systems": lambda chosen: systems.tables(chosen.objects),
    "scaling": lambda chosen: scaling.tables(chosen.sizes),
    "threads": lambda chosen: threads.tables(chosen.sizes),
    "solvers": lambda _: solvers.tables(),
    "cold_start": lambda _: cold_start.tables(),
    "first_picture": lambda _: first_picture.tables(),
    "cameras": lambda _: cameras.tables(),
    "meshes": lambda _: meshes.tables(),
    "gpu": lambda chosen: gpu.tables(chosen.objects),
}


def main(arguments: list[str]) -> int:
    """Run parts; limits that need more than is measured are left out."""
    known = command.parser("benchmarks", PARTS, main.__doc__)
    known.add_argument("--objects", type=object_names, default=(), help="default: all nine")
    known.add_argument("--iterations", type=int, default=maps.FULL, help="of published schedules")
    known.add_argument("--sizes", type=_numbers, default=scaling.SIZES, help="sides of squares")
    return command.run(known, PARTS, arguments, "bench")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


if __name__ == "__main__":
    sys.exit(exit_code(main, sys.argv[1:]))
