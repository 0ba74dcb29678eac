"""Fixtures that all tests share."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def kernel_cache() -> Path:
    """Folder for compiled kernels that belongs to this very state of the sources.

    numba notices a change of the file of a kernel, but not of the functions that it inlines.
    """
    sources = sorted((ROOT / "src").rglob("*.py"))
    state = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    caches = ROOT / ".numba_cache"
    for old in caches.glob("*"):
        if old.name != state:
            shutil.rmtree(old, ignore_errors=True)
    return caches / state


# Before numba is imported by anything.
os.environ.setdefault("NUMBA_CACHE_DIR", str(kernel_cache()))


@pytest.fixture(scope="session")
def data_root() -> Path:
    """Folder with the real data sets, named by RAYRELIEF_DATA."""
    root = os.environ.get("RAYRELIEF_DATA")
    if not root:
        pytest.skip("RAYRELIEF_DATA is not set: it names the folder that holds diligent/bear")
    return Path(root)
