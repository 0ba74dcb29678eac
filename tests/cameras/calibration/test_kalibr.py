"""Kalibr: chains of cameras, and numbers whose meaning depends on two names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration import kalibr, opencv_file
from rayrelief.cameras.calibration.document import read_document
from rayrelief.cameras.calibration.reading import Reading, Request
from rayrelief.cameras.double_sphere import DoubleSphere
from rayrelief.cameras.extended_unified import ExtendedUnified
from rayrelief.cameras.field_of_view import FieldOfView
from rayrelief.cameras.intrinsics import FOCAL_LENGTHS
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.unified import Unified
from rayrelief.errors import CameraError, FileError
from reference import calibrations as files
from reference.calibrations import KALIBR

NAME = "camchain.yaml"
CORE = (461.629, 460.152, 362.680, 246.049)
SIZE = (752, 480)
CAM0 = BrownConrady(*CORE, -0.27695497, 0.06712482, 0.00087538, 0.00011556, size=SIZE)
CAM1 = Unified(
    *(833.006, 830.345, 373.850, 253.749, 0.80065662),
    *(-0.33518750, 0.13211436, 0.00055967, 0.00057686),
    size=SIZE,
)
ONE = KALIBR.split("cam1:")[0]


def read(folder: Path, text: str, which: str | None = None) -> Reading:
    return files.read(kalibr, folder, text, Request(which=which), NAME)


def chain(model: str, distortion: str, numbers: str, coefficients: str) -> str:
    return (
        f"cam0:\n  camera_model: {model}\n  intrinsics: [{numbers}]\n"
        f"  distortion_model: {distortion}\n  distortion_coeffs: [{coefficients}]\n"
        "  resolution: [752, 480]\n"
    )


def test_a_camera_of_a_chain_is_asked_for_by_name(tmp_path: Path) -> None:
    assert read(tmp_path, KALIBR, "cam0") == Reading(CAM0, ("camera cam0 of 2",), "cam0")
    assert read(tmp_path, KALIBR, "cam1") == Reading(CAM1, ("camera cam1 of 2",), "cam1")
    with pytest.raises(FileError, match="cam0, cam1"):
        read(tmp_path, KALIBR)
    with pytest.raises(FileError, match=r"'cam2'.*cam0, cam1"):
        read(tmp_path, KALIBR, "cam2")


def test_the_only_camera_needs_no_name(tmp_path: Path) -> None:
    assert read(tmp_path, ONE) == Reading(CAM0)


def test_the_head_of_opencv_changes_nothing(tmp_path: Path) -> None:
    text = "%YAML:1.0\n---\n" + ONE
    assert read(tmp_path, text) == Reading(CAM0)
    assert not opencv_file.recognises(files.parse(tmp_path, text, NAME))


PINHOLE = "461.629, 460.152, 362.680, 246.049"


@pytest.mark.parametrize(
    ("model", "distortion", "numbers", "coefficients", "expected"),
    [
        ("pinhole", "none", PINHOLE, "", Pinhole(*CORE, size=SIZE)),
        (
            "pinhole",
            "equidistant",
            PINHOLE,
            "1, 2, 3, 4",
            KannalaBrandt(*CORE, 1, 2, 3, 4, size=SIZE),
        ),
        ("pinhole", "fov", PINHOLE, "0.92", FieldOfView(*CORE, 0.92, size=SIZE)),
        ("omni", "none", f"0.8, {PINHOLE}", "", Unified(*CORE, 0.8, size=SIZE)),
        ("eucm", "none", f"0.6, 1.1, {PINHOLE}", "", ExtendedUnified(*CORE, 0.6, 1.1, size=SIZE)),
        ("ds", "none", f"-0.2, 0.6, {PINHOLE}", "", DoubleSphere(*CORE, -0.2, 0.6, size=SIZE)),
    ],
)
def test_every_pair_of_models_has_its_camera(
    tmp_path: Path, model: str, distortion: str, numbers: str, coefficients: str, expected: Camera
) -> None:
    assert read(tmp_path, chain(model, distortion, numbers, coefficients)).camera == expected


def test_fov_is_the_model_of_devernay_and_faugeras(tmp_path: Path) -> None:
    camera = read(tmp_path, chain("pinhole", "fov", PINHOLE, "0.92")).camera
    x, y = 0.3, -0.4
    scale = np.arctan(2 * np.tan(0.92 / 2) * 0.5) / (0.92 * 0.5)
    expected = (CORE[0] * x * scale + CORE[2], CORE[1] * y * scale + CORE[3])
    np.testing.assert_allclose(camera.project([x, y, 1.0]), expected, rtol=1e-13, atol=1e-9)


FOCAL = st.floats(*FOCAL_LENGTHS)
ANY = st.floats(allow_nan=False, allow_infinity=False)
FOUR = (FOCAL, FOCAL, ANY, ANY)
SMALL = st.floats(-1e-3, 1e-3)
SIZES = st.tuples(st.integers(1, 10_000), st.integers(1, 10_000))
FRACTION = st.floats(0.1, 0.9)
CAMERAS = st.one_of(
    st.builds(Pinhole, *FOUR, size=SIZES),
    st.builds(BrownConrady, *FOUR, *[SMALL] * 4, size=SIZES),
    st.builds(KannalaBrandt, *FOUR, *[SMALL] * 4, size=SIZES),
    st.builds(FieldOfView, *FOUR, FRACTION, size=SIZES),
    st.builds(Unified, *FOUR, FRACTION, size=SIZES),
    st.builds(Unified, *FOUR, FRACTION, *[SMALL] * 4, size=SIZES),
    st.builds(ExtendedUnified, *FOUR, FRACTION, FRACTION, size=SIZES),
    st.builds(DoubleSphere, *FOUR, FRACTION, FRACTION, size=SIZES),
)


@given(CAMERAS)
def test_cameras_read_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, camera: Camera
) -> None:
    path = tmp_path_factory.mktemp("camera") / NAME
    kalibr.write(path, camera)
    written = read_document(path)
    assert kalibr.recognises(written)
    assert kalibr.read(written, Request()).camera == camera


def test_small_numbers_are_numbers_to_yaml(tmp_path: Path) -> None:
    kalibr.write(tmp_path / NAME, KannalaBrandt(*CORE, 1e-7, -1e300, size=SIZE))
    content = read_document(tmp_path / NAME).content
    assert content["cam0"]["distortion_coeffs"] == [1e-7, -1e300, 0.0, 0.0]


@pytest.mark.parametrize(
    ("camera", "words"),
    [
        (Orthographic(), "Orthographic cannot be stored in .* expected one of Pinhole, Brown"),
        (Pinhole(*CORE), r"image size of this camera \(Pinhole\) is not known"),
        (Pinhole(*CORE, skew=1, size=SIZE), "Pinhole with skew cannot be stored"),
        (BrownConrady(*CORE, k3=1, s1=1, size=SIZE), "with k3, s1 cannot .* cy, k1, k2, p1, p2 "),
        (Unified(*CORE, 0.5, 0.1, skew=1, size=SIZE), "Unified with skew cannot be stored"),
    ],
)
def test_cameras_that_do_not_fit_are_not_written(
    tmp_path: Path, camera: Camera, words: str
) -> None:
    with pytest.raises(CameraError, match=words) as caught:
        kalibr.write(tmp_path / NAME, camera)
    assert caught.value.expected
    assert caught.value.remedy
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (ONE[:80], "is not valid YAML"),
        (ONE.replace("pinhole", "scaramuzza"), r"cam0\.camera_model is 'scaramuzza'"),
        (
            ONE.replace("radtan", "fisheye624"),
            "distortion_model is 'fisheye624'",
        ),
        (ONE.replace("pinhole", "ds"), "distortion_model is 'radtan'; expected one of none"),
        (ONE.replace("pinhole", "omni"), r"cam0\.intrinsics holds 4 values; expected 5 numbers"),
        (ONE.replace("radtan", "none"), "distortion_coeffs holds 4 values; expected 0 numbers"),
        (ONE.replace("radtan", "fov"), "distortion_coeffs holds 4 values; expected 1 numbers"),
        (ONE.replace("  camera_model: pinhole\n", ""), r"cam0\.camera_model is missing"),
        (ONE.replace("  distortion_model: radtan\n", ""), r"cam0\.distortion_model is missing"),
        (ONE.replace("distortion_coeffs", "coeffs"), r"cam0\.distortion_coeffs is missing"),
        (ONE.replace("intrinsics", "parameters"), r"cam0\.intrinsics is missing"),
        (ONE.replace("  resolution: [752, 480]\n", ""), r"cam0\.resolution is missing"),
        (ONE.replace("[752, 480]", "[752]"), r"cam0\.resolution is \[752\]"),
        (ONE.replace("[752, 480]", "[752, 480.5]"), "in pixels, as integers"),
        (ONE.replace("461.629", "wide"), r"cam0\.intrinsics\[0\] is 'wide'"),
        (ONE.replace("461.629", ".nan"), r"cam0\.intrinsics\[0\] is nan"),
        (ONE.replace("461.629", "-461.629"), "focal lengths fx = -461.629"),
        (ONE + "cam1: 5\n", "cam1 is 5"),
        (chain("ds", "none", f"0, 2, {PINHOLE}", ""), "alpha"),
    ],
)
def test_every_broken_file_gives_one_clear_message(tmp_path: Path, text: str, words: str) -> None:
    files.check_broken(kalibr, tmp_path, text, words, name=NAME)
