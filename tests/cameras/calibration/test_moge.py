"""MoGe: nothing without the size of the image."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayrelief.cameras.calibration import moge
from rayrelief.cameras.calibration.reading import Request
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import FileError
from reference import calibrations as files

REQUEST = Request(height=480, width=640)
SMALL = Request(height=8, width=8)


def intrinsics(*rows: Any) -> str:
    return json.dumps({"intrinsics": rows})


def test_normalised_intrinsics_are_scaled(tmp_path: Path) -> None:
    reading = files.read(moge, tmp_path, files.MOGE_INTRINSICS, REQUEST)
    assert reading.camera == Pinhole(480, 480, 319.5, 239.5, size=(640, 480))
    assert any("640x480" in note for note in reading.notes)
    text = intrinsics([0.5, 0, 0.25], [0, 0.75, 0.625], [0, 0, 1])
    expected = Pinhole(320, 360, 159.5, 299.5, size=(640, 480))
    assert files.read(moge, tmp_path, text, REQUEST).camera == expected


def both(fov_x: float, fov_y: float) -> str:
    """Intrinsics of 60 by 90 degrees, and the fields of view beside them."""
    f = 0.5 / math.tan(math.radians(30))
    rows = [[f, 0.0, 0.25], [0.0, 0.5, 0.625], [0.0, 0.0, 1.0]]
    return json.dumps({"intrinsics": rows, "fov_x": fov_x, "fov_y": fov_y})


def test_intrinsics_say_more_than_the_fields_of_view(tmp_path: Path) -> None:
    reading = files.read(moge, tmp_path, both(60.2, 89.8), REQUEST)
    f = 0.5 / math.tan(math.radians(30)) * 640
    assert reading.camera == Pinhole(f, 240, 159.5, 299.5, size=(640, 480))
    assert "normalised intrinsics" in reading.notes[0]


def test_fields_of_view_reach_the_borders(tmp_path: Path) -> None:
    camera = files.read(moge, tmp_path, files.MOGE_FOV, REQUEST).camera
    corner = [np.tan(np.radians(45)), np.tan(np.radians(30)), 1.0]
    np.testing.assert_allclose(camera.project([corner]), [[639.5, 479.5]], atol=1e-9)
    assert camera.resolution == (640, 480)


@pytest.mark.parametrize("text", [files.MOGE_INTRINSICS, files.MOGE_FOV])
def test_the_size_is_needed(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        FileError,
        match=r"calibration\.dat.*height= and width=.*--width and --height",
    ):
        files.read(moge, tmp_path, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"fov_x": 60}', "fov_y is missing"),
        ('{"fov_x": 180, "fov_y": 60}', "fov_x is 180; expected an angle between 0 and 180"),
        ('{"fov_x": "wide", "fov_y": 60}', "fov_x is 'wide'"),
        ('{"fov_x": NaN, "fov_y": 60}', "fov_x is nan"),
        (both(62, 90), "fov_x is that of a focal length of 0.83.*, and intrinsics has 0.866"),
        (both(60, 88), "fov_y is that of .*"),
        (both(60, 200), "fov_y is 200; expected an angle between 0 and 180"),
        (intrinsics([1, 0, 0.5], [0, 1, 0.5]), "intrinsics has 2 rows of 3 values"),
        (intrinsics([1, 0], [0, 1, 0.5], [0, 0, 1]), "intrinsics has rows of 2, 3, 3 values"),
        (intrinsics([1, 0, 0.5], 3, [0, 0, 1]), r"intrinsics\[1\] is 3"),
        (intrinsics([1, 0, "x"], [0, 1, 0.5], [0, 0, 1]), r"intrinsics\[0\]\[2\] is 'x'"),
        (
            intrinsics([1, 0.1, 0.5], [0, 1, 0.5], [0, 0, 1]),
            r"intrinsics has the skew 0\.1",
        ),
        (
            intrinsics([1, 0, 0.5], [0, 1, 0.5], [0, 0, 2]),
            "intrinsics is .* 0 0 2",
        ),
        (
            intrinsics([500, 0, 320], [0, 500, 240], [0, 0, 1]),
            r"principal point \(320, 240\); expected .* in units of the image",
        ),
        (intrinsics([-1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]), "focal lengths fx = -8.0"),
        (files.MOGE_INTRINSICS[:30], "is not valid JSON"),
        (" ", "is empty"),
    ],
)
def test_broken_files(tmp_path: Path, text: str, words: str) -> None:
    files.check_broken(moge, tmp_path, text, words, SMALL)
