"""The panel of the live page, without a server."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from rayrelief.viewer.page.controls import Controls


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
def test_only_files_of_a_result_can_be_downloaded(tmp_path):
    (tmp_path / "secret").write_text("of somebody else")
    folder = tmp_path / "result"
    folder.mkdir()
    (folder / "depth.npy").write_text("depth")
    (folder / "mesh.ply").symlink_to("../secret")
    os.mkfifo(folder / "report.json")
    shown = SimpleNamespace(name="result", folder=folder)
    controls: Any = object.__new__(Controls)
    controls._stage = SimpleNamespace(actors=[SimpleNamespace(placed=SimpleNamespace(shown=shown))])
    assert list(controls._files()) == ["result/depth.npy"]
    sent = []
    client = SimpleNamespace(send_file_download=lambda name, data, **_: sent.append((name, data)))
    for name in ("result/depth.npy", "result/mesh.ply", "-"):
        controls._file = SimpleNamespace(value=name)
        controls._download(client)
    assert sent == [("depth.npy", b"depth")]
