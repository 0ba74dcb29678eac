"""Maps that are uploaded: what the page chooses for them."""

from __future__ import annotations

import math
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

from rayrelief.doctor.focal import FocalLength
from rayrelief.io.images import encode_png

pytest.importorskip("viser", reason="viser is not installed")

NORMALS = encode_png(np.full((4, 5, 3), (128, 128, 255), np.uint8))


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
    from rayrelief.viewer.page.upload import Upload

    controls = {}

    def control(name, options, **_):
        controls[name] = SimpleNamespace(
            value=options[0] if isinstance(options, tuple) else options
        )
        return controls[name]

    server = MagicMock()
    server.gui.add_dropdown.side_effect = server.gui.add_number.side_effect = control
    upload = Upload(
        server,
        MagicMock(),
        tmp_path,
        largest=10**6,
        examine=lambda *_: ("axes of 'opengl'", focal),
        write=lambda *_: None,
        finished=lambda: None,
        expanded=True,
    )
    upload._take("normal map", SimpleNamespace(name="n.png", content=NORMALS))
    assert (controls["Camera"].value, controls["Degrees"].value) == expected
