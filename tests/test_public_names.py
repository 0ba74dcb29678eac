"""The public surface: every name loads, at use, and examples need nothing deeper."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rayrelief
from rayrelief.cameras import Camera

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
HEAVY = ["numpy", "numba", "cv2", "trimesh", "OpenEXR", "scipy", "psutil"]
NAMESPACES = ["backends", "cameras", "errors", "gpu", "laws", "methods", "solvers", "synthetic"]
PACKAGES = ["rayrelief", *(f"rayrelief.{name}" for name in NAMESPACES)]


def run_python(code: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("package", ["rayrelief", "rayrelief.cameras", "rayrelief.errors"])
def test_importing_loads_nothing_heavy(package):
    code = f"import sys, {package}; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert run_python(code).strip() == "[]"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["camera", "--help"]])
def test_help_loads_nothing_heavy(arguments):
    code = (
        "import atexit, sys; from rayrelief.cli import main; sys.argv[1:] = "
        + repr(arguments)
        + "\n"
        f"atexit.register(lambda: print([m for m in {HEAVY!r} if m in sys.modules])); main()"
    )
    assert run_python(code).splitlines()[-1] == "[]"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_loads(package):
    assert run_python(f"from {package} import *; import {package}; print('all')").strip() == "all"


def test_the_top_level_stays_small():
    names = dir(rayrelief)
    assert set(NAMESPACES) < set(names)
    assert len(names) - len(NAMESPACES) <= 23


def concrete(kind: Any) -> Iterator[Any]:
    """Classes of the library below a class that can be made into objects."""
    for below in kind.__subclasses__():
        yield from concrete(below)
        if below.__module__.startswith("rayrelief.") and not inspect.isabstract(below):
            yield below


def test_every_camera_is_public():
    public = {getattr(rayrelief.cameras, name) for name in dir(rayrelief.cameras)}
    assert {camera.__name__ for camera in set(concrete(Camera)) - public} == set()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_need_no_deep_import(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module))
    assert {name for name in imported if name.startswith("rayrelief")} == {"rayrelief"}
