"""Fixtures that all tests share."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

import profiles  # noqa: F401  # registers them before a test is collected

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


# Tests that call none of the large kernels, or hardly any.
WITHOUT_KERNELS = ("cameras", "io", "synthetic", "datasets", "doctor", "evaluation")
FIRST = "large/test_blocks.py"  # the longest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the reproduction of the paper as slow: most of it is whole runs. Put files in order.

    Both processes of ``make test`` take the next file when they are done with one: while one of
    them compiles the kernels the other does what needs none, and the quick files come last.
    """
    tests = ROOT / "tests"
    for item in items:
        if item.path.is_relative_to(tests / "benchmarks"):
            item.add_marker(pytest.mark.slow)
    slow = {item.path for item in items if item.get_closest_marker("slow")}

    def turn(item: pytest.Item) -> int:
        name = item.path.relative_to(tests).as_posix()
        if name == FIRST or name.startswith(WITHOUT_KERNELS):
            return 0 if name == FIRST else 1
        return 2 if item.path in slow else 3

    items.sort(key=turn)


# Before numba is imported by anything.
os.environ.setdefault("NUMBA_CACHE_DIR", str(kernel_cache()))


@pytest.fixture(scope="session")
def data_root() -> Path:
    """Folder with the real data sets, named by RAYRELIEF_DATA."""
    root = os.environ.get("RAYRELIEF_DATA")
    if not root:
        pytest.skip("RAYRELIEF_DATA is not set: it names the folder that holds diligent/bear")
    return Path(root)
