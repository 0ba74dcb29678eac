"""``make paper``: every table of the paper, our number beside the printed one, and its figures.

RAYRELIEF_DATA=/path/to/data python -m benchmarks.accuracy [TABLE ...]
RAYRELIEF_DATA=/path/to/data python -m benchmarks.accuracy --principal-point both [TABLE ...]
RAYRELIEF_DATA=/path/to/data python -m benchmarks.accuracy --spread [TABLE ...]
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from pathlib import Path

import rayrelief
from benchmarks.accuracy.experiments import MADE, Cell
from benchmarks.accuracy.page import Page
from benchmarks.accuracy.predictions import Cache, library_state
from benchmarks.accuracy.settings import (
    BOTH,
    PRINCIPAL_POINTS,
    PUBLISHED_ITERATIONS,
    PrincipalPoint,
    Settings,
)
from benchmarks.accuracy.suites import BOTH_POINTS, PAPER, SPREAD, TITLES, Run, Suite
from benchmarks.accuracy.tables import Sheet
from benchmarks.accuracy.workers import predict_missing
from benchmarks.report import UnavailableError, exit_code, progress, run_command
from benchmarks.settings import names

RESULTS = Path(__file__).parents[1] / "results"


def main(arguments: list[str]) -> int:
    """Predict what is missing, then score; 1 if a limit is missed, 130 after an interruption."""
    options = parser().parse_args(arguments)
    both = options.principal_point == BOTH
    if both and options.spread:
        raise SystemExit(f"--spread perturbs one principal point: {' or '.join(PRINCIPAL_POINTS)}")
    suite = SPREAD if options.spread else BOTH_POINTS if both else PAPER
    chosen = suite.chosen(options.tables)
    # Tables with both take the point of the file for the map as it is.
    point: PrincipalPoint = "file" if both else options.principal_point
    settings = Settings(options.objects, options.iterations, point)
    try:
        return run(suite, chosen, settings, options.workers, options.output)
    except UnavailableError as error:
        raise SystemExit(str(error)) from error
    except rayrelief.RayreliefError as error:
        raise SystemExit(f"error: {error}") from error
    except BrokenExecutor as error:
        raise SystemExit(f"a worker died ({error}); the same command goes on from there") from error
    except KeyboardInterrupt:
        progress("interrupted: what is finished is kept, the same command goes on from there")
        return 130


def run(suite: Suite, chosen: list[str], settings: Settings, workers: int, folder: Path) -> int:
    """Print tables and write them into a folder."""
    this = Run(settings, library_state(), Cache(folder / "predictions"), workers)
    cells: dict[str, list[Cell]] = {}
    skipped: list[str] = []
    for table in chosen or suite.experiments:
        with skipped_if_unavailable(table, skipped, unless=chosen):
            cells[table] = list(suite.experiments[table].cells(this))
    if not cells:
        raise UnavailableError(f"nothing can be made; {skipped[0]}")
    this.cache.prepare()
    tasks = [task for each in cells.values() for cell in each for task in cell.tasks]
    what = "predictions" + ", part 1 of 2" * ("explain" in cells)  # part 2 follows the tables
    predict_missing(tasks, this.cache, workers, this.library, what).tell(what)

    # Without the maps of DiLiGenT a run is named after what it holds, not after the whole.
    named = chosen or ([] if set(MADE) <= set(cells) else list(cells))
    command = settings.command(*suite.options, *chosen)
    page = Page(
        folder / f"{settings.file_stem(suite.prefix, *named)}.md",
        f"# {suite.title}\n\n`{command}`, rayrelief {this.library}",
        skipped,
    )
    sheets: list[Sheet] = []
    for table, content in cells.items():
        with skipped_if_unavailable(table, skipped, unless=chosen):
            for sheet in suite.experiments[table].sheets(this, content):
                sheets.append(sheet)
                # At once: what follows may take long. Without cells nothing has iterations.
                page.add(sheet.table.noting(*settings.remarks) if content else sheet.table)
                sheet.write_csv(folder, settings.file_stem(suite.prefix, sheet.name))
    close = suite.summary(this, sheets, command)
    if close is not None:
        page.add(close.table.noting(*settings.remarks))
        close.write_csv(folder, settings.file_stem(suite.prefix, close.name, *named))
    page.finish()
    progress(f"written to {page.path}, and a .csv for each table")
    return exit_code(page.tables)


@contextmanager
def skipped_if_unavailable(table: str, skipped: list[str], unless: Sequence[str]) -> Iterator[None]:
    """Pass over a table whose data is not here, unless it was asked for by its name."""
    try:
        yield
    except UnavailableError as error:
        if table in unless:
            raise
        skipped.append(f"{table}, {error}")
        progress(f"skipped: {skipped[-1]}")


def parser() -> argparse.ArgumentParser:
    """Tables and settings."""
    known = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy", description=(Settings.__doc__ or "").split("\n")[0]
    )
    known.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TITLES))
    known.add_argument("--spread", action="store_true", help="tables of MADE over perturbed inputs")
    known.add_argument("--objects", type=names, default=(), help="such as cow,pot2; default: all")
    known.add_argument(
        "--iterations",
        type=count,
        default=PUBLISHED_ITERATIONS,
        help=f"quick looks take fewer than {PUBLISHED_ITERATIONS}; shorter schedules shrink alike",
    )
    known.add_argument(
        "--principal-point",
        choices=(*PRINCIPAL_POINTS, BOTH),
        default="file",
        help="that of K.txt (default), the one that some rows of the paper fit, "
        "or tables of MADE with both",
    )
    known.add_argument("--workers", type=count, default=2, help="processes of one thread each")
    known.add_argument("--output", type=Path, default=RESULTS, help="for tables and predictions")
    return known


def count(text: str) -> int:
    """A number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 upwards")
    return int(text)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the end of a batch job
    run_command(main)
