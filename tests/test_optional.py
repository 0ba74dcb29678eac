from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from rayrelief import optional
from rayrelief.errors import InputError
from rayrelief.optional import library

PROJECT = Path(__file__).parents[1]


def test_a_package_that_is_there_is_imported():
    assert library("json.decoder", "a test", "hdf5").JSONDecoder is not None


def test_one_that_is_absent_is_named_with_its_extra_and_a_way_around_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(InputError) as caught:
        library("h5py", "an HDF5 file", "hdf5", otherwise="save it as .npy")
    words = str(caught.value)
    assert words.startswith("an HDF5 file needs the package h5py, which is not installed")
    assert "extra hdf5" in words
    assert re.search(
        r'pip install "(h5py>=3\.11|rayrelief\[hdf5\])", or save it as \.npy\.$', words
    )


def test_one_that_is_there_and_does_not_load_is_not_called_absent(monkeypatch, tmp_path):
    (tmp_path / "broken_package.py").write_text("raise ImportError('no such symbol')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"cannot be loaded \(no such symbol\)"):
        library("broken_package", "a test", "hdf5")


def test_without_an_installation_pip_is_asked_for_the_extra(monkeypatch):
    def absent(name):
        raise optional.PackageNotFoundError(name)

    monkeypatch.setattr(optional, "requires", absent)
    with pytest.raises(InputError, match=r'pip install "rayrelief\[hdf5\]"'):
        library("no_such_package", "a test", "hdf5")


def test_every_extra_that_is_asked_for_exists():
    known = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = known["project"]["optional-dependencies"]
    asked = [
        found
        for path in (PROJECT / "src").rglob("*.py")
        for found in re.findall(r'library\(\s*"[\w.]+",\s*f?"[^"]*",\s*"(\w+)"', path.read_text())
    ]
    assert len(asked) >= 7
    assert set(asked) <= set(extras)
