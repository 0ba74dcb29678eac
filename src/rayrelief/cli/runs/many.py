"""rayrelief integrate with several maps: one bar, several workers, a summary at the end."""

from __future__ import annotations

import os
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from rayrelief.batch.base import Engine, EngineLostError
from rayrelief.batch.here import Here
from rayrelief.batch.plan import PlannedMap, absolute, plan
from rayrelief.batch.processes import Processes, cores
from rayrelief.batch.running import run
from rayrelief.cameras.calibration import is_camera_text
from rayrelief.cli.runs.one_of_many import Done, OneOfMany, failed
from rayrelief.cli.runs.places import check_folder
from rayrelief.cli.runs.report import FAILED, to_json
from rayrelief.cli.runs.sequence import InSequence
from rayrelief.cli.runs.summary import Row, as_csv, as_table, has_surface
from rayrelief.cli.runs.writing import NO_SURFACE
from rayrelief.cli.terminal import signals
from rayrelief.cli.terminal.console import EXIT_FAILED, counting, say, show, tell
from rayrelief.datasets.masks import AUTO, NONE
from rayrelief.errors import in_number
from rayrelief.io.atomic import write_whole
from rayrelief.io.height import check_height_suffix
from rayrelief.io.images import write_png
from rayrelief.viewer.contact_sheet import contact_sheet, picture_side

SUMMARY, SHEET = "summary.csv", "contact_sheet.png"


def integrate_many(
    paths: list[Path],
    out: Path,
    *,
    workers: int | None,
    scheduler: str | None,
    threads: int | None,
    as_json: bool,
    sequence: bool = False,
    **options: Any,
) -> None:
    """Integrate maps into folders below one, and tell how they went."""
    if sequence and not options["depth_formats"]:
        raise typer.BadParameter(
            "--sequence goes on from the depth of the last frame: --depth-format none leaves none"
        )
    began = time.perf_counter()
    summary, sheet = out / SUMMARY, out / SHEET
    check_folder(out, [summary, sheet])
    planned = plan(paths, out)
    if sequence:  # each frame waits for the one before
        engine: Engine = Here(threads or cores())
    else:
        engine = engine_for(len(planned), workers, scheduler, threads)
    kind = InSequence if sequence else OneOfMany
    task = kind(engine, picture_side=picture_side(len(planned)), **_absolute(options))
    ends: dict[int, Done] = {}
    try:
        _do_all(engine, task, planned, ends)
    except EngineLostError:
        if ends:
            _sum_up(out, [ends[number] for number in sorted(ends)])
            say(f"note: {_progress(ends, planned)}, see {summary}")
        raise
    done = [ends[number] for number in range(len(planned))]
    rows = _sum_up(out, done)
    if as_json:
        show(to_json(rows))
    else:
        good = sum(has_surface(row, NO_SURFACE) for row in rows)
        there = sum(each.was_there for each in done)
        before = f", {there:,} of them done before" if there else ""
        seconds = time.perf_counter() - began
        tell(as_table(rows))
        tell(
            f"{in_number(len(rows), 'map')}{before}: {in_number(good, 'surface')}, {seconds:.1f} s"
        )
        tell(f"  written: {out}, with {SUMMARY} and {SHEET}")
    if not all(has_surface(row, NO_SURFACE) for row in rows):
        raise typer.Exit(EXIT_FAILED)


def engine_for(
    maps: int, workers: int | None, scheduler: str | None, threads: int | None
) -> Engine:
    """Processes on this machine, or the cluster of a scheduler; InputError if it has no workers."""
    if scheduler is None:
        return Processes.sharing_this_machine(maps, workers, threads)
    from rayrelief.batch.cluster import Cluster

    cluster = Cluster(scheduler, threads)
    cluster.workers()  # tasks would wait for the first one, for ever and without a word
    return cluster


def worker_count(text: str) -> int | None:
    """Read the number of workers; None for "auto"."""
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) == 0:
        raise typer.BadParameter(f"--workers {text!r}: expected a number from 1 on, or auto")
    return int(text)


def check_height_name(file: Path | None) -> None:
    """Raise BadParameter for the path of one height map where there are many."""
    if file is not None and file.name != str(file):
        raise typer.BadParameter(
            f"--height {file}: expected a file name without a folder, for the folder of every map"
        )
    if file is not None:
        check_height_suffix(file)


def _do_all(
    engine: Engine, task: OneOfMany, planned: list[PlannedMap], done: dict[int, Done]
) -> None:
    """Run all tasks under one bar, and keep the end of each by its number.

    One that raised what nobody expects ends as a row as well.
    """
    try:
        with (
            signals.Interruptible(),
            counting("integrating", len(planned)) as advance,
            closing(run(engine, task, planned)) as ends,
        ):
            for number, end in ends:
                place = planned[number]
                done[number] = _in_row(place, end)
                for line in done[number].said:
                    say(line.replace(": ", f": {place.name}: ", 1))
                advance()
    except KeyboardInterrupt:
        say(f"note: {_progress(done, planned)}; the same command goes on")
        raise


def _progress(ends: dict[int, Done], planned: list[PlannedMap]) -> str:
    """How many maps are done: not again by the same command, unlike those that failed."""
    bad = sum(each.row["outcome"] == FAILED for each in ends.values())
    failures = f", {bad:,} failed" if bad else ""
    return f"{len(ends) - bad:,} of {in_number(len(planned), 'map is', 'maps are')} done{failures}"


def _sum_up(out: Path, done: list[Done]) -> list[Row]:
    """Write the summary and the contact sheet; returns the rows."""
    rows = [each.row for each in done]
    write_whole(out / SUMMARY, as_csv(rows))
    write_png(out / SHEET, contact_sheet([(_caption(each), each.picture) for each in done]))
    return rows


def _in_row(place: PlannedMap, end: Done | BaseException) -> Done:
    """End of a task; an error that it raised becomes its row."""
    if isinstance(end, BaseException):
        return failed(place, end)
    return end


def _caption(done: Done) -> str:
    name = str(done.row["name"])
    return name if done.picture is not None else f"{name}: {done.row['outcome']}"


def _absolute(options: dict[str, Any]) -> dict[str, Any]:
    """Options whose paths mean the same in every process."""
    source, meshing, surface = (options[name] for name in ("source", "meshing", "surface"))
    if source.camera is not None and not is_camera_text(source.camera):
        source = replace(source, camera=os.path.abspath(source.camera))
    if source.mask not in (None, AUTO, NONE):
        source = replace(source, mask=os.path.abspath(source.mask))
    if meshing.photo is not None:
        meshing = replace(meshing, colour=os.path.abspath(meshing.colour))
    if surface.depth_prior is not None:
        surface = replace(surface, depth_prior=absolute(surface.depth_prior))
    return options | {"source": source, "meshing": meshing, "surface": surface}
