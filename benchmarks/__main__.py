"""``make bench``: speed, memory and what they cost in accuracy, held to limits.

python -m benchmarks [PART ...] [--objects bear,cow] [--iterations 30] [--sizes 128,256]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

from benchmarks import cameras, cold_start, maps, scaling, solvers, systems
from benchmarks.environment import environment
from benchmarks.report import Report, Table, UnavailableError, exit_code, progress, run_command
from benchmarks.settings import Settings, names
from rayrelief import RayreliefError

PARTS: dict[str, Callable[[Settings], Iterator[Table]]] = {
    "maps": maps.tables,
    "systems": systems.tables,
    "scaling": scaling.tables,
    "solvers": solvers.tables,
    "cold_start": cold_start.tables,
    "cameras": cameras.tables,
}
RESULTS = Path(__file__).with_name("results")


def main(arguments: list[str]) -> int:
    """Run parts; 1 if a limit is missed."""
    options = parser().parse_args(arguments)
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        raise SystemExit(f"unknown parts {sorted(unknown)}; there are {', '.join(PARTS)}")
    settings = Settings(**{known.name: getattr(options, known.name) for known in fields(Settings)})
    report = Report(environment())
    # A run of some parts leaves the report of the whole alone.
    stem = "-".join(["bench", *options.parts])
    for part in options.parts or PARTS:
        try:
            run_part(part, settings, report)
            report.write(options.output, stem)  # after each part: a long run may be interrupted
        except RayreliefError as error:
            raise SystemExit(f"error: {error}") from error
    progress(f"written to {options.output / stem}.md and .json")
    return exit_code(report.tables)


def run_part(part: str, settings: Settings, report: Report) -> None:
    """Print the tables of a part and add them to the report."""
    try:
        for table in PARTS[part](settings):
            report.tables.append(table)
            print(table.to_markdown(), end="\n\n", flush=True)
    except UnavailableError as error:
        report.skipped.append(f"{part}: {error}")
        print(f"skipped: {part}: {error}\n", flush=True)


def parser() -> argparse.ArgumentParser:
    """Parts and settings."""
    default = Settings()
    known = argparse.ArgumentParser(prog="python -m benchmarks", description=Settings.__doc__)
    known.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    known.add_argument("--objects", type=names, default=default.objects)
    known.add_argument("--iterations", type=int, default=default.iterations)
    known.add_argument("--noise-iterations", type=int, default=default.noise_iterations)
    known.add_argument("--sizes", type=_numbers, default=default.sizes)
    known.add_argument("--output", type=Path, default=RESULTS, help="folder for the report")
    return known


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


if __name__ == "__main__":
    run_command(main)
