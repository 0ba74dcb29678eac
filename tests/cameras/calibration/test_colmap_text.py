"""cameras.txt: every model of COLMAP there and back, half a pixel apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration import colmap_text, read_calibration
from rayrelief.cameras.calibration.colmap_models import BY_NAME, BY_NUMBER, MODELS, Model
from rayrelief.cameras.calibration.document import read_document
from rayrelief.cameras.calibration.reading import Request
from rayrelief.cameras.division import Division
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.extended_unified import ExtendedUnified
from rayrelief.cameras.field_of_view import FieldOfView
from rayrelief.cameras.fisheye import Equidistant, Stereographic
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.thin_prism_fisheye import RadTanThinPrismFisheye, ThinPrismFisheye
from rayrelief.errors import CameraError, FileError
from reference import calibrations as files

SIZE = (640, 480)
HERE: dict[str, Any] = {"size": SIZE}
EVERY_MODEL = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
TWELVE = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.11, 0.12)
NAMES = ("k0", "k1", "k2", "k3", "k4", "k5", "p0", "p1", "s0", "s1", "s2", "s3")
NAMED: dict[str, Any] = dict(zip(NAMES, TWELVE, strict=True))

# A line of each model, and its camera: every coefficient has its own value, to be found again.
LINES: dict[str, Camera] = {
    "SIMPLE_PINHOLE 640 480 500.5 320 240": Pinhole(500.5, 500.5, 319.5, 239.5, **HERE),
    "PINHOLE 640 480 500 510 320.25 240.75": Pinhole(500, 510, 319.75, 240.25, **HERE),
    "SIMPLE_RADIAL 640 480 500 320 240 0.01": BrownConrady(500, 500, 319.5, 239.5, 0.01, **HERE),
    "RADIAL 640 480 500 320 240 0.01 0.02": BrownConrady(
        500, 500, 319.5, 239.5, 0.01, 0.02, **HERE
    ),
    "OPENCV 640 480 500 510 320 240 0.01 0.02 0.03 0.04": BrownConrady(
        500, 510, 319.5, 239.5, k1=0.01, k2=0.02, p1=0.03, p2=0.04, **HERE
    ),
    "OPENCV_FISHEYE 640 480 500 510 320 240 0.01 0.02 0.03 0.04": KannalaBrandt(
        500, 510, 319.5, 239.5, k1=0.01, k2=0.02, k3=0.03, k4=0.04, **HERE
    ),
    "FULL_OPENCV 640 480 500 510 320 240 0.01 0.02 0.03 0.04 0.05 0.06 0.07 0.08": BrownConrady(
        500, 510, 319.5, 239.5, 0.01, 0.02, 0.03, 0.04, k3=0.05, k4=0.06, k5=0.07, k6=0.08, **HERE
    ),
    "FOV 640 480 500 510 320 240 0.9": FieldOfView(500, 510, 319.5, 239.5, 0.9, **HERE),
    "SIMPLE_RADIAL_FISHEYE 640 480 500 320 240 0.01": KannalaBrandt(
        500, 500, 319.5, 239.5, 0.01, **HERE
    ),
    "RADIAL_FISHEYE 640 480 500 320 240 0.01 0.02": KannalaBrandt(
        500, 500, 319.5, 239.5, 0.01, 0.02, **HERE
    ),
    "THIN_PRISM_FISHEYE 640 480 500 510 320 240 0.01 0.02 0.03 0.04 0.05 0.06 0.07 0.08": (
        ThinPrismFisheye(
            500,
            510,
            319.5,
            239.5,
            0.01,
            0.02,
            0.03,
            0.04,
            k3=0.05,
            k4=0.06,
            s1=0.07,
            s2=0.08,
            **HERE,
        )
    ),
    "RAD_TAN_THIN_PRISM_FISHEYE 640 480 500 510 320 240 " + " ".join(map(str, TWELVE)): (
        RadTanThinPrismFisheye(500, 510, 319.5, 239.5, **NAMED, **HERE)
    ),
    "SIMPLE_DIVISION 640 480 500 320 240 -0.1": Division(500, 500, 319.5, 239.5, -0.1, **HERE),
    "DIVISION 640 480 500 510 320 240 -0.1": Division(500, 510, 319.5, 239.5, -0.1, **HERE),
    "SIMPLE_FISHEYE 640 480 500 320 240": Equidistant(500, 500, 319.5, 239.5, **HERE),
    "FISHEYE 640 480 500 510 320 240": Equidistant(500, 510, 319.5, 239.5, **HERE),
    "EUCM 640 480 500 510 320 240 0.6 1.1": ExtendedUnified(
        500, 510, 319.5, 239.5, 0.6, 1.1, **HERE
    ),
    "EQUIRECTANGULAR 640 480 640 480": Equirectangular.full(480, 640),
}


def two_numbers(least: float, most: float) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(least, most), min_size=2, max_size=2)


def test_there_is_a_line_of_every_model() -> None:
    assert [line.split()[0] for line in LINES] == [BY_NUMBER[k].name for k in range(len(MODELS))]


@pytest.mark.parametrize("line", LINES)
def test_every_model_is_read(tmp_path: Path, line: str) -> None:
    reading = files.read(colmap_text, tmp_path, f"1 {line}\n")
    assert reading.camera == LINES[line]
    assert any("cx - 0.5" in note for note in reading.notes)


@pytest.mark.parametrize("camera", LINES.values(), ids=lambda camera: type(camera).__name__)
def test_every_model_reads_back_as_it_was_written(tmp_path: Path, camera: Camera) -> None:
    colmap_text.write(tmp_path / "cameras.txt", camera)
    document = read_document(tmp_path / "cameras.txt")
    assert colmap_text.recognises(document)
    assert colmap_text.read(document, Request()).camera == camera


@given(two_numbers(1e-3, 1e8), two_numbers(-1e3, 1e3), two_numbers(-1, 1))
def test_written_numbers_survive_bit_for_bit(
    tmp_path: Path, focal: list[float], centre: list[float], terms: list[float]
) -> None:
    (fx, fy), (cx, cy), (k1, p2) = focal, centre, terms
    camera = BrownConrady(fx, fy, cx, cy, k1=k1, p2=p2, k6=0.5, size=SIZE)
    colmap_text.write(tmp_path / "cameras.txt", camera)
    assert colmap_text.read(read_document(tmp_path / "cameras.txt"), Request()).camera == camera


@pytest.mark.parametrize(
    ("camera", "line"),
    [
        (Pinhole(500, 500, 319.5, 239.5, size=SIZE), "1 SIMPLE_PINHOLE 640 480 500.0 320.0 240.0"),
        (
            BrownConrady(5, 6, 1, 2, 0.1, p1=0.2, size=SIZE),
            "1 OPENCV 640 480 5.0 6.0 1.5 2.5 0.1 0.0 0.2 0.0",
        ),
        (Equirectangular.full(240, 480), "1 EQUIRECTANGULAR 480 240 480 240"),
    ],
)
def test_the_simplest_model_is_written(tmp_path: Path, camera: Camera, line: str) -> None:
    colmap_text.write(tmp_path / "cameras.txt", camera)
    text = (tmp_path / "cameras.txt").read_text()
    assert text.splitlines()[-1] == line
    assert "\n#   CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]\n" in text, "as COLMAP heads it"


WHOLE = "a whole panorama"


@pytest.mark.parametrize(
    ("camera", "found", "expected"),
    [
        (
            Pinhole(500, 510, 320, 240, skew=1.5, size=SIZE),
            "a Pinhole with skew = 1.5",
            "fx, fy, cx, cy for COLMAP's PINHOLE",
        ),
        (
            BrownConrady(500, 500, 320, 240, s1=0.1, size=SIZE),
            "a BrownConrady with s1 = 0.1",
            "p2, k3, k4, k5, k6 for COLMAP's FULL_OPENCV",
        ),
        (
            BrownConrady(500, 500, 320, 240, k1=0.1, tilt_x=0.2, skew=3, size=SIZE),
            "a BrownConrady with skew = 3, tilt_x = 0.2",
            "for COLMAP's FULL_OPENCV",
        ),
        (
            Equidistant(200, 200, 320, 240, widest=1.5, size=SIZE),
            "an Equidistant with widest = 1.5",
            "for COLMAP's FISHEYE",
        ),
        (Stereographic(500, 500, 320, 240, size=SIZE), "a Stereographic", "SIMPLE_PINHOLE"),
        (
            Equirectangular(640 / np.pi, 480 / np.pi, 319.5, 239.5, size=SIZE),
            "an Equirectangular of 180 x 180 degrees around the pixel (319.5, 239.5)",
            WHOLE,
        ),
        (
            replace(Equirectangular.full(480, 640), cx=0.0),
            "an Equirectangular of 360 x 180 degrees around the pixel (0, 239.5)",
            WHOLE,
        ),
        (Orthographic(), "an Orthographic", "one of COLMAP's models: SIMPLE_PINHOLE"),
    ],
)
def test_what_colmap_cannot_express_is_named_and_not_written(
    tmp_path: Path, camera: Camera, found: str, expected: str
) -> None:
    with pytest.raises(CameraError) as caught:
        colmap_text.write(tmp_path / "cameras.txt", camera)
    assert found in caught.value.found
    assert str(tmp_path / "cameras.txt") in caught.value.found
    assert expected in str(caught.value)
    assert "suffix .npy" in caught.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_a_camera_without_its_size_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(CameraError, match=r"size.*Pinhole"):
        colmap_text.write(tmp_path / "cameras.txt", Pinhole(500, 500, 320, 240))


def test_one_of_several_is_chosen_by_its_number_or_size(tmp_path: Path) -> None:
    second = BrownConrady(900.25, 901.5, 640, 360, -0.1, 0.02, 0.001, -0.002, size=(1280, 720))
    for request in (Request(which="2"), Request(height=720, width=1280)):
        assert files.read(colmap_text, tmp_path, files.COLMAP_TEXT, request).camera == second
    with pytest.raises(FileError, match=r"2 cameras that differ: 1, 2"):
        files.read(colmap_text, tmp_path, files.COLMAP_TEXT)


def test_commas_between_the_numbers_are_read(tmp_path: Path) -> None:
    lines = files.COLMAP_TEXT.splitlines()[3:]
    commas = "\n".join(line.replace(" ", ", ") for line in [*lines, "7 FOV 4 3 5 5 2 1 0.5"])
    camera = read_calibration(files.write(tmp_path, commas), Request(which="2")).camera
    assert camera == files.read(colmap_text, tmp_path, files.COLMAP_TEXT, Request(which="2")).camera


def test_lines_without_the_head_are_recognised(tmp_path: Path) -> None:
    assert colmap_text.recognises(files.parse(tmp_path, "\n7 SIMPLE_PINHOLE 4 3 5 2 1.5\n"))
    assert not colmap_text.recognises(files.parse(tmp_path, "7 8 9\n"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# CAMERA_ID, MODEL, WIDTH, HEIGHT\n", "holds no camera"),
        (",,\n# CAMERA_ID, MODEL, WIDTH, HEIGHT\n", "line 1 is ',,'"),
        ("1 PINHOLE", "line 1 is '1 PINHOLE'; expected CAMERA_ID MODEL WIDTH HEIGHT"),
        ("1 PINHOLE 4 3 5 5 2 1\none PINHOLE 4 3 5 5 2 1", "line 2 is 'one PINHOLE"),
        (
            "# x\n\n1 PINEHOLE 4 3 5 5 2 1",
            r"line 3 \(camera 1\) has the model PINEHOLE; expected one of SIMPLE_",
        ),
        (
            "1 PINHOLE 4 3 5 5 2",
            r"line 1 \(camera 1\) has 3 parameters; expected 4 for PINHOLE: fx fy cx cy",
        ),
        ("1 PINHOLE 4 3 5 5 2 1 0", r"line 1 \(camera 1\) has 5 parameters; expected 4"),
        ("1 PINHOLE 4 3 5 5 two 1", r"line 1 \(camera 1\) has cx = two"),
        ("1 PINHOLE 4 3 5 5 nan 1", r"line 1 \(camera 1\) has cx = nan"),
        ("1 PINHOLE 4 3 5 5 2 1_0", r"line 1 \(camera 1\) has cy = 1_0"),
        ("1 PINHOLE 4 3 5 5 2 1e999", r"line 1 \(camera 1\) has cy = 1e999"),
        ("1 PINHOLE 4.5 3 5 5 2 1", "size 4.5 3; expected WIDTH and HEIGHT as positive integers"),
        ("1 PINHOLE 0 3 5 5 2 1", "size 0 3"),
        (f"1 PINHOLE {'9' * 5000} 3 5 5 2 1", "positive integers"),
        ("1 PINHOLE 4 3 -5 5 2 1", r"line 1 \(camera 1\), holds focal lengths fx = -5.0"),
        ("1 PINHOLE 4 3 5 5 2 1\n1 PINHOLE 4 3 6 6 2 1", "line 2 repeats the camera 1"),
        ("1 EQUIRECTANGULAR 8 4 16 8", "panorama of 16x8 pixels in an image of 8x4"),
        ("1 FOV 8 4 5 5 2 1 7", "omega"),
    ],
)
def test_broken_files(tmp_path: Path, text: str, words: str) -> None:
    files.check_broken(colmap_text, tmp_path, text, words)


def random_values(model: Model, generator: np.random.Generator) -> list[float]:
    """Parameters within reason of a model, pixel centres at .5."""
    ranges = {
        **dict.fromkeys(("f", "fx", "fy"), (300.0, 900.0)),
        **{"cx": (250.0, 400.0), "cy": (180.0, 300.0)},
        **{"omega": (0.3, 1.2), "alpha": (0.1, 0.9), "beta": (0.5, 1.5), "k": (-0.2, 0.0)},
    }
    if model.kind is Equirectangular:
        return [float(side) for side in SIZE]
    return [float(generator.uniform(*ranges.get(name, (-0.01, 0.01)))) for name in model.parameters]


@EVERY_MODEL
def test_models_agree_with_pycolmap(model: Model) -> None:
    pycolmap = pytest.importorskip("pycolmap")
    seed = np.random.SeedSequence().entropy
    generator = np.random.default_rng(seed)
    assert int(pycolmap.CameraModelId.__members__[model.name]) == model.number
    for _ in range(5):
        values = random_values(model, generator)
        theirs = pycolmap.Camera(model=model.name, width=SIZE[0], height=SIZE[1], params=values)
        assert len(theirs.params_info.split(",")) == len(model.parameters)
        camera = model.camera(values, SIZE)
        assert isinstance(camera, IntrinsicCamera)
        angle, turn = generator.uniform(0, [[np.radians(80)], [2 * np.pi]], (2, 200))
        points = np.stack(
            (np.sin(angle) * np.cos(turn), np.sin(angle) * np.sin(turn), np.cos(angle)), axis=1
        )
        expected = np.array(
            [
                np.full(2, np.nan) if pixel is None else pixel
                for pixel in (theirs.img_from_cam(point) for point in points)
            ]
        )
        found = camera.project(points) + 0.5
        seen = np.isfinite(expected).all(axis=1) & np.isfinite(found).all(axis=1)
        assert seen.mean() > 0.3, f"seed {seed}"  # the rest lies past the fold of the lens
        np.testing.assert_allclose(found[seen], expected[seen], atol=1e-7, err_msg=f"seed {seed}")


def test_pycolmap_has_no_other_models() -> None:
    pycolmap = pytest.importorskip("pycolmap")
    assert set(pycolmap.CameraModelId.__members__) - {"INVALID"} == set(BY_NAME)
