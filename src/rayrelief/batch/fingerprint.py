"""Whether a map was computed from the same files with the same settings before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rayrelief.io.reports import files_of_run, read_report
from rayrelief.io.sources import open_file


def fingerprint(settings: Iterable[object], files: Iterable[Path]) -> str:
    """SHA-256 of settings as they print, and of the names and contents of the files that exist."""
    digest = hashlib.sha256()
    for setting in settings:
        digest.update(repr(setting).encode() + b"\0")
    for path in dict.fromkeys(files):
        if path.is_file():
            with open_file(path) as file:
                content = hashlib.file_digest(file, "sha256")
            digest.update(path.name.encode() + b"\0" + content.digest())
    return digest.hexdigest()


def finished_report(path: Path, expected: str) -> dict[str, Any] | None:
    """Report of a finished run that has this fingerprint and whose files are there, or None."""
    report = read_report(path)
    if report is None or report.get("fingerprint") != expected:
        return None
    present = all((path.parent / name).is_file() for name in files_of_run(report))
    return report if present else None
