"""report.json of an earlier run: which files it left."""

from __future__ import annotations

import json
from pathlib import Path

REPORT_NAME = "report.json"


def files_of_run(path: Path) -> list[str]:
    """Names of the files that the report of a run lists; none without such a report."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    listed = report.get("files") if isinstance(report, dict) and "rayrelief" in report else None
    names = listed if isinstance(listed, list) else []
    return [name for name in names if isinstance(name, str)]
