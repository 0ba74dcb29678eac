"""Printed numbers of the papers, and the limits that ours are held to."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

PUBLISHED: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("published.toml").read_text(encoding="utf-8")
)
