"""Imports go the way the data goes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import rayrelief

ROOT = Path(rayrelief.__file__).parent
# A module imports only what stands before it.
ORDER = [
    "errors",
    "checks",
    "optional",
    "compiled",
    "pieces",
    "memory",
    "conventions",
    "graph",
    "components",
    "mesh",
    "io",
    "cameras",
    "scene",
    "synthetic",
    "doctor",
    "datasets",
    "neighbourhood",
    "preprocess",
    "formulation",
    "prior",
    "inputs",
    "problem",
    "operators",
    "solvers",
    "laws",
    "backends",
    "methods",
    "fusion",
    "gpu",
    "estimate",
    "jumps",
    "edge_maps",
    "surface",
    "plausibility",
    "meshing",
    "solid",
    "shading",
    "notebook",
    "result",
    "integration",
    "scale",
    "relief",
    "evaluation",
    "viewer",
    "batch",
    "large",
    "cli",
    "__main__",
]
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def part_of(module: str) -> str:
    """rayrelief.cameras.pinhole -> cameras."""
    return module.split(".")[1]


def imported_modules(path: Path) -> list[tuple[int, str]]:
    """Line and full name of everything that a file imports from the package, at any depth."""
    package = ["rayrelief", *path.relative_to(ROOT).parent.parts]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            whole = base == "rayrelief"  # from rayrelief import cameras
            names = [f"{base}.{alias.name}" for alias in node.names] if whole else [base]
        else:
            continue
        found += [(node.lineno, name) for name in names if name.split(".")[0] == "rayrelief"]
    return found


def test_the_table_of_contributing_has_the_same_order():
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| part | contains |")[2].partition("## Rules")[0]
    parts = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert re.findall(r"`(\w+)/?`", " ".join(parts)) == ORDER


def test_every_module_has_its_place():
    parts = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES}
    assert parts == set(ORDER)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_go_one_way(path):
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    allowed = ORDER[: ORDER.index(own) + 1]
    against = [
        f"line {line}: {name}"
        for line, name in imported_modules(path)
        # The package itself knows every part: only the top may ask it, for the version.
        if (own != "cli" if name == "rayrelief" else part_of(name) not in allowed)
    ]
    assert not against, f"{own} may import {allowed}"


def test_relative_and_package_imports_are_seen(tmp_path, monkeypatch):
    (tmp_path / "io").mkdir()
    file = tmp_path / "io" / "depth.py"
    file.write_text("from . import a\nfrom ..cli import b\nfrom rayrelief import cli\nimport os\n")
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    names = [name for _, name in imported_modules(file)]
    assert names == ["rayrelief.io", "rayrelief.cli", "rayrelief.cli"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_only_the_command_line_prints(path):
    if path.relative_to(ROOT).parts[0] == "cli":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "print", f"line {node.lineno} prints"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_is_shown_goes_through_one_door(path):
    if path.relative_to(ROOT).as_posix() not in ("cli/terminal/console.py", "cli/app.py"):
        assert "typer.echo" not in path.read_text(encoding="utf-8"), "use show: names hold anything"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_module_is_longer_than_three_hundred_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


def test_nothing_is_called_utils():
    assert not [path for path in ROOT.rglob("*") if path.stem in ("utils", "util", "helpers")]
