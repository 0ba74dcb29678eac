"""Where files are written to, and several of them together."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from rayrelief.errors import FileError
from rayrelief.io.atomic import OWN, atomic_write, temporary_name, together

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")


def write(path, text):
    with atomic_write(path) as temporary:
        temporary.write_text(text)


def test_only_regular_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "other").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "out").symlink_to(tmp_path / "other" / "out")
    (tmp_path / "device").symlink_to("/dev/null")
    found = {
        "pipe": "a named pipe",
        "loop": "a link that leads back to itself",
        "here/out": "out of its folder",
        "device": "a device",
        "here": "a folder",
        "null\0": "cannot be written: .*null",
        "loop/below": "cannot be written",
    }
    for name, words in found.items():
        with pytest.raises(FileError, match=words):
            write(tmp_path / name, "x")
    with pytest.raises(FileError):
        write("/dev/null", "x")
    assert not (tmp_path / "other" / "out").exists()
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(
        ["pipe", "loop", "other", "here", "out", "device"]
    )


def test_a_folder_behind_a_link_is_used(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link" / "a.txt", "x")
    assert (tmp_path / "real" / "a.txt").read_text() == "x"


def test_a_batch_appears_at_once_or_not_at_all(tmp_path):
    names = ("first", "second", "last")
    for name in names:
        write(tmp_path / name, "old")
    with together():
        for name in names:
            write(tmp_path / name, "new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        names, "old"
    )
    with together() as batch:
        for name in names:
            write(tmp_path / name, "new")
        batch.commit(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        names, "new"
    )


def test_two_batches_into_one_folder_take_turns(tmp_path):
    fcntl = pytest.importorskip("fcntl", reason="locks of POSIX")

    def second():
        with together() as batch:
            write(tmp_path / "file", "second")
            batch.commit(tmp_path)

    held = os.open(tmp_path, os.O_RDONLY)  # as the first one does while its files take their places
    fcntl.flock(held, fcntl.LOCK_EX)
    thread = threading.Thread(target=second)
    thread.start()
    thread.join(0.3)
    assert thread.is_alive()
    assert not (tmp_path / "file").exists()
    os.close(held)
    thread.join(60)
    assert (tmp_path / "file").read_text() == "second"


@pytest.mark.parametrize("moves", range(6))
def test_a_kill_between_two_moves_never_mixes_two_batches(tmp_path, monkeypatch, moves):
    names = ["first", "second", "last"]
    for name in names:
        write(tmp_path / name, "old")
    done: list[object] = []

    def stop_after(function):
        def move(*arguments, **options):
            if len(done) == moves:
                raise KeyboardInterrupt
            done.append(function(*arguments, **options))

        return move

    def interrupted():
        with together() as batch:
            for name in names:
                write(tmp_path / name, "new")
            with monkeypatch.context() as patched:
                patched.setattr(os, "replace", stop_after(os.replace))
                patched.setattr(type(tmp_path), "unlink", stop_after(type(tmp_path).unlink))
                batch.commit(tmp_path)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert set(found) <= set(names)
    assert len(set(found.values())) <= 1
    assert "last" not in found or set(found) == set(names)


def test_temporary_files_that_nobody_writes_any_more_go(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    days = 3 * 86400.0
    elsewhere = f".rayrelief-{'0' * 8}-{dead.pid}-01234567-0123456"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as living:
        gone = {
            temporary_name(dead.pid): 0.0,
            temporary_name(os.getpid()).replace(OWN, "0" * 8): 0.0,  # of an earlier run
            temporary_name(living.pid): days,
            elsewhere + "8": days,
        }
        kept = {  # the first two with the clock of a file server that is behind
            temporary_name(os.getpid()): days,
            temporary_name(living.pid): 600.0,
            elsewhere + "9": 0.0,
            ".rayrelief-a": days,
        }
        for name, age in (gone | kept).items():
            (tmp_path / name).write_text("half")
            os.utime(tmp_path / name, (time.time() - age,) * 2)
        with together() as batch:
            write(tmp_path / "a", "x")
            batch.commit(tmp_path)
        living.communicate(b"\n")
    assert {path.name for path in tmp_path.iterdir()} == {*kept, "a"}


def test_files_elsewhere_have_their_folder_cleaned_too(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    other = tmp_path / "other"
    other.mkdir()
    (other / temporary_name(dead.pid)).write_text("half")
    with together() as batch:
        write(other / "a", "x")
        batch.commit(tmp_path)
    assert [path.name for path in other.iterdir()] == ["a"]
