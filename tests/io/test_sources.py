"""The door that every file comes through."""

from __future__ import annotations

import os
import sys

import pytest

from rayrelief.errors import FileError, InputError
from rayrelief.io import sources


def test_an_empty_path_is_not_the_current_folder():
    with pytest.raises(InputError, match="a path that is empty"):
        sources.as_path("")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(tmp_path, monkeypatch):
    file, pipe = tmp_path / "file", tmp_path / "pipe"
    file.touch()
    os.mkfifo(pipe)
    before = os.stat(file)
    monkeypatch.setattr(sources.os, "stat", lambda _: before)  # what was there a moment ago
    with pytest.raises(FileError, match="is a named pipe; expected a regular file"):
        sources.open_file(pipe)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_what_is_no_file_is_not_even_opened(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(os, "open", None)
    for path, words in ((tmp_path / "pipe", "a named pipe"), (tmp_path, "a folder")):
        with pytest.raises(FileError, match=words):
            sources.open_file(path)
