"""mrcal: dictionaries of Python, of models that numbers describe and of others."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.cahvor import Cahvor
from rayrelief.cameras.calibration import mrcal
from rayrelief.cameras.calibration.reading import Reading
from rayrelief.cameras.equirectangular import Equirectangular, TransverseEquirectangular
from rayrelief.cameras.fisheye import Stereographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import FileError
from reference import calibrations as files
from reference.calibrations import MRCAL

NAME = "camera-0.cameramodel"
CORE = (1766.071241, 1765.892527, 1944.06645, 1064.523121)
SIZE = (3840, 2160)
LENS = (
    *(2.164802516, -1.185158138, -9.31342e-05, 0.0007782462),
    *(-0.2351910903, 2.446029503, -0.6697132481, -0.6284355415),
)


def read(folder: Path, text: str, name: str = NAME) -> Reading:
    return files.read(mrcal, folder, text, name=name)


def model(kind: str, *numbers: float, size: str = "[ 640, 480,]") -> str:
    values = "".join(f" {number:.10g}," for number in numbers)
    return (
        f"{{\n    'lensmodel':  'LENSMODEL_{kind}',\n\n    'intrinsics': [{values}],\n\n"
        f"    'extrinsics': [ 0, 0, 0, 0, 0, 0,],\n\n    'imagersize': {size},\n\n}}\n"
    )


def test_a_model_with_comments_and_data_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, MRCAL) == Reading(BrownConrady(*CORE, *LENS, size=SIZE))


@pytest.mark.parametrize("name", ["model", "model.txt", NAME])
def test_the_name_of_the_file_does_not_matter(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, MRCAL, name).camera == BrownConrady(*CORE, *LENS, size=SIZE)


@pytest.mark.parametrize(
    ("old", "prefix"), [("lens_model", "LENSMODEL"), ("distortion_model", "DISTORTION")]
)
def test_older_names_are_read(tmp_path: Path, old: str, prefix: str) -> None:
    text = MRCAL.replace("'lensmodel'", f"'{old}'").replace("LENSMODEL_", f"{prefix}_")
    assert read(tmp_path, text).camera == BrownConrady(*CORE, *LENS, size=SIZE)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("PINHOLE", Pinhole(500, 501, 320, 240, size=(640, 480))),
        ("STEREOGRAPHIC", Stereographic(500, 501, 320, 240, size=(640, 480))),
        ("LONLAT", Equirectangular(500, 501, 320, 240, size=(640, 480))),
        ("LATLON", TransverseEquirectangular(500, 501, 320, 240, size=(640, 480))),
    ],
)
def test_models_of_four_numbers(tmp_path: Path, kind: str, expected: Camera) -> None:
    assert read(tmp_path, model(kind, 500, 501, 320, 240)) == Reading(expected)


@pytest.mark.parametrize("count", [4, 5, 8, 12])
def test_opencv_models_project_by_the_formula_of_mrcal(tmp_path: Path, count: int) -> None:
    k = np.zeros(12)
    k[:count] = np.random.default_rng(count).normal(size=count) / 50
    camera = read(tmp_path, model(f"OPENCV{count}", 500, 501, 320, 240, *k[:count])).camera
    k[:count] = [float(f"{number:.10g}") for number in k[:count]]
    x, y = 0.3, -0.2
    r2 = x * x + y * y
    radial = 1 + r2 * (k[0] + r2 * (k[1] + r2 * k[4]))
    radial /= 1 + r2 * (k[5] + r2 * (k[6] + r2 * k[7]))
    u = x * radial + 2 * k[2] * x * y + k[3] * (r2 + 2 * x * x) + k[8] * r2 + k[9] * r2 * r2
    v = y * radial + 2 * k[3] * x * y + k[2] * (r2 + 2 * y * y) + k[10] * r2 + k[11] * r2 * r2
    expected = (500 * u + 320, 501 * v + 240)
    np.testing.assert_allclose(camera.project([x, y, 1.0]), expected, rtol=1e-12, atol=1e-9)


def test_stereographic_lonlat_and_latlon_project_by_the_formulas_of_mrcal(tmp_path: Path) -> None:
    point = np.array([0.6, -0.3, -0.2])
    radius = math.hypot(0.6, -0.3)
    angle = math.atan2(radius, -0.2)
    stereographic = read(tmp_path, model("STEREOGRAPHIC", 500, 501, 320, 240)).camera
    expected = point[:2] / radius * 2 * math.tan(angle / 2) * (500, 501) + (320, 240)
    np.testing.assert_allclose(stereographic.project(point), expected, rtol=1e-12, atol=1e-9)
    lonlat = read(tmp_path, model("LONLAT", 500, 501, 320, 240)).camera
    longitude, latitude = math.atan2(0.6, -0.2), math.asin(-0.3 / np.linalg.norm(point))
    expected = np.array([500 * longitude + 320, 501 * latitude + 240])
    np.testing.assert_allclose(lonlat.project(point), expected, rtol=1e-12, atol=1e-9)
    latlon = read(tmp_path, model("LATLON", 500, 501, 320, 240)).camera
    latitude, longitude = math.asin(0.6 / np.linalg.norm(point)), math.atan2(-0.3, -0.2)
    expected = np.array([500 * latitude + 320, 501 * longitude + 240])
    np.testing.assert_allclose(latlon.project(point), expected, rtol=1e-12, atol=1e-9)


FOUR, JPL = (500, 501, 320, 240), (0.01, -0.02, 0.001, -0.1, 0.02)


@pytest.mark.parametrize(
    ("kind", "numbers", "linearity"),
    [
        ("CAHVOR", JPL, 1.0),
        ("CAHVORE_linearity=0.34", (*JPL, 0, 0, 0), 0.34),
        ("CAHVORE_linearity=-1e-3", (*JPL, 0, 0, 0), -0.001),
        ("CAHVORE_linearity=1", (*JPL, 0, 0, 0), 1.0),
        ("CAHVORE", (*JPL, 0, 0, 0, 0.34), 0.34),  # of older versions
    ],
)
def test_models_of_jpl(
    tmp_path: Path, kind: str, numbers: tuple[float, ...], linearity: float
) -> None:
    expected = Cahvor(*FOUR, *JPL, linearity, size=(640, 480))
    assert read(tmp_path, model(kind, *FOUR, *numbers)) == Reading(expected)


def test_a_pixel_of_a_cahvor_by_hand(tmp_path: Path) -> None:
    """An axis turned to the right by atan(3 / 4), and a point 45 degrees below it: tau is 1."""
    numbers = (math.atan2(3, 4), 0, 0.1, 0.05, 0.25)
    camera = read(tmp_path, model("CAHVOR", *FOUR, *numbers)).camera
    # (0.6, 1, 0.8) is bent to (0.6, 1.4, 0.8).
    pixel = camera.project([0.6, 1.0, 0.8])
    np.testing.assert_allclose(pixel, (500 * 0.75 + 320, 501 * 1.75 + 240), rtol=1e-9)


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("CAHVOR", (0.01, -0.02, 0, 0, 0)),
        ("CAHVORE_linearity=1", (0.01, -0.02, 0, 0, 0, 0, 0, 0)),
    ],
)
def test_a_lens_of_jpl_that_bends_nothing_is_a_pinhole(
    tmp_path: Path, kind: str, numbers: tuple[float, ...]
) -> None:
    assert read(tmp_path, model(kind, *FOUR, *numbers)).camera == Pinhole(*FOUR, size=(640, 480))


@pytest.mark.parametrize("linearity", [0.5, 0.0, -0.5])
def test_a_lens_of_jpl_without_coefficients_is_a_fisheye_by_its_linearity(
    tmp_path: Path, linearity: float
) -> None:
    text = model(f"CAHVORE_linearity={linearity}", *FOUR, 0.01, -0.02, 0, 0, 0, 0, 0, 0)
    expected = Cahvor(*FOUR, 0.01, -0.02, linearity=linearity, size=(640, 480))
    assert read(tmp_path, text).camera == expected


def test_rows_that_go_all_around_are_noted_not_to_be_joined(tmp_path: Path) -> None:
    around = 480 / (2 * math.pi)
    text = model("LATLON", 100, around, 320, 240)
    assert read(tmp_path, text).notes == (
        "the rows cover a full turn, but the first and the last row are not joined",
    )
    assert read(tmp_path, model("LATLON", 100, around + 1, 320, 240)).notes == ()
    assert read(tmp_path, model("LONLAT", 640 / (2 * math.pi), 200, 320, 240)).notes == ()


@pytest.mark.parametrize("start", ["\n\n", "   ", "\n  \n  # a comment\n", "\ufeff"])
def test_what_stands_before_the_dictionary_does_not_matter(tmp_path: Path, start: str) -> None:
    assert read(tmp_path, start + MRCAL).camera == BrownConrady(*CORE, *LENS, size=SIZE)
    broken = start + MRCAL.replace("2.446029503", "nan")
    line = 1 + broken[: broken.index("nan")].count("\n")
    files.check_broken(mrcal, tmp_path, broken, f": line {line}: intrinsics holds 'nan'", name=NAME)


def test_a_region_that_is_not_applied_is_noted(tmp_path: Path) -> None:
    text = MRCAL.replace("'imagersize'", "'valid_intrinsics_region': [ [0, 0], ],\n'imagersize'")
    note = "the valid_intrinsics_region of the file was not applied"
    assert read(tmp_path, text).notes == (note,)


@pytest.mark.parametrize(
    "kind",
    [
        "SPLINED_STEREOGRAPHIC_order=3_Nx=30_Ny=20_fov_x_deg=170",
        "OPENCV14",
        "CAHVORE_degree=3",
        "CAHV",
    ],
)
def test_other_models_are_sent_to_mrcal(tmp_path: Path, kind: str) -> None:
    with pytest.raises(FileError, match=f"'LENSMODEL_{kind}'") as caught:
        read(tmp_path, model(kind, 500, 500, 320, 240, 0, 0, 0, 0, 0))
    assert "LENSMODEL_OPENCV12" in caught.value.expected
    assert "mrcal-convert-lensmodel" in caught.value.remedy
    assert "mrcal.unproject" in caught.value.remedy


def test_a_model_is_quoted_as_the_file_calls_it(tmp_path: Path) -> None:
    old = model("CAHV", *FOUR).replace("LENSMODEL_", "DISTORTION_")
    words = "distortion_model is 'DISTORTION_CAHV'; expected one of LENSMODEL_PINHOLE"
    files.check_broken(
        mrcal, tmp_path, old.replace("lensmodel", "distortion_model"), words, name=NAME
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (MRCAL[:400], r"in Python syntax \(line 7: '\[' was never closed\)"),
        (MRCAL.replace("2.446", "two"), "line 7: intrinsics holds 'two029503'"),
        (MRCAL.replace("2.446029503", "-nan"), "line 7: intrinsics holds 'nan'"),
        (
            MRCAL.replace("3840, 2160", "3840,\n  int('21' +\n '60')"),
            r"line 13: imagersize holds .int\('21' \+ '60'\)",
        ),
        (MRCAL.replace("2.446029503", "1 + 1"), r"line 7: intrinsics holds '\[ 1766.071241, "),
        (MRCAL.replace("3840", f"0x{'f' * 5000}"), r"line 12: imagersize holds '\[ 0xffff"),
        (MRCAL.replace("3840", "9" * 5000), r"Python syntax \(line 12: "),
        (MRCAL.replace("3840", "-" * 5000 + "1"), "is not a dictionary|line 12: imagersize"),
        (MRCAL.replace("'icam_intrinsics'", "7"), "line 14 has a key that is not a string"),
        (
            MRCAL.replace("'icam_intrinsics': 0", "**other"),
            "line 14 has a key that is not a string",
        ),
        (MRCAL.replace("2.446029503", "1e999"), r"intrinsics\[9\] is inf"),
        (MRCAL.replace("2.446029503", "'x'"), r"intrinsics\[9\] is 'x'"),
        (MRCAL.replace("2.446029503,", ""), "intrinsics holds 11 values; expected 12 numbers"),
        (MRCAL.replace("'lensmodel'", "'model'"), "lensmodel is missing"),
        (MRCAL.replace("'intrinsics'", "'numbers'"), "intrinsics is missing"),
        (MRCAL.replace("'imagersize'", "'size'"), "imagersize is missing"),
        (MRCAL.replace("[ 3840, 2160,]", "[ 3840, 2160.5,]"), "imagersize is .* as integers"),
        (MRCAL.replace("[ 3840, 2160,]", "3840"), "imagersize is 3840"),
        (MRCAL.replace("[ 1766", "[ -1766"), "intrinsics, holds focal lengths fx = -1766"),
        ("['imagersize', {'imagersize': 3}]", "is not a dictionary"),
        (
            model("LATLON", 500, 75, 320, 240),
            "intrinsics, holds 480 pixels around the axis at 75 .*",
        ),
        (model("LONLAT", 75, 500, 320, 240), "intrinsics, holds 640 pixels around the axis at 75"),
        (
            model("CAHVORE_linearity=0.3", *FOUR, *JPL, 0, 1e-3, 0),
            "intrinsics has e0, e1, e2 = 0, 0.001, 0; expected .* rays do not meet in one point",
        ),
        (model("CAHVORE_linearity=x", *FOUR, *JPL, 0, 0, 0), "lensmodel has linearity=x; expected"),
        (model("CAHVORE_linearity=nan", *FOUR, *JPL, 0, 0, 0), "lensmodel has linearity=nan"),
        (model("CAHVOR", *FOUR, *JPL[:-1]), "intrinsics holds 8 values; expected 9 numbers"),
        (model("CAHVORE", *FOUR, *JPL), "intrinsics holds 9 values; expected 13 numbers"),
        (
            model("CAHVOR", *FOUR, 3, 0, 0, 0.1, 0),
            "alpha = 3.0; expected an angle below a right angle",
        ),
        (model("LATLON", *FOUR, 1), "intrinsics holds 5 values; expected 4 numbers"),
    ],
)
def test_every_broken_file_gives_one_clear_message(tmp_path: Path, text: str, words: str) -> None:
    files.check_broken(mrcal, tmp_path, text, words, name=NAME)
