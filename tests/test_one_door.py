"""Files of others are opened in one place, which refuses pipes and devices: io/sources.py."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rayrelief

ROOT = Path(rayrelief.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
# They open what belongs to the system or to the package; io/atomic.py a folder, to lock it.
MAY_OPEN = (
    *("memory.py", "backends/cuda/machine.py", "io/atomic.py", "io/sources.py"),
    *("cli/terminal/console.py", "cli/terminal/streams.py"),
)
DOOR = ("open_file", "read_bytes", "check_signature", "is_there")
OPENING = ("open", "read_text", "read_bytes")
WRITING = ("imwrite", "VideoWriter", "save", "write")
# Modules that open nothing but by the names above.
HARMLESS = (
    *("rayrelief", "dataclasses", "functools", "itertools", "json", "os", "pathlib", "re"),
    *("shlex", "shutil", "typer", "warnings", "webbrowser"),
)
PACKAGES = ("library", "tifffile_package", "zarr_package")  # return a module
CONVERTING = ("Path", "as_path", "fspath", "str")
WORDS = ("name", "parts", "stem", "suffix")  # of a path, which are none


def last(function: ast.AST) -> str:
    """np.lib.format.open_memmap -> open_memmap."""
    return ast.unparse(function).rpartition(".")[2]


def is_path_type(annotation: ast.expr | None) -> bool:
    return annotation is not None and "Path" in ast.unparse(annotation)


def foreign_names(tree: ast.AST) -> set[str]:
    """Names of modules and functions of others."""
    found = set(PACKAGES)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                if (module or alias.name).split(".")[0] not in HARMLESS:
                    found.add((alias.asname or alias.name).split(".")[0])
        elif isinstance(node, ast.Assign) and last(getattr(node.value, "func", node)) in PACKAGES:
            found.add(ast.unparse(node.targets[0]))
    return found


def mentions(node: ast.AST, paths: set[str]) -> bool:
    """Whether a value is one of these paths, or made of one."""
    parts = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Attribute):
        if node.attr in WORDS or node.attr in paths:
            return node.attr in paths
    elif isinstance(node, ast.Call):
        parts = [*node.args] if last(node.func) in CONVERTING else []
        parts += [node.func.value] if isinstance(node.func, ast.Attribute) else []
    elif isinstance(node, ast.Name):
        return node.id in paths
    return any(mentions(part, paths) for part in parts)


def paths_in(function: ast.AST, attributes: set[str]) -> set[str]:
    """Names of paths in a function: arguments, and what is made of them."""
    nodes = list(ast.walk(function))
    found = attributes | {
        node.arg for node in nodes if isinstance(node, ast.arg) and is_path_type(node.annotation)
    }
    for node in nodes:
        if isinstance(node, ast.Assign) and mentions(node.value, found):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def opened_past_the_door(source: str) -> list[str]:
    """Calls that open a file by its name in a function that has not asked the door before."""
    tree = ast.parse(source)
    foreign = foreign_names(tree)
    nodes = list(ast.walk(tree))
    attributes = {
        ast.unparse(node.target)
        for node in nodes
        if isinstance(node, ast.AnnAssign) and is_path_type(node.annotation)
    }
    found = []
    for function in (node for node in nodes if isinstance(node, ast.FunctionDef)):
        paths = paths_in(function, attributes)
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        asked = min((c.lineno for c in calls if ast.unparse(c.func) in DOOR), default=None)
        for call in calls:
            name = ast.unparse(call.func)
            values = [*call.args, *(keyword.value for keyword in call.keywords)]
            is_foreign = name.split(".")[0].split("(")[0] in foreign
            opens = is_foreign and any(mentions(value, paths) for value in values)
            is_own = name in DOOR or name.startswith(("files(", "webbrowser."))
            opens |= last(call.func) in OPENING and name != "read_text" and not is_own
            modes = [value.value for value in values if isinstance(value, ast.Constant)]
            writes = last(call.func) in WRITING or "w" in modes or "wb" in modes
            if opens and not writes and (asked is None or call.lineno < asked):
                found.append(f"line {call.lineno}: {name}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_of_others_are_opened_by_one_door(path):
    if path.relative_to(ROOT).as_posix() not in MAY_OPEN:
        past = opened_past_the_door(path.read_text(encoding="utf-8"))
        assert not past, "io.sources.open_file refuses what is no file"


@pytest.mark.parametrize(
    ("body", "is_seen"),
    [
        ("np.load(path)", True),
        ("np.load(file=path)", True),
        ("np.load(path.with_suffix('.npy'))", True),
        ("np.load(f'{path}.npy')", True),
        ("name = str(path / 'a')\n    np.loadtxt(name)", True),
        ("h5py.File(path, 'r')", True),
        ("h5py = library('h5py')\n    h5py.File(path)", True),
        ("zarr_package().open_array(path)", True),
        ("loadmat(os.fspath(path))", True),
        ("np.load(self.folder)", True),
        ("open(path)", True),
        ("path.open()", True),
        ("os.open(path, os.O_RDONLY)", True),
        ("path.with_name('x').read_text()", True),
        ("np.load(path)\n    check_signature(path)", True),
        ("check_signature(path)\n    OpenEXR.File(str(path))", False),
        ("file = open_file(path)\n    np.load(file)", False),
        ("data = read_bytes(path)\n    np.frombuffer(data)", False),
        ("trimesh.load(data, file_type=path.suffix)", False),
        ("path.open('wb')", False),
        ("np.load(file)", False),
    ],
)
def test_what_opens_by_name_is_seen(body, is_seen):
    head = "import h5py, numpy as np, os, trimesh, OpenEXR\nfrom scipy.io import loadmat\n"
    fields = "class A:\n    folder: Path\n"
    source = f"{head}{fields}def read(path: Path, file, data):\n    {body}\n"
    assert bool(opened_past_the_door(source)) == is_seen
