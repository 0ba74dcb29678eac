"""ROS: the file and the message of one camera, the part of the image that was captured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration import ros_camera_info
from rayrelief.cameras.calibration.document import read_document
from rayrelief.cameras.calibration.reading import Reading, Request
from rayrelief.cameras.intrinsics import FOCAL_LENGTHS
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.unified import Unified
from rayrelief.errors import CameraError
from reference import calibrations as files
from reference.calibrations import FILES, ROS_FILE, ROS_MESSAGE

LENS = (-0.33758562758914146, 0.11161239414304096, -0.00021819272592442094, -3.029195446330518e-05)
CORE = (430.21554970319971, 430.53169252696676, 306.6913434743704, 227.22480030078816)
CAMERA = BrownConrady(*CORE, *LENS, size=(640, 480))
RAW = "camera of the raw image; rectified images have that of the projection matrix"


def read(folder: Path, text: str | bytes, name: str = "ost.yaml") -> Reading:
    return files.read(ros_camera_info, folder, text, name=name)


def message(**content: object) -> str:
    """Message with some of its entries changed, as JSON."""
    return json.dumps(yaml.safe_load(ROS_MESSAGE) | content)


def calibration(**content: object) -> str:
    """File of camera_calibration with some of its entries changed, as JSON."""
    return json.dumps(yaml.safe_load(ROS_FILE) | content)


@pytest.mark.parametrize("key", ["ros_file", "ros_message"])
def test_file_and_message_hold_the_same_camera(tmp_path: Path, key: str) -> None:
    name, text = FILES[key]
    assert read(tmp_path, text, name) == Reading(CAMERA, (RAW,))


def test_the_message_of_ros_1_has_capital_letters(tmp_path: Path) -> None:
    content = {key.upper() if len(key) == 1 else key: v for key, v in json.loads(message()).items()}
    assert "K" in content
    assert read(tmp_path, yaml.safe_dump(content)).camera == CAMERA
    assert read(tmp_path, json.dumps(content), "message.json").camera == CAMERA


@pytest.mark.parametrize("count", [8, 12, 14])
def test_rational_polynomials_are_those_of_opencv(tmp_path: Path, count: int) -> None:
    lens = [(i + 1) / 1000 for i in range(count)]
    reading = read(tmp_path, message(distortion_model="rational_polynomial", d=lens))
    assert reading.camera == BrownConrady(*CORE, *lens, size=(640, 480))


def test_equidistant_is_a_fisheye(tmp_path: Path) -> None:
    lens = {"rows": 1, "cols": 4, "data": [0.1, 0.02, 0.003, 0.0004]}
    text = calibration(distortion_model="equidistant", distortion_coefficients=lens)
    camera = KannalaBrandt(*CORE, 0.1, 0.02, 0.003, 0.0004, size=(640, 480))
    assert read(tmp_path, text).camera == camera


@pytest.mark.parametrize(("model", "lens"), [("plumb_bob", [0.0] * 5), ("plumb_bob", []), ("", [])])
def test_no_distortion_is_a_pinhole(tmp_path: Path, model: str, lens: list[float]) -> None:
    reading = read(tmp_path, message(distortion_model=model, d=lens))
    assert reading.camera == Pinhole(*CORE, size=(640, 480))
    assert RAW not in reading.notes


def test_a_missing_model_is_plumb_bob_as_in_ros(tmp_path: Path) -> None:
    reading = read(tmp_path, ROS_FILE.replace("distortion_model: plumb_bob\n", ""))
    assert reading.camera == CAMERA
    assert "no distortion_model in the file: read as plumb_bob" in reading.notes[0]


@pytest.mark.parametrize(
    "roi", [{}, {"x_offset": 0, "y_offset": 0, "width": 640, "height": 480, "do_rectify": False}]
)
def test_the_whole_image_is_no_region(tmp_path: Path, roi: dict[str, object]) -> None:
    text = message(roi=roi, binning_x=1, binning_y=1)
    assert read(tmp_path, text) == Reading(CAMERA, (RAW,))


def test_a_region_sees_what_the_whole_image_saw_there(tmp_path: Path) -> None:
    roi = {"x_offset": 100, "y_offset": 60, "width": 320, "height": 200}
    reading = read(tmp_path, message(roi=roi))
    assert reading.camera == CAMERA.crop(100, 60, 320, 200)
    assert all(fact in reading.notes[0] for fact in ("roi", "320x200", "(100, 60)"))


def test_a_binned_pixel_sees_the_middle_of_its_block(tmp_path: Path) -> None:
    roi = {"x_offset": 100, "y_offset": 60, "width": 321, "height": 200}
    reading = read(tmp_path, message(roi=roi, binning_x=2, binning_y=4))
    assert reading.camera.resolution == (160, 50)
    u, v = np.array([0.0, 7.0, 159.0]), np.array([0.0, 49.0, 20.0])
    binned = reading.camera.directions(np.stack((u, v), axis=1))
    middle = np.stack((100 + 2 * u + 0.5, 60 + 4 * v + 1.5), axis=1)
    np.testing.assert_allclose(binned, CAMERA.directions(middle), atol=1e-12)
    assert "binning: 2x4 pixels" in reading.notes[1]


FOCAL = st.floats(*FOCAL_LENGTHS)
ANY = st.floats(allow_nan=False, allow_infinity=False)
SIZE = st.tuples(st.integers(1, 10_000), st.integers(1, 10_000))
SMALL = st.floats(1e-300, 1e-3)
CAMERAS = st.one_of(
    st.builds(Pinhole, FOCAL, FOCAL, ANY, ANY, size=SIZE),
    st.builds(BrownConrady, FOCAL, FOCAL, ANY, ANY, *[SMALL] * 5, size=SIZE),
    st.builds(BrownConrady, FOCAL, FOCAL, ANY, ANY, *[SMALL] * 8, size=SIZE),
    st.builds(KannalaBrandt, FOCAL, FOCAL, ANY, ANY, *[SMALL] * 4, size=SIZE),
)


@given(CAMERAS)
def test_cameras_read_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, camera: Camera
) -> None:
    path = tmp_path_factory.mktemp("camera") / "ost.yaml"
    ros_camera_info.write(path, camera)
    written = read_document(path)
    assert ros_camera_info.recognises(written)
    assert ros_camera_info.read(written, Request()).camera == camera


def test_the_file_looks_as_ros_writes_it(tmp_path: Path) -> None:
    ros_camera_info.write(tmp_path / "a.yaml", CAMERA)
    written = yaml.safe_load((tmp_path / "a.yaml").read_text())
    expected = yaml.safe_load(ROS_FILE)
    assert list(written) == list(expected)
    for key in ("image_width", "camera_matrix", "distortion_model", "distortion_coefficients"):
        assert written[key] == expected[key]
    fx, fy, cx, cy = CORE
    assert written["projection_matrix"]["data"] == [fx, 0, cx, 0, 0, fy, cy, 0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("camera", "words"),
    [
        (Pinhole(*CORE), r"image size of this camera \(Pinhole\) is not known"),
        (Pinhole(*CORE, skew=1.0, size=(640, 480)), "with the skew 1 cannot be stored in"),
        (BrownConrady(*CORE, s1=0.1, size=(640, 480)), "with thin prism terms or tilt cannot"),
        (Unified(*CORE, 1.0, size=(640, 480)), "Unified cannot be stored in"),
    ],
)
def test_cameras_that_do_not_fit_are_not_written(
    tmp_path: Path, camera: Camera, words: str
) -> None:
    with pytest.raises(CameraError, match=words) as caught:
        ros_camera_info.write(tmp_path / "ost.yaml", camera)
    assert caught.value.expected
    assert caught.value.remedy
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (ROS_FILE[:150], "is not valid YAML"),
        (ROS_FILE.replace("image_width: 640\n", ""), "image_width is missing"),
        (ROS_FILE.replace("width: 640", "width: wide"), "image_width is 'wide'"),
        (ROS_FILE.replace("width: 640", "width: 0"), "image_width is 0"),
        (ROS_FILE.replace("camera_matrix", "matrix"), "camera_matrix is missing"),
        (ROS_FILE.replace("distortion_coefficients", "lens"), "distortion_coefficients is missing"),
        (ROS_FILE.replace("plumb_bob", "fisheye"), "distortion_model is 'fisheye'"),
        (ROS_FILE.replace("plumb_bob", "equidistant"), "expected 4 numbers for equidistant"),
        (ROS_FILE.replace("cols: 5", "cols: 6"), r"coefficients\.data holds 5 values"),
        (ROS_FILE.replace("-3.029195446330518e-05", "nan"), r"data\[3\] is 'nan'"),
        (
            ROS_FILE.replace("data: [430.2155", "data: [-430.2155"),
            "camera_matrix has fx = -430.216; exp",
        ),
        (message(k=[0, 0, 320, 0, 430, 240, 0, 0, 1]), "k has fx = 0"),
        (message(k=[430, 0, 320, 0, 0, 240, 0, 0, 1]), "k has fy = 0"),
        (message(k=[0] * 9), "k is zero, which in ROS means that the camera is not calibrated"),
        (message(k=[1, 0, 2]), "k has 1 rows of 3 values"),
        (message(d=[0.1, 0.2]), "d holds 2 values; expected 0 or 4 or 5 numbers for plumb_bob"),
        (message(d=None), "d is missing"),
        (message(d="none"), "d is 'none'"),
        (message(distortion_model=""), "distortion_model is ''; expected one of plumb_bob"),
        (message(distortion_model=5), "distortion_model is 5"),
        (message(binning_x=0.5), "binning_x is 0.5"),
        (message(binning_y=-2), "binning_y is -2"),
        (message(binning_y=481), "binning_y leaves no pixel"),
        (message(roi=5), "roi is 5"),
        (message(roi={"x_offset": -1}), r"roi\.x_offset is -1"),
        (message(roi={"x_offset": 1}), r"roi\.width is missing"),
        (message(roi={"x_offset": 1, "width": 9, "height": 0}), r"roi\.height is 0"),
    ],
)
def test_every_broken_file_gives_one_clear_message(tmp_path: Path, text: str, words: str) -> None:
    files.check_broken(ros_camera_info, tmp_path, text, words, name="ost.yaml")
