"""Maps that are uploaded: what the page chooses for them, and which files it keeps."""

from __future__ import annotations

import math
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

from rayrelief.cli.view import examine
from rayrelief.doctor.focal import FocalLength
from rayrelief.io.images import encode_png
from rayrelief.synthetic import gallery
from reference.layout import write_layout

pytest.importorskip("viser", reason="viser is not installed")

NORMALS = encode_png(np.full((4, 5, 3), (128, 128, 255), np.uint8))


def panel(folder, examine):
    """Upload part of a page, and its controls by their names; texts in the order of the page."""
    from rayrelief.viewer.page.upload import Upload

    controls, texts = {}, []

    def control(name, options, **_):
        value = options[0] if isinstance(options, tuple) else options
        controls[name] = SimpleNamespace(value=value)
        return controls[name]

    def markdown(content):
        texts.append(SimpleNamespace(content=content))
        return texts[-1]

    server = MagicMock()
    server.gui.add_dropdown.side_effect = server.gui.add_number.side_effect = control
    server.gui.add_markdown.side_effect = markdown
    upload = Upload(
        server,
        MagicMock(),
        folder,
        largest=10**6,
        examine=examine,
        write=lambda *_: None,
        finished=lambda: None,
        expanded=True,
    )
    return upload, controls, texts


@pytest.mark.parametrize(
    ("focal", "expected"),
    [
        (None, ("field of view", 60.0)),
        (FocalLength(math.inf, 442.0, math.inf, 306), ("orthographic", 60.0)),
        (FocalLength(200.0, 150.0, 400.0, 306), ("field of view", 74.8)),
    ],
    ids=["cannot tell", "parallel", "perspective"],
)
def test_the_camera_is_the_one_that_the_doctor_finds(tmp_path, focal, expected):
    upload, controls, _ = panel(tmp_path, lambda *_: ("axes of 'opengl'", focal))
    upload._take("normal map", SimpleNamespace(name="n.png", content=NORMALS))
    assert (controls["Camera"].value, controls["Degrees"].value) == expected


def test_a_refused_file_is_not_kept_and_what_was_there_stays(tmp_path):
    ball = write_layout(tmp_path / "ball", gallery.sphere(40, 50))
    good = [ball / name for name in ("normal_map.png", "mask.png", "K.txt")]
    black, broken, camera = (tmp_path / name for name in ("black.png", "bad.png", "camera.json"))
    black.write_bytes(encode_png(np.zeros((40, 50), np.uint8)))
    broken.write_bytes(good[0].read_bytes()[:200])
    camera.write_text(
        '{"format": "rayrelief-camera", "version": 1, "model": "pinhole", "parameters": {}}'
    )
    other = write_layout(tmp_path / "other", gallery.sphere(30, 30)) / "normal_map.png"
    upload, _, (taken, findings, message) = panel(tmp_path / "page", examine)

    def give(path, role="any file"):
        file = SimpleNamespace(name=path.name, content=path.read_bytes())
        upload._told(True, upload._take, role, file)

    for path in good:
        give(path)
        assert not message.content
    told = taken.content, findings.content
    assert told[0].count(" as the ") == 3
    assert "no mask given" not in told[1]
    refusals = (black, "any file"), (broken, "normal map"), (camera, "any file")
    for path, role in refusals:
        give(path, role)
        assert message.content.startswith("**Error:**")
        assert (taken.content, findings.content) == told
        assert upload._scene().mask.any()
    give(other)  # what was beside the last map does not suit this one
    assert "mask.png has 50x40 pixels" in message.content
    assert "mask.png" not in taken.content
    assert "30x30 pixels" in findings.content
    upload._told(False, upload._forget)
    assert (taken.content, findings.content) == ("Files of up to 1 MB.", "")
    assert not [path for path in (tmp_path / "page").rglob("*") if path.is_file()]
