"""rayrelief integrate with a map in blocks: zarr, tiled TIFF or EXR in, the same out."""

from __future__ import annotations

import math
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

from rayrelief.batch.base import PROCESS, SHARE, Engine, WorkersLostError
from rayrelief.batch.here import Here
from rayrelief.batch.kept import Kept
from rayrelief.batch.plan import absolute
from rayrelief.batch.processes import Processes, cores
from rayrelief.cameras.calibration import write_camera
from rayrelief.cli.options.mesh import MeshOptions
from rayrelief.cli.options.shared import Input
from rayrelief.cli.options.surface import SurfaceOptions
from rayrelief.cli.runs.inputs import check_not_replaced
from rayrelief.cli.runs.large_input import large_files, read_large, whole_bytes
from rayrelief.cli.runs.large_plan import plan, tell_plan
from rayrelief.cli.runs.large_report import (
    check_beside,
    describe,
    files_beside,
    going_on,
    in_blocks,
    last_notes,
    summary,
)
from rayrelief.cli.runs.places import check_folder
from rayrelief.cli.runs.report import reported, to_json
from rayrelief.cli.runs.run import as_said
from rayrelief.cli.terminal.console import has_bar, say, show, tell
from rayrelief.cli.terminal.signals import Interruptible
from rayrelief.errors import InputError, IntegrationError, in_number
from rayrelief.io.atomic import discard_leftovers, locked, write_whole
from rayrelief.large.job import Job
from rayrelief.large.judging import MapRefusedError
from rayrelief.large.layout import Layout
from rayrelief.large.leftovers import Leftovers, kept_layout, leftovers
from rayrelief.large.opening import EXR, TIFF, ZARR
from rayrelief.large.planning import check_fit, check_least, side_for
from rayrelief.large.results import check_disk, check_place, write_depth
from rayrelief.large.running import JOINING, integrate_blocks
from rayrelief.large.store import check_ours
from rayrelief.large.tiles import discard_tiles, unlisted, write_tiles
from rayrelief.memory import in_words, memory_available
from rayrelief.methods.base import Method

UNITS = " kmgt"  # each a thousand of the one before it, or with an i 1024
QUIET = 10.0  # seconds after which a stage says again how far it is


def is_large(paths: list[Path], out: Path) -> bool:
    """Whether the suffix of the map or of its result asks for blocks."""
    asked = (*ZARR, *TIFF, *EXR)
    return out.suffix.lower() in asked or any(p.suffix.lower() in ZARR for p in paths)


def check_options(given: dict[str, str], device: str, paths: list[Path]) -> None:
    """Raise BadParameter for an option, by its parameter, that maps in blocks do not have."""
    groups = (field.name for group in (SurfaceOptions, MeshOptions) for field in fields(group))
    whole_only = {*groups, "depth_format", "sequence"}
    if device != "cpu":
        whole_only.add("device")
    refused = [option for name, option in given.items() if name in whole_only]
    if refused:
        verb = "goes" if len(refused) == 1 else "go"
        is_zarr = any(path.suffix.lower() in ZARR for path in paths)
        raise typer.BadParameter(
            f"{' and '.join(refused)} {verb} with maps that are integrated whole, not with those "
            "in blocks: leave it out, or "
            + ("save a crop of the map as .npy" if is_zarr else "give a folder with -o")
        )


def parse_memory(text: str | None) -> int:
    """Bytes of a size such as 4GB; most of what is available unless given."""
    if text is None:
        return int(SHARE * memory_available())
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?))?b?\s*", text.lower())
    power = 0 if found is None else UNITS.index(found[2] or " ")
    size = 0.0 if found is None else float(found[1]) * (1024 if found[3] else 1000) ** power
    if not 1 <= size < math.inf:
        raise typer.BadParameter(f"--memory {text!r}: expected a size such as 4GB or 4GiB")
    return int(size)


