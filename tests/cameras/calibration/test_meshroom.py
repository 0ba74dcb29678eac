"""SfMData: what the fields mean depends on the version, and every number may be a text."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration import meshroom
from rayrelief.cameras.calibration.reading import Request
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.field_of_view import FieldOfView
from rayrelief.cameras.fisheye import Equidistant
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import FileError
from reference import calibrations as files

SIZE = (640, 480)
# 32 mm for 640 pixels: 20 pixels per millimetre.
LENS = (500.0, 500.0, 322.5, 239.0)


def intrinsic(**entries: Any) -> dict[str, Any]:
    usual = {"intrinsicId": "1", "width": "640", "height": "480", "sensorWidth": "32"}
    lens = {"focalLength": "25", "pixelRatio": "1", "principalPoint": ["2.5", "-1"]}
    none = {"type": "pinhole", "distortionParams": "", "undistortionParams": ""}
    return {key: value for key, value in (usual | lens | none | entries).items() if value != "drop"}


def scene(*intrinsics: Any, version: Any = ("1", "2", "9")) -> str:
    return json.dumps({"version": version, "views": [], "intrinsics": list(intrinsics)})


def test_a_file_of_meshroom(tmp_path: Path) -> None:
    reading = files.read(meshroom, tmp_path, files.MESHROOM)
    assert reading.camera == BrownConrady(
        2568, 3852, 1712 + 12.25, 1101 - 3.5, k1=-0.1, k2=0.02, k3=-0.003, size=(3424, 2202)
    )
    assert any("pixel centres at integers" in note for note in reading.notes)


@pytest.mark.parametrize(
    ("entries", "camera"),
    [
        ({}, Pinhole(*LENS, size=SIZE)),
        ({"distortionType": "none", "distortionParams": []}, Pinhole(*LENS, size=SIZE)),
        (
            {"distortionType": "radialk1", "distortionParams": ["0.1"]},
            BrownConrady(*LENS, 0.1, size=SIZE),
        ),
        (
            {"distortionType": "radialk3", "distortionParams": [0.1, 0.2, 0.3]},
            BrownConrady(*LENS, 0.1, 0.2, k3=0.3, size=SIZE),
        ),
        (
            {"distortionType": "brown", "distortionParams": [0.1, 0.2, 0.3, 0.01, 0.02]},
            BrownConrady(*LENS, 0.1, 0.2, 0.01, 0.02, 0.3, size=SIZE),
        ),
        (
            {"distortionType": "fisheye", "distortionParams": [0.1, 0.2, 0.3, 0.4]},
            KannalaBrandt(*LENS, 0.1, 0.2, 0.3, 0.4, size=SIZE),
        ),
        (
            {"distortionType": "fisheye1", "distortionParams": [0.9]},
            FieldOfView(*LENS, 0.9, size=SIZE),
        ),
        # The radial factor is divided by what it is at the radius 1.
        (
            {"distortionType": "radialk3pt", "distortionParams": [0.125, 0.25, -0.125]},
            BrownConrady(400, 400, 322.5, 239, 0.125, 0.25, k3=-0.125, size=SIZE),
        ),
        (
            {"type": "equirectangular", "distortionType": "none"},
            Equirectangular(*LENS, size=SIZE),
        ),
        ({"type": "radial1", "distortionParams": [0.1]}, BrownConrady(*LENS, 0.1, size=SIZE)),
        (
            {"type": "radial3", "distortionParams": [0.1, 0.2, 0.3]},
            BrownConrady(*LENS, 0.1, 0.2, k3=0.3, size=SIZE),
        ),
        (
            {"type": "fisheye4", "distortionParams": [0.1, 0.2, 0.3, 0.4]},
            KannalaBrandt(*LENS, 0.1, 0.2, 0.3, 0.4, size=SIZE),
        ),
    ],
)
def test_every_model(tmp_path: Path, entries: dict[str, Any], camera: Camera) -> None:
    assert files.read(meshroom, tmp_path, scene(intrinsic(**entries))).camera == camera


# The shorter side of the sensor, 16 mm, over 32 mm of focal length: a circle of 0.5 radians, and
# the distortion is one of parts of its radius. A radian is four of them.
FISHEYE = {
    **{"type": "equidistant", "focalLength": "32", "sensorHeight": "16"},
    **{"fisheyeCircleCenterX": "320", "fisheyeCircleCenterY": "240", "fisheyeCircleRadius": "200"},
}


@pytest.mark.parametrize(
    ("entries", "camera"),
    [
        ({}, Equidistant(800, 800, 322.5, 239, size=SIZE)),
        ({"distortionType": "none"}, Equidistant(800, 800, 322.5, 239, size=SIZE)),
        # Two focal lengths are not for a fisheye of AliceVision.
        ({"pixelRatio": "2"}, Equidistant(800, 800, 322.5, 239, size=SIZE)),
        (
            {"distortionType": "radialk1", "distortionParams": [0.5]},
            KannalaBrandt(800, 800, 322.5, 239, 8, size=SIZE),
        ),
        (
            {"distortionType": "radialk3", "distortionParams": [0.5, 0.25, -0.125]},
            KannalaBrandt(800, 800, 322.5, 239, 8, 64, -512, size=SIZE),
        ),
        (
            {"distortionType": "radialk3pt", "distortionParams": [0.125, 0.25, -0.125]},
            KannalaBrandt(640, 640, 322.5, 239, 2, 64, -512, size=SIZE),
        ),
        (
            {"type": "equidistant_r3", "distortionParams": [0.125, 0.25, -0.125]},
            KannalaBrandt(640, 640, 322.5, 239, 2, 64, -512, size=SIZE),
        ),
    ],
)
def test_every_fisheye_with_a_circle(
    tmp_path: Path, entries: dict[str, Any], camera: Camera
) -> None:
    reading = files.read(meshroom, tmp_path, scene(intrinsic(**(FISHEYE | entries))))
    assert reading.camera == camera
    assert any("fisheye circle of the file was not applied" in note for note in reading.notes)


@pytest.mark.parametrize(("width", "height"), [(640, 480), (480, 640)])
@pytest.mark.parametrize("distortion", ["radialk3", "radialk3pt"])
def test_a_fisheye_projects_by_the_formula_of_alicevision(
    tmp_path: Path, distortion: str, width: int, height: int
) -> None:
    k = (-0.05, 0.02, -0.004)
    sides = {"width": width, "height": height, "sensorWidth": "36", "sensorHeight": "24"}
    lens = {"focalLength": "11", "distortionType": distortion, "distortionParams": k}
    camera = files.read(meshroom, tmp_path, scene(intrinsic(**(FISHEYE | sides | lens)))).camera
    point = np.array([0.5, -0.3, 0.2])
    focal_length = 11 / 36 * width * 36 / max(width, height)  # in millimetres
    radius = math.atan2(math.hypot(0.5, 0.3), 0.2) / (0.5 * 24 / focal_length)
    factor = 1 + sum(each * radius ** (2 * power) for power, each in enumerate(k, 1))
    if distortion == "radialk3pt":
        factor /= 1 + sum(k)
    middle = (width / 2 + 2.5, height / 2 - 1)
    expected = point[:2] / math.hypot(0.5, 0.3) * radius * factor * 200 + middle
    np.testing.assert_allclose(camera.project(point), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("version", "entries", "camera"),
    [
        # The whole principal point and one focal length, in pixels.
        (
            ["1", "0", "0"],
            {"pxFocalLength": "600", "principalPoint": ["322.5", "239"]},
            Pinhole(600, 600, 322.5, 239, size=SIZE),
        ),
        (
            ["1", "2", "0"],
            {"pxFocalLength": ["600", "610"], "principalPoint": ["322.5", "239"]},
            Pinhole(600, 610, 322.5, 239, size=SIZE),
        ),
        # Offsets from the centre.
        (
            ["1", "2", "1"],
            {"pxFocalLength": ["600", "610"]},
            Pinhole(600, 610, 322.5, 239, size=SIZE),
        ),
        # Millimetres; the ratio is that of the focal lengths, and later that of the pixels.
        (["1", "2", "4"], {"pixelRatio": "2"}, Pinhole(500, 250, 322.5, 239, size=SIZE)),
        (["1", "2", "5"], {"pixelRatio": "2"}, Pinhole(500, 1000, 322.5, 239, size=SIZE)),
        (["1", "2", "10"], {"pixelRatio": "2"}, Pinhole(500, 1000, 322.5, 239, size=SIZE)),
    ],
)
def test_versions(
    tmp_path: Path, version: list[str], entries: dict[str, Any], camera: Camera
) -> None:
    text = scene(intrinsic(**entries), version=version)
    assert files.read(meshroom, tmp_path, text).camera == camera


def test_one_of_several_is_chosen_by_its_id(tmp_path: Path) -> None:
    text = scene(intrinsic(), intrinsic(intrinsicId=3486608314, focalLength="50"))
    reading = files.read(meshroom, tmp_path, text, Request(which="3486608314"))
    assert reading.camera == Pinhole(1000, 1000, 322.5, 239, size=SIZE)
    with pytest.raises(FileError, match="1, 3486608314"):
        files.read(meshroom, tmp_path, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"intrinsics": [{"intrinsicId": "1"}]}', "version is missing"),
        (scene(intrinsic(), version=["1", "2"]), "version holds 2 values; expected 3 numbers"),
        (scene(), "holds no camera"),
        (scene(intrinsic(), "x"), r"intrinsics\[1\] is not a mapping"),
        (scene(intrinsic(intrinsicId="drop")), r"intrinsics\[0\]\.intrinsicId is missing"),
        (scene(intrinsic(), intrinsic()), r"intrinsics\[1\]\.intrinsicId 1 appears twice"),
        (scene(intrinsic(width="wide")), r"intrinsics\[0\]\.width is 'wide'"),
        (scene(intrinsic(focalLength="drop")), r"intrinsics\[0\]\.focalLength is missing"),
        (scene(intrinsic(focalLength="nan")), "focalLength is 'nan'"),
        (scene(intrinsic(focalLength="-1")), "focalLength is -1"),
        (
            scene(intrinsic(pxFocalLength="0"), version=["1", "0", "0"]),
            r"intrinsics\[0\]\.pxFocalLength is 0",
        ),
        (scene(intrinsic(sensorWidth="0")), "sensorWidth is 0"),
        (scene(intrinsic(pixelRatio="-1")), "pixelRatio is -1"),
        (scene(intrinsic(principalPoint=["1"])), "principalPoint holds 1 values; expected 2"),
        (scene(intrinsic(type="mirror")), "type is 'mirror'; expected one of pinhole, radial1"),
        (scene(intrinsic(type="equidistant")), "sensorHeight is missing"),
        (
            scene(intrinsic(**(FISHEYE | {"fisheyeCircleRadius": "0"}))),
            "fisheyeCircleRadius is 0",
        ),
        (
            scene(intrinsic(**(FISHEYE | {"fisheyeCircleRadius": "drop"}))),
            "fisheyeCircleRadius is missing",
        ),
        (
            scene(
                intrinsic(
                    **(FISHEYE | {"focalLength": "1e300", "distortionType": "radialk3"}),
                    distortionParams=[0, 0, 1],
                )
            ),
            "intrinsicId 1, holds",
        ),
        (
            scene(intrinsic(**FISHEYE, distortionType="brown")),
            "distortionType is 'brown' for the type 'equidistant'; expected one of none, radialk1",
        ),
        (
            scene(intrinsic(type="equirectangular", distortionType="radialk1")),
            "'radialk1' for the type 'equirectangular'; expected one of none",
        ),
        (scene(intrinsic(type="3deanamorphic4")), "type is '3deanamorphic4'"),
        (
            scene(intrinsic(type="radial1", distortionType="none")),
            "type is 'radial1'; expected one of pinhole, equidistant, equirectangular",
        ),
        (scene(intrinsic(distortionType="3deradial4")), "distortionType is '3deradial4' for"),
        (
            scene(intrinsic(distortionType="radialk3pt", distortionParams=[-1, 0.5, -0.75])),
            "distortionParams has 1 .* k3 = -0.25; expected a positive factor at the radius 1",
        ),
        (
            scene(intrinsic(distortionType="none", undistortionType="3declassicld")),
            "undistortionType is '3declassicld'; expected none",
        ),
        (
            scene(intrinsic(distortionType="radialk3", distortionParams=["1", "2"])),
            "distortionParams holds 2 values; expected 3 numbers",
        ),
        (scene(intrinsic(distortionType="radialk3")), "distortionParams is ''"),
        (scene(intrinsic(distortionParams=["0.1"])), "distortionParams holds 1 values; expected 0"),
        (
            scene(intrinsic(pxFocalLength="600"), version=["1", "2", "1"]),
            "pxFocalLength is '600'",
        ),
        (files.MESHROOM[:500], "is not valid JSON"),
        (" ", "is empty"),
    ],
)
def test_broken_files(tmp_path: Path, text: str, words: str) -> None:
    files.check_broken(meshroom, tmp_path, text, words)
