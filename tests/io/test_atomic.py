"""A file appears whole or not at all."""

from __future__ import annotations

import errno
import os
import sys

import numpy as np
import pytest

from rayrelief.errors import FileError
from rayrelief.io.atomic import atomic_write
from rayrelief.io.depth import write_depth


def write_half_and_raise(path, failure):
    with atomic_write(path) as temporary:
        temporary.write_text("half of the n")
        raise failure


def test_success_replaces_the_file_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "new" / "folder" / "result.txt"
    for text in ("first", "second"):
        with atomic_write(path) as temporary:
            assert temporary.parent == path.parent
            assert temporary.suffix == ".txt"
            temporary.write_text(text)
        assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_any_exception_leaves_the_old_file_alone(tmp_path, failure):
    path = tmp_path / "result.txt"
    path.write_text("old")
    with pytest.raises(failure):
        write_half_and_raise(path, failure)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_failure_of_the_replacement_removes_the_temporary_file(tmp_path, monkeypatch):
    def refuse(source, target):
        raise PermissionError(errno.EACCES, "in use by another program")

    monkeypatch.setattr(os, "replace", refuse)
    path = tmp_path / "result.txt"
    with pytest.raises(FileError, match="no permission"), atomic_write(path) as temporary:
        temporary.write_text("new")
    assert list(tmp_path.iterdir()) == []


def test_disk_full_says_how_much_was_free(tmp_path):
    path = tmp_path / "result.txt"
    path.write_text("old")
    with pytest.raises(FileError, match=r"disk was full.* MB free") as caught:
        write_half_and_raise(path, OSError(errno.ENOSPC, "No space left on device"))
    assert str(path) in str(caught.value)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_folder_in_the_place_of_the_file(tmp_path):
    with pytest.raises(FileError, match="is a folder"), atomic_write(tmp_path):
        pytest.fail("the block must not run")


def test_file_in_the_place_of_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "result.txt"
    with pytest.raises(FileError, match="cannot be written"), atomic_write(path):
        pytest.fail("the block must not run")


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="this user may write everywhere"
)
def test_folder_without_permission(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    path = folder / "result.txt"
    with pytest.raises(FileError, match="no permission"), atomic_write(path) as temporary:
        temporary.write_text("new")


def test_symbolic_link_is_followed(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    try:
        link.symlink_to(target)
    except OSError:
        pytest.skip("this user may not create symbolic links")
    with atomic_write(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
@pytest.mark.parametrize(
    ("suffix", "words"),
    [("npy", "disk was full"), ("npz", "larger than its disk"), ("png", "larger than its disk")],
)
# What Python says of an archive that NumPy 2.0 leaves open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_file_that_the_system_does_not_let_grow_is_told_as_such(tmp_path, suffix, words):
    import resource

    path = tmp_path / f"depth.{suffix}"
    depth = np.random.default_rng(0).uniform(1, 2, (100, 100))
    write_depth(path, depth, "z")
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(FileError, match=words):
            write_depth(path, depth + 1, "z")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before
