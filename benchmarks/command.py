"""What the commands share that measure in parts: their arguments, and the report of a run."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from benchmarks.report import Report, Table
from benchmarks.speed.environment import environment

Parts = Mapping[str, Callable[[argparse.Namespace], Iterable[Table]]]
RESULTS = Path(__file__).with_name("results")


def parser(module: str, parts: Parts, about: str | None) -> argparse.ArgumentParser:
    """Parts and where the report goes; a command adds what else it can be told."""
    known = argparse.ArgumentParser(prog=f"python -m {module}", description=about)
    known.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    known.add_argument("--output", type=Path, default=RESULTS, help="folder for the report")
    return known


def run(known: argparse.ArgumentParser, parts: Parts, arguments: list[str], stem: str) -> int:
    """Run the parts that were asked for, or all; 1 if a limit is missed."""
    chosen = known.parse_args(arguments)
    if unknown := sorted(set(chosen.parts) - set(parts)):
        known.error(f"unknown parts {unknown}; there are {', '.join(parts)}")
    report = Report({"command": shlex.join([*known.prog.split(), *arguments]), **environment()})
    stem = "-".join([stem, *chosen.parts])  # some parts leave the report of the whole alone
    for part in chosen.parts or parts:
        with report.part(part):
            for table in parts[part](chosen):
                report.add(table)
        report.write(chosen.output, stem)  # after each part: a long run may be interrupted
    return report.finish(chosen.output, stem)
