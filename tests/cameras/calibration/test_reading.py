"""Files with several cameras: a bad one is named, and does not stand in the way of the others."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from rayrelief.cameras.calibration import Request, read_calibration, read_camera
from rayrelief.errors import FileError, InputError
from reference import calibrations as files

NERF = {"fl_x": 5, "fl_y": 5, "cx": 2, "cy": 2, "w": 4, "h": 3}
MESHROOM = {
    **{"width": "4", "height": "3", "sensorWidth": "36", "focalLength": "24", "type": "pinhole"},
    **{"principalPoint": ["0", "0"], "distortionType": "none", "distortionParams": ""},
}
SENSOR = (
    '<sensor id="{}" type="frame"><calibration type="frame"><resolution width="{}" height="3"/>'
    "<f>{}</f></calibration></sensor>"
)
KALIBR = """\
cam0:
  camera_model: pinhole
  intrinsics: [5.0, 5.0, 2.0, 1.0]
  distortion_model: none
  distortion_coeffs: []
  resolution: [4, 3]
cam1:
  camera_model: pinhole
  intrinsics: [-5.0, 5.0, 2.0, 1.0]
  distortion_model: none
  distortion_coeffs: []
  resolution: [8, 3]
"""
K = [5, 0, 2, 0, 5, 1, 0, 0, 1]
MATRIX = {"rows": 3, "cols": 3, "data": K}
ZEROS = {"rows": 1, "cols": 4, "data": [0, 0, 0, 0]}

# A file, the name of its good camera, that of its bad one, and how the message begins after the
# name of the file. Both are for images of different sizes, except where there are none.
SEVERAL: dict[str, tuple[str | bytes, str, str, str]] = {
    "colmap_text": (
        "# CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]\n\n"
        "1 PINHOLE 4 3 5 5 2 2\n2 PINHOLE 8 3 -5 5 2 2\n",
        *("1", "2", ", line 4 (camera 2), holds focal lengths"),
    ),
    "colmap_text_count": (
        "1 PINHOLE 4 3 5 5 2 2\n2 PINHOLE 8 3 5 5 2\n",
        *("1", "2", ": line 2 (camera 2) has 3 parameters"),
    ),
    "colmap_binary": (
        struct.pack(
            "<Q IiQQ4d IiQQ4d",
            *(2, 7, 1, 4, 3, 5.0, 5.0, 2.0, 2.0),
            *(9, 1, 8, 3, -5.0, 5.0, 2.0, 2.0),
        ),
        *("7", "9", ", camera 9, holds focal lengths"),
    ),
    "kalibr": (
        KALIBR,
        *("cam0", "cam1", ", cam1, holds focal lengths"),
    ),
    "nerfstudio": (
        json.dumps(
            {
                "frames": [
                    {"file_path": "a.png", **NERF},
                    {"file_path": "b.png", **NERF, "w": 8, "fl_x": -5},
                ]
            }
        ),
        *("a.png", "b.png", ", frames[1] (b.png), holds focal lengths"),
    ),
    "meshroom": (
        json.dumps(
            {
                "version": ["1", "2", "9"],
                "intrinsics": [
                    {"intrinsicId": "11", **MESHROOM},
                    {"intrinsicId": "22", **MESHROOM, "width": "8", "focalLength": "-24"},
                ],
            }
        ),
        *("11", "22", ": intrinsics[1].focalLength is -24"),
    ),
    "metashape": (
        f"<document><chunk>{SENSOR.format(0, 4, 5)}{SENSOR.format(1, 8, -5)}</chunk></document>",
        *("0", "1", ": sensor 1: calibration.f is -5"),
    ),
    "bop_scene": (
        json.dumps({"0": {"cam_K": K}, "1": {"cam_K": [-5, *K[1:]]}}),
        *("0", "1", ", entry 1, holds focal lengths"),
    ),
    "bop_scene_key": (
        json.dumps({"0": {"cam_K": K}, "1": {"depth_scale": 1.0}}),
        *("0", "1", ": 1.cam_K is missing"),
    ),
    "opencv": (
        json.dumps({"M1": MATRIX, "D1": ZEROS, "M2": MATRIX | {"data": [-5, *K[1:]]}, "D2": ZEROS}),
        *("M1", "M2", ", M2, holds focal lengths"),
    ),
}
SIZED = [key for key in SEVERAL if not key.startswith(("bop", "opencv"))]


@pytest.mark.parametrize("key", SEVERAL)
def test_a_bad_camera_is_named_and_the_good_one_is_read(tmp_path: Path, key: str) -> None:
    content, good, bad, words = SEVERAL[key]
    path = files.write(tmp_path, content)
    reading = read_calibration(path, Request(which=good))
    assert reading.notes[1] == f"camera {good} of 2"
    for request in (Request(which=bad), Request()):
        with pytest.raises(FileError) as caught:
            read_calibration(path, request)
        assert caught.value.found.startswith(f"{path}{words}")
        assert caught.value.expected
        way_out = f", or choose another camera with which= or --which: the file holds {good}, {bad}"
        assert caught.value.remedy.endswith(way_out) == (request.which is None)
        assert caught.value.remedy.removesuffix(way_out)


# The same files with the principal point of the bad camera far outside, and nothing else wrong.
FAR: dict[str, tuple[str | bytes, str]] = {
    "colmap_text": ("1 PINHOLE 64 48 50 50 32 24\n2 PINHOLE 80 60 50 50 900 30\n", "2"),
    "colmap_binary": (
        struct.pack(
            "<Q IiQQ4d IiQQ4d",
            *(2, 7, 1, 64, 48, 50.0, 50.0, 32.0, 24.0),
            *(9, 1, 80, 60, 50.0, 50.0, 900.0, 30.0),
        ),
        "9",
    ),
    "kalibr": (
        KALIBR.replace("[4, 3]", "[64, 48]")
        .replace("[8, 3]", "[80, 60]")
        .replace("[5.0, 5.0, 2.0, 1.0]", "[50.0, 50.0, 32.0, 24.0]")
        .replace("[-5.0, 5.0, 2.0, 1.0]", "[50.0, 50.0, 900.0, 30.0]"),
        "cam1",
    ),
    "opencv": (
        json.dumps(
            {
                **{"image_width": 80, "image_height": 60, "D1": ZEROS, "D2": ZEROS},
                "M1": MATRIX | {"data": [50, 0, 40, 0, 50, 30, 0, 0, 1]},
                "M2": MATRIX | {"data": [50, 0, 900, 0, 50, 30, 0, 0, 1]},
            }
        ),
        "M2",
    ),
}


@pytest.mark.parametrize("key", FAR)
def test_a_camera_that_cannot_be_that_of_its_image_is_named(tmp_path: Path, key: str) -> None:
    content, far = FAR[key]
    path = files.write(tmp_path, content)
    with pytest.raises(FileError) as caught:
        read_calibration(path, Request(which=far))
    assert caught.value.found.startswith(f"{path}, camera {far}, holds a principal point at (")
    assert "far outside the 80x60 image" in caught.value.found


def test_a_camera_that_was_chosen_by_its_size_is_named(tmp_path: Path) -> None:
    path = files.write(tmp_path, FAR["colmap_text"][0])
    with pytest.raises(FileError) as caught:
        read_calibration(path, Request(height=60, width=80))
    assert caught.value.found.startswith(f"{path}, camera 2, holds a principal point at (")


def test_the_name_of_an_only_camera_is_not_told(tmp_path: Path) -> None:
    path = files.write(tmp_path, "1 PINHOLE 64 48 50 50 900 24\n")
    with pytest.raises(FileError) as caught:
        read_calibration(path)
    assert caught.value.found.startswith(f"{path} holds a principal point at (")


@pytest.mark.parametrize("key", SIZED)
def test_a_bad_camera_of_another_image_size_does_no_harm(tmp_path: Path, key: str) -> None:
    content, good, _, _ = SEVERAL[key]
    reading = read_calibration(files.write(tmp_path, content), Request(height=3, width=4))
    assert all(fact in reading.notes[1] for fact in (f"camera {good} of 2", "size"))
    assert reading.camera.resolution == (4, 3)


# Files with many cameras


def frames(*names: str) -> str:
    """transforms.json whose frames have a camera each."""
    return json.dumps(
        {"frames": [{"file_path": each, **NERF, "fl_x": 5 + i} for i, each in enumerate(names)]}
    )


MANY = tuple(f"images/frame_{i:05}.png" for i in range(300))
FEW = ", ".join(MANY[:8]) + ", ... (300 in all)"


def refused(path: Path, which: str | None) -> FileError:
    with pytest.raises(FileError) as caught:
        read_calibration(path, Request(which=which))
    return caught.value


def test_of_many_names_a_few_are_told(tmp_path: Path) -> None:
    path = files.write(tmp_path, frames(*MANY))
    assert refused(path, None).found == f"{path} holds 300 cameras that differ: {FEW}"
    unknown = refused(path, "zzz")
    assert unknown.expected == f"one of {FEW}"
    assert unknown.remedy == "Give one of these names"
    bad = files.write(tmp_path, frames(*MANY).replace('"fl_x": 7,', '"fl_x": -7,'))
    assert refused(bad, None).remedy.endswith(f"--which: the file holds {FEW}")
    eight = files.write(tmp_path, frames(*MANY[:8]))
    assert refused(eight, None).found.endswith(", ".join(MANY[:8]))


def test_the_closest_name_is_told(tmp_path: Path) -> None:
    path = files.write(tmp_path, frames(*MANY))
    remedy = refused(path, "images/frame_00217.jpg").remedy
    assert remedy.startswith("Give one of these names; the closest: images/frame_00217.png")


@pytest.mark.parametrize("folder", ["images/", "./images/left/", "images\\"])
def test_a_frame_is_found_by_the_end_of_its_path(tmp_path: Path, folder: str) -> None:
    path = files.write(tmp_path, frames(*(f"{folder}{name}.png" for name in ("1", "11", "2"))))
    reading = read_calibration(path, Request(which="1.png"))
    assert reading.name == f"{folder}1.png"
    assert reading == read_calibration(path, Request(which=f"{folder}1.png"))
    assert refused(path, "png").found == f"{path} has no camera 'png'"


def test_two_frames_with_one_ending_are_told(tmp_path: Path) -> None:
    path = files.write(tmp_path, frames("left/1.png", "right/1.png", "right/2.png"))
    error = refused(path, "1.png")
    assert error.found == f"{path} has 2 cameras whose names end with '1.png'"
    assert error.remedy == "Give one of these names; the closest: left/1.png, right/1.png"
    assert read_calibration(path, Request(which="right/1.png")).name == "right/1.png"


def test_the_number_of_a_camera_may_be_a_number(tmp_path):
    path = files.write(tmp_path, "1 PINHOLE 8 6 9 9 4 3\n2 PINHOLE 8 6 7 7 4 3\n", "cameras.txt")
    numbered: Any = 2
    assert read_camera(path, which=numbered) == read_camera(path, which="2")


@pytest.mark.parametrize("side", [0, -3, 2.5, "6", True])
def test_a_size_that_no_image_has_is_refused(tmp_path, side):
    path = files.write(tmp_path, "1 PINHOLE 8 6 9 9 4 3\n", "cameras.txt")
    with pytest.raises(InputError, match="height or width"):
        read_camera(path, height=side, width=8)
