"""What is told of a map in blocks, before and after its run, and the files that hold it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rayrelief
from rayrelief.components import free_note
from rayrelief.errors import FileError, in_number
from rayrelief.io.reports import files_of_run, read_report
from rayrelief.large.arrays import MapFile
from rayrelief.large.judging import notes_of_normals
from rayrelief.large.layout import Layout, shape_of
from rayrelief.large.leftovers import Leftovers
from rayrelief.large.running import Finished


def files_beside(out: Path) -> tuple[Path, Path]:
    """Report and camera of a result."""
    return out.with_suffix(".json"), out.with_suffix(".camera.json")


def check_beside(out: Path) -> None:
    """Raise FileError where report or camera would take the place of what is not of this result."""
    report_file, camera_file = files_beside(out)
    found = read_report(report_file)
    listed = files_of_run(found)
    # A run that was killed between its files may have left depth and camera alone.
    for path, is_own in ((report_file, found), (camera_file, found or out.exists())):
        if path.exists() and not is_own:
            raise FileError(
                f"{path} is there already, and no report of rayrelief tells that it is its own",
                expected="a place for the report and the camera of the result",
                remedy="Choose another -o, or move it away",
            )
    if listed and out.name not in listed and out.with_name(listed[0]).exists():
        raise FileError(
            f"{report_file} is the report of {listed[0]}",
            expected="a place for the report of the result",
            remedy="Choose another -o, or remove them both",
        )


def in_blocks(layout: Layout) -> str:
    """How a map is cut."""
    sizes = [shape_of(layout.block(number).whole) for number in range(len(layout))]
    heights, widths = zip(*sizes, strict=True)
    if len(layout) == 1:
        return f"1 block of {widths[0]}x{heights[0]} pixels"
    largest = f"{max(widths)}x{max(heights)}"
    return f"{len(layout)} blocks of at most {largest} pixels, overlap {layout.overlap}"


def going_on(left: Leftovers, blocks: int) -> str:
    """What an earlier run left that is not done again."""
    done = [f"{left.integrated:,} of {in_number(blocks, 'block')} integrated"]
    done += [in_number(left.sweeps, "sweep")] if left.sweeps else []
    done += [f"{left.again:,} of {blocks:,} looked at again"] if left.again else []
    return f"going on with an earlier run: {', '.join(done)}"


def describe(
    source: MapFile, out: Path, finished: Finished, notes: Sequence[str], seconds: float
) -> dict[str, Any]:
    """The report of a run."""
    outcomes: dict[str, int] = {}
    for each in finished.decided:
        if each.outcome:
            outcomes[each.outcome.lower()] = outcomes.get(each.outcome.lower(), 0) + 1
    camera = finished.job.camera
    return {
        "rayrelief": rayrelief.__version__,
        "map": str(source.path),
        "size": [source.shape[1], source.shape[0]],
        "convention": source.convention,
        "notes": [*notes],
        "depth_kind": finished.job.kind,
        "camera": camera.summary(),
        "method": repr(finished.job.method),
        "pixels": sum(each.pixels for each in finished.decided),
        "components": finished.components,
        "blocks": len(finished.job.layout),
        "overlap": finished.job.layout.overlap,
        "outcomes_of_blocks": outcomes,
        "changes": list(finished.changes),
        "converged": finished.converged,
        "seconds": seconds,
        "files": [path.name for path in (out, *files_beside(out))],
    }


def last_notes(finished: Finished) -> tuple[str, ...]:
    """What is told when a map is done."""
    job = finished.job
    free = free_note(finished.components, job.camera.central)
    return *notes_of_normals(finished.decided, job.method), *free


def summary(report: dict[str, Any], out: Path, notes: Sequence[str]) -> str:
    """The same in a few lines, with the notes that come last."""
    width, height = report["size"]
    lines = [
        f"{report['pixels']:,} of {width * height:,} pixels, {in_number(report['blocks'], 'block')}"
        f", {in_number(len(report['changes']), 'sweep')}, {report['seconds']:.0f} s",
        f"  camera: {report['camera']}",
        *(f"  note: {note}" for note in notes),
        f"  written: {out}",
    ]
    return "\n".join(lines)
