"""Fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_root() -> Path:
    """Folder with the real data sets, named by RAYRELIEF_DATA."""
    root = os.environ.get("RAYRELIEF_DATA")
    if not root:
        pytest.skip("RAYRELIEF_DATA is not set: it names the folder that holds diligent/bear")
    return Path(root)
