"""Printed numbers of the papers, and what is known of those that do not come out."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def published_tables() -> dict[str, Any]:
    """All printed numbers, and the limits of ours."""
    return _read("published.toml")


def known_remarks() -> dict[str, str]:
    """What is known, by table, table/row, or table/row/column."""
    return _read("remarks.toml")


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
