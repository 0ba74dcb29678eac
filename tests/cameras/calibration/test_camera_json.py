"""camera.json: bit for bit there and back, and clear words for everything else."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration import read_camera, write_camera
from rayrelief.cameras.orthographic import PIXEL_SIZES, Orthographic
from rayrelief.cameras.pinhole import FOCAL_LENGTHS, Pinhole
from rayrelief.cameras.ray_map import RayMap
from rayrelief.errors import CameraError, FileError

ANY = st.floats(allow_nan=False, allow_infinity=False)
FOCAL = st.floats(*FOCAL_LENGTHS)
SIZE = st.none() | st.tuples(st.integers(1, 10_000), st.integers(1, 10_000))
CAMERAS = st.one_of(
    st.builds(Pinhole, FOCAL, FOCAL, ANY, ANY, SIZE),
    st.builds(BrownConrady, FOCAL, FOCAL, *[ANY] * 10, SIZE),
    st.builds(Orthographic, st.floats(*PIXEL_SIZES), ANY, ANY),
)


def bits(camera):
    return [value.hex() if isinstance(value, float) else value for value in asdict(camera).values()]


@given(CAMERAS)
def test_cameras_survive_bit_for_bit(tmp_path_factory, camera):
    path = tmp_path_factory.mktemp("camera") / "camera.json"
    write_camera(path, camera)
    again, notes = read_camera(path, height=None, width=None)
    assert type(again) is type(camera)
    assert bits(again) == bits(camera)
    assert notes == ()


def test_numpy_and_whole_numbers_are_written_as_plain_ones(tmp_path):
    camera = Pinhole(np.float32(0.1), 3772, np.float64(1), np.int64(2), (np.int64(4), 3))  # type: ignore[arg-type]
    write_camera(tmp_path / "camera.json", camera)
    assert read_camera(tmp_path / "camera.json", height=3, width=4)[0] == camera


def test_the_file_looks_as_documented(tmp_path):
    write_camera(tmp_path / "camera.json", Pinhole(1.5, 2, 3, 4, (640, 480)))
    assert json.loads((tmp_path / "camera.json").read_text()) == {
        "format": "rayrelief-camera",
        "version": 1,
        "model": "pinhole",
        "parameters": {"fx": 1.5, "fy": 2.0, "cx": 3.0, "cy": 4.0, "size": [640, 480]},
    }


def test_a_ray_map_is_sent_to_npy(tmp_path):
    with pytest.raises(CameraError, match=r"RayMap does not fit .* suffix \.npy"):
        write_camera(tmp_path / "camera.json", RayMap(np.ones((2, 2, 3))))
    assert list(tmp_path.iterdir()) == []


def test_a_camera_for_another_image_is_refused(tmp_path):
    write_camera(tmp_path / "camera.json", Pinhole(1, 1, 0, 0, (640, 480)))
    with pytest.raises(CameraError, match="for 640x480 pixels"):
        read_camera(tmp_path / "camera.json", height=640, width=480)


GOOD: dict[str, Any] = {
    "format": "rayrelief-camera",
    "version": 1,
    "model": "pinhole",
    "parameters": {"fx": 1.0, "fy": 1.0, "cx": 0.0, "cy": 0.0},
}


def changed(**parameters):
    return json.dumps(GOOD | {"parameters": GOOD["parameters"] | parameters})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[1, 2]", 'does not say "format": "rayrelief-camera"'),
        ('{"fl_x": 600, "w": 640}', 'does not say "format"'),
        (json.dumps(GOOD | {"version": 2}), "version 2; expected version 1"),
        (json.dumps(GOOD | {"model": "fisheye"}), "model 'fisheye'; expected one of pinhole"),
        (json.dumps(GOOD | {"model": ["pinhole"]}), "expected one of pinhole"),
        (json.dumps(GOOD | {"parameters": [1, 2]}), r"parameters \[1, 2\]"),
        (json.dumps(GOOD | {"parameters": {"fx": 1.0}}), "lacks the parameters fy, cx, cy"),
        (changed(k1=0.5), "unknown parameters k1; expected only fx, fy, cx, cy, size"),
        (changed(fx="600"), "fx = '600'; expected a number"),
        (changed(fx=True), "fx = True; expected a number"),
        (changed(fx=None), "fx = None; expected a number"),
        (changed(fx=10**400), "fx = 1000.*expected a number"),
        (changed(fx=-600), "focal lengths fx = -600.0"),
        (changed(cx=float("nan")), "principal point cx = nan"),
        (changed(size=[640]), r"size = \[640\]; expected \[width, height\]"),
        (changed(size=[640.5, 480]), r"expected \[width, height\]"),
        (changed(size=[0, 480]), r"expected \[width, height\]"),
        (changed(size=640), r"expected \[width, height\]"),
    ],
)
def test_every_broken_file_gives_one_clear_message(tmp_path, text, words):
    path = tmp_path / "camera.json"
    path.write_text(text)
    with pytest.raises(FileError, match=words) as caught:
        read_camera(path, height=None, width=None)
    assert "camera.json" in caught.value.found
    assert caught.value.expected
    assert caught.value.remedy
