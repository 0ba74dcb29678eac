"""OpenCV's files: three syntaxes, many spellings, and coefficients that mean different things."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration import opencv_file
from rayrelief.cameras.calibration.document import read_document
from rayrelief.cameras.calibration.reading import Reading, Request
from rayrelief.cameras.intrinsics import FOCAL_LENGTHS
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.unified import Unified
from rayrelief.errors import CameraError, FileError
from reference import calibrations as files
from reference.calibrations import FILES, OPENCV_XML, OPENCV_YAML, SCRIPT_JSON

FX, CX, CY = 535.91573396163199, 342.28315473308373, 235.57082909788173
LENS = (
    *(-0.26637260909660682, -0.038588898922304653, 0.0017831947042852964),
    *(-0.00028122100441115472, 0.23839153080878486),
)
K = [[600.0, 0.0, 320.0], [0.0, 601.0, 240.0], [0.0, 0.0, 1.0]]
CORE = (600.0, 601.0, 320.0, 240.0)


def read(
    folder: Path, text: str | bytes, name: str = "camera.yml", which: str | None = None
) -> Reading:
    return files.read(opencv_file, folder, text, Request(which=which), name)


def read_json(folder: Path, **content: object) -> Reading:
    return read(folder, json.dumps(content), "camera.json")


@pytest.mark.parametrize("key", ["opencv_yaml", "opencv_xml", "opencv_json"])
def test_all_syntaxes_hold_the_same_camera(tmp_path: Path, key: str) -> None:
    name, text = FILES[key]
    expected = BrownConrady(FX, FX, CX, CY, *LENS, size=(640, 480))
    assert read(tmp_path, text, name) == Reading(expected)


def test_lists_of_a_script_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, SCRIPT_JSON, "a.json").camera == BrownConrady(FX, FX, CX, CY, *LENS)


@pytest.mark.parametrize(("suffix", "head"), [("yml", "%YAML"), ("xml", "<?xml"), ("json", "{")])
@pytest.mark.parametrize("count", [4, 5, 8, 12, 14])
def test_what_opencv_writes_is_read_to_the_last_bit(
    tmp_path: Path, suffix: str, head: str, count: int
) -> None:
    random = np.random.default_rng(count)
    lens = random.normal(size=count) / 7
    matrix = np.array(K) / 3
    matrix[2, 2] = 1
    path = tmp_path / f"camera.{suffix}"
    storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    storage.write("image_width", 640)
    storage.write("image_height", 480)
    storage.writeComment("flags: +fix_aspectRatio")
    storage.write("camera_matrix", matrix)
    storage.write("distortion_coefficients", lens.reshape(-1, 1) if count % 2 else lens[None])
    storage.release()
    assert path.read_text().startswith(head)
    fx, fy, cx, cy = (float(matrix[i]) for i in ((0, 0), (1, 1), (0, 2), (1, 2)))
    expected = BrownConrady(fx, fy, cx, cy, *map(float, lens), size=(640, 480))
    assert opencv_file.read(read_document(path), Request()).camera == expected


@pytest.mark.parametrize("count", [4, 5, 8, 12, 14])
def test_coefficients_mean_what_they_mean_to_opencv(tmp_path: Path, count: int) -> None:
    random = np.random.default_rng(count)
    lens = (random.normal(size=14) / 50)[:count]
    points = random.uniform((-0.3, -0.3, 0.7), (0.3, 0.3, 1.3), (20, 3))
    camera = read_json(tmp_path, camera_matrix=K, dist_coeffs=lens.tolist()).camera
    expected = cv2.projectPoints(points, np.zeros(3), np.zeros(3), np.array(K), lens)[0][:, 0]
    np.testing.assert_allclose(camera.project(points), expected, atol=1e-9)


@pytest.mark.parametrize(
    "flag", [{"fisheye_model": 1}, {"fisheye": True}, {"model": "Kannala_Brandt"}]
)
def test_four_coefficients_are_those_of_a_fisheye_where_the_file_says_so(
    tmp_path: Path, flag: dict[str, object]
) -> None:
    lens = [0.1, 0.02, 0.003, 0.0004]
    reading = read_json(tmp_path, **flag, K=K, D=[[k] for k in lens])
    assert reading.camera == KannalaBrandt(*CORE, *lens)
    (note,) = reading.notes
    assert all(fact in note for fact in ("D ", "k1, k2, k3, k4", "fisheye"))
    points = np.random.default_rng(1).uniform((-1, -1, 0.5), (1, 1, 2.5), (20, 3))
    still = np.zeros(3)
    expected = cv2.fisheye.projectPoints(
        points[:, None], still, still, np.array(K), np.array(lens)
    )[0][:, 0]
    np.testing.assert_allclose(reading.camera.project(points), expected, atol=1e-9)


@pytest.mark.parametrize("flag", [{}, {"fisheye_model": 0}, {"camera_model": "RadTan"}])
def test_four_coefficients_are_radial_and_tangential_elsewhere(
    tmp_path: Path, flag: dict[str, object]
) -> None:
    reading = read_json(tmp_path, **flag, K=K, D=[0.1, 0.02, 0.003, 0.0004])
    assert reading.camera == BrownConrady(*CORE, 0.1, 0.02, 0.003, 0.0004)
    assert reading.notes == (
        "D read as k1, k2, p1, p2, since the file does not say that it is a fisheye",
    )


def test_the_fisheye_flag_of_xml_is_text(tmp_path: Path) -> None:
    lens = "<rows>5</rows>\n  <cols>1</cols>"
    text = OPENCV_XML.replace(lens, lens.replace("5", "4")).replace(
        "\n    2.3839153080878486e-01", ""
    )
    text = files.changed(text, ("<fisheye_model>0<", "<fisheye_model>1<"))
    camera = read(tmp_path, text, "a.xml").camera
    assert camera == KannalaBrandt(FX, FX, CX, CY, *LENS[:4], size=(640, 480))


def one_axis(syntax: str, size: object = 5) -> str:
    """Coefficients as OpenCV 5 writes an array with one axis."""
    matrix, sample = {
        "yml": ("!!opencv-matrix\n   rows: 5\n   cols: 1\n", OPENCV_YAML),
        "xml": ('"opencv-matrix">\n  <rows>5</rows>\n  <cols>1</cols>\n', OPENCV_XML),
        "json": ('"opencv-matrix",\n        "rows": 5,\n        "cols": 1,\n', files.OPENCV_JSON),
    }[syntax]
    array = {
        "yml": f"!!opencv-nd-matrix\n   sizes: [ {size} ]\n",
        "xml": f'"opencv-nd-matrix">\n  <sizes>\n    {size}</sizes>\n',
        "json": f'"opencv-nd-matrix",\n        "sizes": [ {size} ],\n',
    }[syntax]
    return files.changed(sample, (matrix, array))


@pytest.mark.parametrize("syntax", ["yml", "xml", "json"])
def test_arrays_with_one_axis_are_read(tmp_path: Path, syntax: str) -> None:
    reading = read(tmp_path, one_axis(syntax), f"a.{syntax}")
    assert reading.camera == BrownConrady(FX, FX, CX, CY, *LENS, size=(640, 480))


@pytest.mark.parametrize("suffix", ["yml", "xml", "json"])
def test_what_this_opencv_writes_is_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"camera.{suffix}"
    storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    storage.write("model", "fisheye")
    storage.write("K", np.array(K))
    storage.write("D", np.array([0.1, 0.02, 0.003, 0.0004]))
    storage.release()
    camera = opencv_file.read(read_document(path), Request()).camera
    assert camera == KannalaBrandt(*CORE, 0.1, 0.02, 0.003, 0.0004)


@pytest.mark.parametrize("xi", [1.25, [[1.25]], {"rows": 1, "cols": 1, "data": [1.25]}])
def test_xi_makes_an_omnidirectional_camera(tmp_path: Path, xi: object) -> None:
    reading = read_json(
        tmp_path, camera_matrix=K, distortion_coefficients=[[0.1, 0.02, 0.003, 0.0004]], xi=xi
    )
    assert reading == Reading(Unified(*CORE, 1.25, 0.1, 0.02, 0.003, 0.0004))


@pytest.mark.parametrize("lens", [[], [0, 0, 0, 0, 0], {"rows": 0, "cols": 0, "data": []}])
def test_no_distortion_is_a_pinhole(tmp_path: Path, lens: object) -> None:
    assert read_json(tmp_path, camera_matrix=K, dist=lens) == Reading(Pinhole(*CORE))


def test_a_script_that_knows_no_distortion_is_noted(tmp_path: Path) -> None:
    reading = read_json(tmp_path, K=K)
    assert reading.camera == Pinhole(*CORE)
    assert "no distortion coefficients in the file" in reading.notes[0]


def test_a_skew_is_kept_and_noted(tmp_path: Path) -> None:
    skewed = [[600.0, 1.5, 320.0], *K[1:]]
    reading = read_json(tmp_path, K=skewed, D=[])
    assert reading.camera == Pinhole(*CORE, skew=1.5)
    assert "skew 1.5" in reading.notes[0]


@pytest.mark.parametrize(
    "size",
    [
        {"image_width": 640, "image_height": 480},
        {"image_Width": 640, "image_Height": 480},
        {"width": 640, "height": 480},
        {"image_size": [640, 480]},
        {"imageSize": [640.0, 480.0]},
        {"img_size": {"rows": 1, "cols": 2, "data": [640, 480]}},
    ],
)
@pytest.mark.parametrize(
    ("matrix", "lens"),
    [("Camera_Matrix", "Distortion_Coefficients"), ("mtx", "dist"), ("cameraMatrix", "distCoeffs")],
)
def test_spellings(tmp_path: Path, size: dict[str, object], matrix: str, lens: str) -> None:
    reading = read_json(tmp_path, **size, **{matrix: K, lens: [0.1, 0, 0, 0, 0]})
    assert reading.camera == BrownConrady(*CORE, 0.1, size=(640, 480))


@pytest.mark.parametrize(
    ("first", "second"),
    [("M1 D1", "M2 D2"), ("K_left D_left", "K_right D_right"), ("cameraMatrixL distL", "KR DR")],
)
def test_one_camera_of_a_pair_is_asked_for_by_its_matrix(
    tmp_path: Path, first: str, second: str
) -> None:
    (m1, d1), (m2, d2) = first.split(), second.split()
    text = json.dumps({m1: K, d1: [0.1, 0, 0, 0, 0], m2: K, d2: [0.0, 0.2, 0, 0]})
    assert read(tmp_path, text, which=m1).camera == BrownConrady(*CORE, 0.1)
    reading = read(tmp_path, text, which=m2)
    assert reading.camera == BrownConrady(*CORE, 0.0, 0.2)
    assert f"{d2} read as k1, k2, p1, p2" in reading.notes[1]
    with pytest.raises(FileError, match=f"{m1}, {m2}"):
        read(tmp_path, text)


FOCAL = st.floats(*FOCAL_LENGTHS)
ANY = st.floats(allow_nan=False, allow_infinity=False)
SIZE = st.none() | st.tuples(st.integers(1, 10_000), st.integers(1, 10_000))
SMALL = st.floats(-1e-3, 1e-3)
CAMERAS = st.one_of(
    st.builds(Pinhole, FOCAL, FOCAL, ANY, ANY, size=SIZE),
    st.integers(1, 14).flatmap(
        lambda n: st.builds(BrownConrady, FOCAL, FOCAL, ANY, ANY, *[SMALL] * n, size=SIZE)
    ),
    st.builds(KannalaBrandt, FOCAL, FOCAL, ANY, ANY, *[SMALL] * 4, size=SIZE),
)


@given(CAMERAS, st.sampled_from([".yml", ".yaml", ".xml", ".json"]))
def test_cameras_read_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, camera: Camera, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("camera") / f"camera{suffix}"
    opencv_file.write(path, camera)
    written = read_document(path)
    assert opencv_file.recognises(written)
    again = opencv_file.read(written, Request()).camera
    if isinstance(camera, BrownConrady) and isinstance(again, Pinhole):
        again = BrownConrady(again.fx, again.fy, again.cx, again.cy, size=again.size)
    assert again == camera


@pytest.mark.parametrize("suffix", [".yml", ".xml", ".json"])
def test_what_is_written_is_read_by_opencv(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"camera{suffix}"
    lens = (0.1, 1e-7, -1e-300, 2.0, 3e20, 1 / 3)
    opencv_file.write(path, BrownConrady(600.1, 1e8, -7.0, 1e-5, *lens, size=(640, 480)))
    storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_READ)
    assert storage.getNode("image_width").real() == 640
    matrix = storage.getNode("camera_matrix").mat()
    assert matrix.tolist() == [[600.1, 0, -7], [0, 1e8, 1e-5], [0, 0, 1]]
    assert storage.getNode("distortion_coefficients").mat().tolist() == [[*lens, 0, 0]]
    storage.release()


def test_cameras_that_do_not_fit_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(CameraError, match=r"Orthographic.*a\.yml"):
        opencv_file.write(tmp_path / "a.yml", Orthographic())
    with pytest.raises(CameraError, match=r"skew 2.*a\.yml"):
        opencv_file.write(tmp_path / "a.yml", Pinhole(*CORE, skew=2))
    with pytest.raises(FileError, match=r"a\.txt.*\.yml"):
        opencv_file.write(tmp_path / "a.txt", Pinhole(*CORE))
    assert list(tmp_path.iterdir()) == []


YAML = "camera.yml"
GOOD = {"camera_matrix": K, "distortion_coefficients": [0.1, 0, 0, 0, 0]}


def changed(**content: object) -> str:
    return json.dumps(GOOD | content)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (YAML, "", "is empty"),
        (YAML, OPENCV_YAML.partition("3.4228")[0], "is not valid YAML"),
        ("a.xml", OPENCV_XML.partition("3.4228")[0], "is not valid XML"),
        ("a.json", changed()[:60], "is not valid JSON"),
        (YAML, OPENCV_YAML.replace("camera_matrix", "matrix"), "camera_matrix is missing"),
        (YAML, OPENCV_YAML.split("distortion")[0], "distortion_coefficients is missing"),
        (YAML, OPENCV_YAML.replace("rows: 5", "rows: 6"), "data holds 5 values; expected 6 rows"),
        (YAML, OPENCV_YAML.replace("rows: 5", "rows: five"), r"coefficients\.rows is 'five'"),
        (YAML, OPENCV_YAML.replace("   rows: 5\n", ""), r"coefficients\.rows is missing"),
        (YAML, OPENCV_YAML.replace("2.3839153080878486e-01", ".Nan"), r"data\[4\] is '.Nan'"),
        (YAML, OPENCV_YAML.replace("width: 640", "width: 640.5"), "image_width is 640.5"),
        (YAML, OPENCV_YAML.replace("image_width: 640\n", ""), "image_width is missing"),
        ("a.xml", OPENCV_XML.replace("199e+02", "199e+20"), "focal lengths"),
        ("a.xml", OPENCV_XML.replace(" 0. 0. 1.<", " 0. 0. x<"), r"data\[8\] is 'x'"),
        ("a.json", changed(camera_matrix=5), "camera_matrix is 5"),
        ("a.json", changed(camera_matrix="K"), "camera_matrix is 'K'"),
        ("a.json", changed(camera_matrix=None), "camera_matrix is missing"),
        ("a.json", changed(camera_matrix=K[:2]), "has 2 rows of 3 values"),
        ("a.json", changed(camera_matrix=[]), "has 1 rows of 0 values"),
        ("a.json", changed(camera_matrix=[[1, 2], [3]]), "rows of 2, 1 values"),
        ("a.json", changed(camera_matrix=[*K[:2], 1]), r"camera_matrix\[2\] is 1"),
        ("a.json", changed(camera_matrix=np.transpose(K).tolist()), "seems to be transposed"),
        ("a.json", changed(camera_matrix=[*K[:2], [0, 0, 2]]), "0 0 2"),
        ("a.json", changed(camera_matrix=[[-6, 0, 1], *K[1:]]), "focal lengths fx = -6"),
        ("a.json", changed(distortion_coefficients=[1, 2, 3]), "holds 3 values; expected 0 or 4"),
        ("a.json", changed(distortion_coefficients=K), "has 3 rows of 3 values; expected one row"),
        ("a.json", changed(distortion_coefficients=0.1), "is 0.1"),
        ("a.json", changed(distortion_coefficients=[float("nan")] * 4), r"\[0\] is nan"),
        ("a.json", changed(distortion_coefficients=[float("inf")] * 4), r"\[0\] is inf"),
        ("a.json", changed(fisheye_model=1), "expected 4 numbers for a fisheye"),
        ("a.json", changed(fisheye="yes"), "fisheye is 'yes'"),
        ("a.json", changed(model="Canon EOS 5D"), "model is 'Canon EOS 5D'; expected one of pin"),
        ("a.json", changed(camera_model=3), "camera_model is 3"),
        ("a.json", changed(fisheye=0, model="fisheye"), "fisheye = 0, but model = fish"),
        ("a.json", changed(fisheye=True, model="opencv"), "= True, but model = opencv; exp"),
        ("a.json", changed(model="opencv", camera_model="fisheye"), "but camera_model = fish"),
        (YAML, one_axis("yml", size=3), r"coefficients\.data holds 5 values; expected 1 rows of 3"),
        (YAML, one_axis("yml", size="five"), r"coefficients\.sizes\[0\] is 'five'"),
        ("a.json", changed(xi=1), "holds 5 values; expected 4 numbers with xi"),
        ("a.json", changed(xi=[1, 2], distortion_coefficients=[0] * 4), "xi holds 2 values"),
        ("a.json", changed(xi=1, fisheye=1, distortion_coefficients=[0] * 4), "only one of the"),
        ("a.json", changed(image_size=[640]), r"image_size is \[640\]"),
        ("a.json", changed(image_size=[640, 0]), "as integers"),
        (
            "a.json",
            json.dumps({"K": K, "distortion": [0.1]}),
            "distortion is an unknown key that may",
        ),
    ],
)
def test_every_broken_file_gives_one_clear_message(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    files.check_broken(opencv_file, tmp_path, text, words, name=name)


@pytest.mark.parametrize(
    ("content", "key", "expected"),
    [
        *(({"K": K, name: 0.1}, name, "distortion_coefficients") for name in ("k1", "K6", "p_2")),
        *(({"K": K, name: 0.1}, name, "distortion_coefficients") for name in ("s4", "tau_x")),
        ({"K": K, "k1": [0.1]}, "k1", "distortion_coefficients"),
        ({"camera_matrix": K, "coeffs": [0.1] * 5}, "coeffs", "distortion_coefficients"),
        ({"camera_matrix": K, "lensCoefficients": [0.1]}, "lensCoefficients", "distortion_coeff"),
        ({"K": K, "radial_distortion": [0.1]}, "radial_distortion", "distortion_coefficients"),
        ({"K": K, "D_left": [0.1] * 5}, "D_left", "distortion_coefficients"),
        ({"K": K, "D": [0.1] * 5, "D2": [0.1] * 5}, "D2", "D"),
        ({"K": K, "D": [0.1] * 5, "dist": [0.2] * 5}, "D", "dist"),
        ({"K": K, "D": [0.1] * 5, "k1": 0.1}, "k1", "D"),
        ({"M1": K, "M2": K, "D1": [0.1] * 5, "dist": [0.2] * 5}, "dist", "D1 or distortion_coef"),
        ({"K_left": K, "D_left": [0.1] * 4, "xi": 1.0}, "xi", "D_left"),
    ],
)
def test_what_looks_like_distortion_is_never_left_out(
    tmp_path: Path, content: dict[str, object], key: str, expected: str
) -> None:
    words = rf": {key} is an unknown key that may .* in one list, named {expected}"
    files.check_broken(opencv_file, tmp_path, json.dumps(content), words)
    text = "<opencv_storage>{}</opencv_storage>"
    parts = (f"<{name}>{flat(value)}</{name}>" for name, value in content.items())
    files.check_broken(opencv_file, tmp_path, text.format("".join(parts)), words)


def flat(value: object) -> str:
    """Numbers of a list as the text of XML."""
    return " ".join(map(str, np.ravel(np.array(value)).tolist()))


def test_what_does_not_look_like_distortion_is_left_alone(tmp_path: Path) -> None:
    rest = {"P1": np.eye(3, 4).tolist(), "P2": np.eye(3, 4).tolist(), "R1": K, "k2": None}
    words = {"distance": 3.0, "undistorted": False, "avg_reprojection_error": 0.1, "d_min": 1}
    reading = read_json(tmp_path, K1=K, D1=[0.1, 0, 0, 0, 0], **rest, **words)
    assert reading == Reading(BrownConrady(*CORE, 0.1))


def test_a_number_under_a_letter_is_no_matrix(tmp_path: Path) -> None:
    assert not opencv_file.recognises(files.parse(tmp_path, '{"k1": 0.1, "K": 3}'))
