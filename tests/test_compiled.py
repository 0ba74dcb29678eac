"""numba is loaded in one place, which says what is wrong with its settings."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rayrelief

ROOT = Path(rayrelief.__file__).parent


def start(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("value", ["0", "abc", "100000"])
def test_threads_that_cannot_be_are_refused(value):
    ended = start("-c", "import rayrelief.compiled", NUMBA_NUM_THREADS=value)
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("rayrelief.errors.InputError: numba cannot be loaded")
    assert "Unset NUMBA_NUM_THREADS" in last


def test_an_installation_that_does_not_fit_together_is_not_a_setting(tmp_path):
    (tmp_path / "numba.py").write_text("raise ValueError('numpy.dtype size changed')")
    ended = start("-c", "import rayrelief.compiled", PYTHONPATH=str(tmp_path))
    assert ended.stderr.splitlines()[-1] == "ValueError: numpy.dtype size changed"


def test_the_command_says_so_on_one_line(tmp_path):
    words = ("-m", "rayrelief", "integrate", "x", "-o", str(tmp_path / "out"))
    ended = start(*words, NUMBA_NUM_THREADS="0")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: numba cannot be loaded with its settings")
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_nothing_else_loads_numba():
    for path in set(ROOT.rglob("*.py")) - {ROOT / "compiled.py"}:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = getattr(node, "module", None)
                names = [module] if module else [alias.name for alias in node.names]
                loaded = [name for name in names if name.split(".")[0] == "numba"]
                assert not loaded, f"{path}, line {node.lineno}: import it from rayrelief.compiled"