def integrate_large(
    paths: list[Path],
    out: Path,
    *,
    source: Input,
    method: Method,
    memory: str | None,
    workers: int | None,
    scheduler: str | None,
    threads: int | None,
    mesh_formats: list[str],
    memory_check: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Integrate one map in blocks, write its depth, and tell how it went."""
    if len(paths) != 1:
        raise typer.BadParameter("a map in blocks is integrated alone, not with others")
    if others := [name for name in mesh_formats if name != "glb"]:
        raise typer.BadParameter(
            f"--mesh-format {','.join(others)}: the tiles of a map in blocks are .glb files; give "
            "--mesh-format glb, or none"
        )
    began, path, out = time.perf_counter(), absolute(paths[0]), absolute(out)
    work = out.with_name(f"{out.name}.work")
    report_file, camera_file = files_beside(out)
    tiles = out.with_suffix(".tiles")
    check_place(out)
    check_folder(out.parent, (report_file, camera_file))
    read = large_files(path, source)
    check_not_replaced(read, (report_file, camera_file, tiles))
    # These two are removed with all that is in them.
    holding = (folder for file in read for folder in absolute(file).parents)
    check_not_replaced([*read, *holding], [out, work])
    check_beside(out)
    check_ours(work)
    engine, size, count, own = _engine(scheduler, workers, memory, threads, memory_check)
    check_least(size, count, method, own)
    found, camera, notes = read_large(path, source, size // count - PROCESS)
    for note in notes:
        say(as_said(note))
    if camera.wraps(found.shape[1]):
        say("note: the left and right border of a panorama in blocks are not joined")
    # What is free changes from run to run: without a limit the blocks stay those that were begun.
    layout = kept_layout(work) if memory is None else None
    left = size - count * whole_bytes(found)
    if layout is None or layout.shape != found.shape:
        layout = Layout.of(*found.shape, side_for(left, count, method, own))
    elif memory_check:
        check_fit(layout, left, count, method, own)
    check_disk(out.parent, layout, method, work, mesh=bool(mesh_formats))
    camera = _sized(camera, *found.shape)
    left_there = leftovers(Job.of(found, camera, method, layout, work))
    if dry_run:
        _tell_kept(left_there, layout)
        told: dict[str, Any] = {"memory": size, "workers": count, "threads": own, "work": work}
        told |= {"notes": notes, "mesh": bool(mesh_formats)}
        tell_plan(plan(found, camera, layout, method, **told), as_json=as_json)
        return
    say(f"note: {in_blocks(layout)}, for {in_words(size)}")
    work.mkdir(exist_ok=True)
    with (
        Interruptible(),
        locked(work, wait=False),
        reported(report_file, map=str(path), size=list(found.shape[::-1])),
        _progress() as progress,
        Kept(engine) as kept,
    ):
        _tell_kept(left_there, layout)
        try:
            finished = integrate_blocks(
                found,
                camera,
                work,
                method=method,
                layout=layout,
                engine=kept,
                threads=own,
                progress=progress,
            )
            last = last_notes(finished)
            seconds = time.perf_counter() - began
            report = describe(found, out, finished, [*notes, *last], seconds)
            report_file.unlink(missing_ok=True)  # else an earlier one lies beside the new depth
            if gone := discard_tiles(tiles):  # of another depth
                one, several = "file of an earlier mesh was", "files of an earlier mesh were"
                say(f"note: {in_number(gone, one, several)} removed from {tiles}")
            write_depth(out, finished, report)
            write_camera(camera_file, camera)
            if "glb" in mesh_formats:
                write_tiles(tiles, finished, kept, progress)
        except KeyboardInterrupt:
            say(f"note: what is done is kept in {work}; the same command goes on")
            raise
        except MapRefusedError:
            shutil.rmtree(work)  # there is nothing to go on with
            raise
        except WorkersLostError as error:
            remedy = "Give blocks less memory (--memory), or workers more; the same command goes on"
            raise IntegrationError(error.found, expected=error.expected, remedy=remedy) from error
        write_whole(report_file, to_json(report) + "\n")
        for folder in (out.parent, tiles):
            discard_leftovers(folder)
        if tiles.is_dir() and (others := unlisted(tiles)):
            more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
            say(f"note: {tiles} also holds {others[0]}{more}, which this run did not write")
        shutil.rmtree(work)
    if not finished.converged:
        say("warning: the blocks had not settled after the last sweep (see changes in the report)")
    if as_json:
        show(to_json(report))
    else:
        tell(summary(report, out, last))


def _tell_kept(kept: Leftovers | None, layout: Layout) -> None:
    if kept is not None:
        say(f"note: {going_on(kept, len(layout))}")


def _engine(
    scheduler: str | None,
    workers: int | None,
    memory: str | None,
    threads: int | None,
    memory_check: bool,
) -> tuple[Engine, int, int, int]:
    """Who computes, the memory of all of them, how many they are, and threads of each."""
    if scheduler is None:
        size, count, available = parse_memory(memory), workers or 1, memory_available()
        if memory is not None and memory_check and size > available:
            raise InputError(
                f"{in_words(size)} for all workers, but {in_words(available)} is available",
                expected="no more than that",
                remedy="Give less (--memory), or close other programs; --no-memory-check tries it",
            )
        own = threads or max(1, cores() // count)
        return Here(own) if count == 1 else Processes(count, own, size // count), size, count, own
    from rayrelief.batch.cluster import Cluster

    asked = None if memory is None else parse_memory(memory)
    cluster = Cluster(scheduler, threads)
    count, least = cluster.workers()
    if asked is None and least.memory is None:
        raise InputError(
            "the workers have no limit of memory",
            expected="one, by which blocks are planned",
            remedy="Say what all of them may use together (--memory)",
        )
    # Beyond a fraction of its limit a worker is ended.
    shares = [] if least.memory is None else [int(SHARE * least.memory)]
    shares += [] if asked is None else [asked // count]
    return cluster, count * min(shares), count, least.threads


def _sized(camera: Any, height: int, width: int) -> Any:
    """Camera that knows the size of its image, where it can."""
    return camera if camera.resolution is not None else camera.crop(0, 0, width, height)


class Lines:
    """One line for each stage, and for those that take long one for every tenth at most."""

    def __init__(self) -> None:
        self._stage, self._tenth, self._said = "", 0, 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Tell how many blocks of a stage are done, or that it begins."""
        tenth, now = 10 * done // max(1, total), time.monotonic()
        if stage != self._stage:
            self._stage, self._tenth, self._said = stage, tenth, now
            if not stage.endswith(JOINING):  # which hardly ever takes long
                say(f"note: {stage}: {in_number(total, 'block')}")
        elif tenth > self._tenth and done < total and now - self._said > QUIET:
            self._tenth, self._said = tenth, now
            say(f"note: {stage}: {done:,} of {total:,} blocks")


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal, and lines elsewhere: such runs are long."""
    if not has_bar():
        yield Lines()
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(
        *Progress.get_default_columns(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("")

        def update(stage: str, done: int, total: int) -> None:
            bar.update(task, description=stage, completed=done, total=total)

        yield update
