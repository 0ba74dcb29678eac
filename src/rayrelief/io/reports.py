"""report.json of an earlier run: what it says, and which files it left."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rayrelief.errors import FileError
from rayrelief.io.sources import parse_json, read_bytes

REPORT_NAME = "report.json"
LARGEST, MOST_PARTS = 50_000_000, 2_000_000  # bytes and values


def read_report(path: Path) -> dict[str, Any] | None:
    """Report of a run; None where there is none, or something else."""
    try:
        report = parse_json(read_bytes(path, largest=LARGEST), MOST_PARTS)
    except (FileError, ValueError):
        return None
    return report if isinstance(report, dict) and "rayrelief" in report else None


def result_in(folder: Path, names: Iterable[str], report: dict[str, Any] | None) -> Path | None:
    """First of these files that a folder holds; what its report leaves out is of another run."""
    listed = None if report is None or "files" not in report else files_of_run(report)
    own = (folder / name for name in names if listed is None or name in listed)
    return next((path for path in own if path.is_file()), None)


def files_of_run(report: dict[str, Any] | None) -> list[str]:
    """Names of the files that a report lists."""
    return _names(report, "files")


def left_beside(report: dict[str, Any] | None) -> list[str]:
    """Names of the files of earlier runs that a run has found and not written again."""
    return _names(report, "left")


def _names(report: dict[str, Any] | None, key: str) -> list[str]:
    listed = None if report is None else report.get(key)
    names = listed if isinstance(listed, list) else []
    return [name for name in names if isinstance(name, str)]


def notes_of(report: dict[str, Any]) -> list[str]:
    """What a report says of a result beside how its run ended."""
    status = report.get("status")
    notes = status.get("notes") if isinstance(status, dict) else None
    return [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []
