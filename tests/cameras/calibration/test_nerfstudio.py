"""transforms.json: of nerfstudio, of instant-ngp, and of Blender's NeRF scenes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration import nerfstudio
from rayrelief.cameras.calibration.document import read_document
from rayrelief.cameras.calibration.reading import Request
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import CameraError, FileError
from reference import calibrations as files

SIZE = (640, 480)
LENS = {"fl_x": 500.5, "fl_y": 501.5, "cx": 320.25, "cy": 240.75, "w": 640, "h": 480}


def transforms(**entries: Any) -> str:
    return json.dumps(LENS | entries)


def test_a_perspective_camera(tmp_path: Path) -> None:
    reading = files.read(nerfstudio, tmp_path, files.NERFSTUDIO)
    assert reading.camera == BrownConrady(
        *(1072.281897246229, 1068.6906965388932, 1503.5, 999.5),
        *(0.03126218448029553, 0.005177020067511987, -6.472477652140879e-5, -1.374647851912992e-7),
        size=(3008, 2000),
    )
    (note,) = reading.notes
    assert "cx - 0.5, cy - 0.5" in note


@pytest.mark.parametrize(
    ("entries", "camera"),
    [
        ({}, Pinhole(500.5, 501.5, 319.75, 240.25, size=SIZE)),
        ({"camera_model": "PINHOLE", "k1": 0}, Pinhole(500.5, 501.5, 319.75, 240.25, size=SIZE)),
        ({"camera_model": "SIMPLE_PINHOLE"}, Pinhole(500.5, 501.5, 319.75, 240.25, size=SIZE)),
        (
            {"camera_model": "OPENCV", "k1": 1e-1, "k2": 2e-1, "k3": 3e-1, "p1": 1e-3, "p2": 2e-3},
            BrownConrady(500.5, 501.5, 319.75, 240.25, 0.1, 0.2, 0.001, 0.002, 0.3, size=SIZE),
        ),
        ({"k1": 0.1}, BrownConrady(500.5, 501.5, 319.75, 240.25, 0.1, size=SIZE)),
        (
            {"camera_model": "OPENCV_FISHEYE", "k1": 0.1, "k2": 0.2, "k3": 0.3, "k4": 0.4},
            KannalaBrandt(500.5, 501.5, 319.75, 240.25, 0.1, 0.2, 0.3, 0.4, size=SIZE),
        ),
        (
            {"is_fisheye": True, "k1": 0.1, "k4": 0.4},
            KannalaBrandt(500.5, 501.5, 319.75, 240.25, 0.1, k4=0.4, size=SIZE),
        ),
        (
            {"camera_model": "SIMPLE_RADIAL", "k1": 0.1, "k2": 0},
            BrownConrady(500.5, 501.5, 319.75, 240.25, 0.1, size=SIZE),
        ),
        (
            {"camera_model": "RADIAL", "k1": 0.1, "k2": 0.2},
            BrownConrady(500.5, 501.5, 319.75, 240.25, 0.1, 0.2, size=SIZE),
        ),
        ({"is_fisheye": False, "p1": 0.0}, Pinhole(500.5, 501.5, 319.75, 240.25, size=SIZE)),
        (
            {"camera_model": "EQUIRECTANGULAR", "w": 480, "h": 240}
            | {"fl_x": 240, "fl_y": 240, "cx": 240, "cy": 120},
            Equirectangular.full(240, 480),
        ),
        ({"w": None, "h": None}, Pinhole(500.5, 501.5, 319.75, 240.25)),
        # An angle beside a length says the same less precisely.
        ({"camera_angle_x": 1.0}, Pinhole(500.5, 501.5, 319.75, 240.25, size=SIZE)),
    ],
)
def test_every_model(tmp_path: Path, entries: dict[str, Any], camera: Camera) -> None:
    assert files.read(nerfstudio, tmp_path, transforms(**entries)).camera == camera


def test_lines_of_comments_are_no_part_of_json(tmp_path: Path) -> None:
    text = files.changed(files.NERFSTUDIO, ('"camera_model"', '// of COLMAP\n    "camera_model"'))
    plain = files.read(nerfstudio, tmp_path, files.NERFSTUDIO)
    assert files.read(nerfstudio, tmp_path, text) == plain


def test_angles_of_a_blender_scene(tmp_path: Path) -> None:
    reading = files.read(nerfstudio, tmp_path, files.NERF_BLENDER, Request(height=600, width=800))
    f = 400 / math.tan(0.6911112070083618 / 2)
    assert reading.camera == Pinhole(f, f, 399.5, 299.5, size=(800, 600))
    assert "square" in reading.notes[-1]
    assert "centre" in reading.notes[-1]
    with pytest.raises(FileError, match=r"w is missing.*--width and"):
        files.read(nerfstudio, tmp_path, files.NERF_BLENDER)


def test_two_angles(tmp_path: Path) -> None:
    text = json.dumps({"camera_angle_x": math.pi / 2, "camera_angle_y": 1.0, "w": 64, "h": 48})
    camera = files.read(nerfstudio, tmp_path, text).camera
    assert isinstance(camera, Pinhole)
    assert camera.fx == pytest.approx(32)
    assert camera.fy == 24 / math.tan(0.5)


def test_frames_with_their_own_cameras(tmp_path: Path) -> None:
    frames = [{"file_path": "a.png", **LENS}, {"file_path": "b.png", **LENS, "fl_x": 600}]
    text = json.dumps({"camera_model": "PINHOLE", "frames": frames})
    reading = files.read(nerfstudio, tmp_path, text, Request(which="b.png"))
    assert reading.camera == Pinhole(600, 501.5, 319.75, 240.25, size=SIZE)
    with pytest.raises(FileError, match=r"a\.png, b\.png"):
        files.read(nerfstudio, tmp_path, text)


def test_frames_may_repeat_the_top_level_but_not_contradict_it(tmp_path: Path) -> None:
    frame = {"file_path": "a.png", "w": 640.0, "fl_x": 500.50}
    assert files.read(nerfstudio, tmp_path, transforms(frames=[frame])).camera == Pinhole(
        500.5, 501.5, 319.75, 240.25, size=SIZE
    )
    words = r"frames\[0\]\.cx is 100.* and 320.25 at the top level"
    files.check_broken(nerfstudio, tmp_path, transforms(frames=[frame | {"cx": 100}]), words)


CAMERAS: list[Camera] = [
    Pinhole(500.1, 501.2, 0.1, 511.70000000000005, size=SIZE),
    BrownConrady(500.1, 501.2, 0.1, 239.7, 0.1, 0.2, 0.01, 0.02, 0.3, size=SIZE),
    BrownConrady(500.1, 501.2, 0.1, 239.7, size=SIZE),
    KannalaBrandt(500.1, 501.2, 0.1, 239.7, 0.1, 0.2, 0.3, 0.4, size=SIZE),
    Equirectangular.full(500, 1000),
    Equirectangular.full(333, 777),
]


@pytest.mark.parametrize("camera", CAMERAS, ids=repr)
def test_cameras_read_back_as_they_were_written(tmp_path: Path, camera: Camera) -> None:
    nerfstudio.write(tmp_path / "transforms.json", camera)
    document = read_document(tmp_path / "transforms.json")
    assert nerfstudio.recognises(document)
    assert nerfstudio.read(document, Request()).camera == camera


@given(st.tuples(*[st.floats(1e-3, 1e8)] * 2, *[st.floats(-1e4, 1e4)] * 4))
def test_written_numbers_survive_bit_for_bit(tmp_path: Path, numbers: tuple[float, ...]) -> None:
    camera = KannalaBrandt(*numbers, size=SIZE)
    nerfstudio.write(tmp_path / "transforms.json", camera)
    assert nerfstudio.read(read_document(tmp_path / "transforms.json"), Request()).camera == camera


@pytest.mark.parametrize(
    "camera",
    [
        Pinhole(500, 500, 320, 240, skew=1.0, size=SIZE),
        BrownConrady(500, 500, 320, 240, k4=0.1, size=SIZE),
        BrownConrady(500, 500, 320, 240, s1=0.1, size=SIZE),
        Equirectangular(110, 110, 320, 240, size=SIZE),
        Orthographic(),
    ],
    ids=repr,
)
def test_what_the_format_cannot_express_is_not_written(tmp_path: Path, camera: Camera) -> None:
    with pytest.raises(CameraError, match=r"transforms\.json.*\.npy"):
        nerfstudio.write(tmp_path / "transforms.json", camera)
    assert list(tmp_path.iterdir()) == []


def test_a_camera_without_its_size_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(CameraError, match=r"size.*Pinhole"):
        nerfstudio.write(tmp_path / "transforms.json", Pinhole(500, 500, 320, 240))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"fl_x": 500}', "fl_y is missing; expected this key next to fl_x"),
        (transforms(cx=None), "cx is missing"),
        (transforms(cx="middle"), "cx is 'middle'"),
        (transforms(cx=math.nan), "cx is nan"),
        (transforms(fl_x=True), "fl_x is True"),
        (transforms(fl_x=-5), "focal lengths fx = -5.0"),
        (transforms(h=None), "h is missing"),
        (transforms(w=640.5), "w is 640.5"),
        (transforms(camera_model="FISHEYE624"), "camera_model is 'FISHEYE624'"),
        (transforms(camera_model=3), "camera_model is 3"),
        (transforms(camera_model="OPENCV", k4=0.1), r"k4 is 0\.1; expected 0: OPENCV has k1, k2"),
        (transforms(camera_model="OPENCV_FISHEYE", p1=0.1), r"p1 is 0\.1; expected 0"),
        (transforms(camera_model="PINHOLE", k1=0.1), "expected 0: PINHOLE has no distortion"),
        (transforms(camera_model="SIMPLE_RADIAL", k2=0.1), r"k2 is 0\.1; .* SIMPLE_RADIAL has k1"),
        (transforms(camera_model="RADIAL", p1=0.1), r"p1 is 0\.1; expected 0: RADIAL has k1, k2"),
        (transforms(is_fisheye="false"), "is_fisheye is 'false'"),
        (transforms(is_fisheye=1), "is_fisheye is 1"),
        (transforms(k1=0.1, k5=0.1), r"k5 is 0\.1; expected 0"),
        (transforms(camera_model="OPENCV", is_fisheye=True), "expected OPENCV_FISHEYE, since"),
        (transforms(frames=3), "frames is not a list"),
        (transforms(frames=["a"]), r"frames\[0\] is not a mapping"),
        ('{"camera_angle_x": 4, "w": 64, "h": 48}', "camera_angle_x is 4"),
        (
            json.dumps(
                {"frames": [{"file_path": "a", **LENS}, {"file_path": "a", **LENS, "cx": 1}]}
            ),
            r"frames\[1\]\.file_path 'a' appears twice",
        ),
        (files.NERFSTUDIO[:400], "is not valid JSON"),
        (" ", "is empty"),
    ],
)
def test_broken_files(tmp_path: Path, text: str, words: str) -> None:
    files.check_broken(nerfstudio, tmp_path, text, words)
