"""The door that every file comes through."""

from __future__ import annotations

import os
import sys

import pytest

from rayrelief.errors import FileError
from rayrelief.io import sources


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(tmp_path, monkeypatch):
    file, pipe = tmp_path / "file", tmp_path / "pipe"
    file.touch()
    os.mkfifo(pipe)
    before = os.stat(file)
    monkeypatch.setattr(sources.os, "stat", lambda _: before)  # what was there a moment ago
    with pytest.raises(FileError, match="is a named pipe; expected a regular file"):
        sources.open_file(pipe)
