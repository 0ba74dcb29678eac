"""Blender's settings, and the camera files of BlenderProc in the BOP format."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration import blender
from rayrelief.cameras.calibration.reading import Request
from rayrelief.cameras.cylindrical import Cylindrical
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.fisheye import Equidistant, Equisolid
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.polynomial_fisheye import PolynomialFisheye
from rayrelief.errors import FileError
from reference import calibrations as files

WIDE, HIGH, SQUARE = (640, 480), (480, 640), (480, 480)
TURN = 6.2831854820251465  # 2 pi in single precision
# Of a new camera in Blender, whose numbers are of single precision.
POLYNOMIAL: dict[str, Any] = {
    "fisheye_polynomial_k0": -1.1735143720090855e-05,
    "fisheye_polynomial_k1": -0.019988737627863884,
    "fisheye_polynomial_k2": -3.3525322592811337e-06,
    "fisheye_polynomial_k3": 3.099275204470847e-06,
    "fisheye_polynomial_k4": -2.606464558709945e-08,
}


def blender_settings(size: tuple[int, int] = WIDE, **entries: Any) -> str:
    usual = {"lens": 50, "sensor_width": 40, "sensor_height": 25}
    return json.dumps({"resolution_x": size[0], "resolution_y": size[1]} | usual | entries)


def panorama(kind: str, size: tuple[int, int] = WIDE, **entries: Any) -> str:
    return blender_settings(size, type="PANO", panorama_type=kind, **entries)


def test_settings_as_blender_has_them(tmp_path: Path) -> None:
    reading = files.read(blender, tmp_path, files.BLENDER)
    f = 50 * 960 / 36
    assert reading.camera == Pinhole(f, f, 479.5, 269.5, size=(960, 540))
    assert any("from .5 to integers" in note for note in reading.notes)


@pytest.mark.parametrize(
    ("text", "camera"),
    [
        (blender_settings(), Pinhole(800, 800, 319.5, 239.5, size=WIDE)),
        # AUTO fits the width of the sensor to the longer side.
        (blender_settings(HIGH), Pinhole(800, 800, 239.5, 319.5, size=HIGH)),
        (
            blender_settings(HIGH, sensor_fit="HORIZONTAL"),
            Pinhole(600, 600, 239.5, 319.5, size=HIGH),
        ),
        (
            blender_settings(WIDE, sensor_fit="VERTICAL"),
            Pinhole(960, 960, 319.5, 239.5, size=WIDE),
        ),
        # The picture moves right and up by fractions of the fitted side, the axis left and down.
        (
            blender_settings(shift_x=0.1, shift_y=0.05),
            Pinhole(800, 800, 319.5 - 64, 239.5 + 32, size=WIDE),
        ),
        (
            blender_settings(HIGH, shift_x=0.1, shift_y=0.05),
            Pinhole(800, 800, 239.5 - 64, 319.5 + 32, size=HIGH),
        ),
        # Pixels of twice the height: half as many of them for the same angle.
        (
            blender_settings(sensor_fit="HORIZONTAL", pixel_aspect_y=2, shift_y=0.05),
            Pinhole(800, 400, 319.5, 239.5 + 16, size=WIDE),
        ),
        (blender_settings(pixel_aspect_y=2), Pinhole(1200, 600, 319.5, 239.5, size=WIDE)),
        (
            blender_settings(resolution_percentage=25),
            Pinhole(200, 200, 79.5, 59.5, size=(160, 120)),
        ),
        (
            blender_settings(type="ORTHO", ortho_scale=6.4, shift_x=0.1),
            Orthographic(6.4 / 640, 319.5 - 64, 239.5, size=WIDE),
        ),
        (
            blender_settings(HIGH, type="ORTHO", ortho_scale=6.4),
            Orthographic(6.4 / 640, 239.5, 319.5, size=HIGH),
        ),
        (
            blender_settings(type="PANO", panorama_type="EQUIRECTANGULAR", longitude_min=-3.141593),
            Equirectangular.full(480, 640),
        ),
        (
            blender_settings(
                SQUARE, type="PANO", panorama_type="FISHEYE_EQUIDISTANT", fisheye_fov=3
            ),
            Equidistant(160, 160, 239.5, 239.5, size=SQUARE, widest=1.5),
        ),
        # A part of the sphere: from the axis to 1 radian right, from 0.25 below to 0.75 above.
        (
            panorama(
                "EQUIRECTANGULAR",
                longitude_min=0,
                longitude_max=1,
                latitude_min=-0.25,
                latitude_max=0.75,
            ),
            Equirectangular(640, 480, -0.5, 359.5, size=WIDE),
        ),
        (
            panorama("EQUIRECTANGULAR", latitude_min=0, latitude_max=1.5707963705062866),
            Equirectangular(320 / math.pi, 960 / math.pi, 319.5, 479.5, size=WIDE),
        ),
        (panorama("CENTRAL_CYLINDRICAL"), Cylindrical(320 / math.pi, 240, 319.5, 239.5, size=WIDE)),
        (
            panorama(
                "CENTRAL_CYLINDRICAL",
                central_cylindrical_range_u_min=-1,
                central_cylindrical_range_u_max=3,
                central_cylindrical_range_v_min=-3,
                central_cylindrical_range_v_max=5,
                central_cylindrical_radius=2,
            ),
            Cylindrical(160, 120, 159.5, 299.5, size=WIDE),
        ),
        # The circle is stretched to an ellipse that fills the image, of whatever pixels.
        (
            panorama("FISHEYE_EQUIDISTANT", fisheye_fov=4, pixel_aspect_y=2),
            Equidistant(160, 120, 319.5, 239.5, size=WIDE, widest=2),
        ),
        (
            panorama("FISHEYE_EQUIDISTANT", fisheye_fov=TURN),
            Equidistant(640 / TURN, 480 / TURN, 319.5, 239.5, size=WIDE, widest=math.pi),
        ),
        (
            panorama("FISHEYE_EQUISOLID", fisheye_lens=10, fisheye_fov=3),
            Equisolid(160, 160, 319.5, 239.5, size=WIDE, widest=1.5),
        ),
        # 640 pixels are 40 mm: the radius is in millimetres, and the sign is the other one.
        (
            panorama("FISHEYE_LENS_POLYNOMIAL", fisheye_fov=3, **POLYNOMIAL),
            PolynomialFisheye(
                *(16, 16, 319.5, 239.5, *(-k for k in POLYNOMIAL.values())), size=WIDE, widest=1.5
            ),
        ),
        (
            panorama(
                "FISHEYE_LENS_POLYNOMIAL",
                sensor_fit="VERTICAL",
                fisheye_fov=3,
                pixel_aspect_x=2,
                **POLYNOMIAL,
            ),
            PolynomialFisheye(
                *(9.6, 19.2, 319.5, 239.5, *(-k for k in POLYNOMIAL.values())),
                size=WIDE,
                widest=1.5,
            ),
        ),
    ],
)
def test_every_setting(tmp_path: Path, text: str, camera: Camera) -> None:
    assert files.read(blender, tmp_path, text).camera == camera


def test_the_field_of_view_is_that_of_the_longer_side(tmp_path: Path) -> None:
    camera = files.read(blender, tmp_path, blender_settings(lens=20)).camera
    left = camera.directions(camera.project([[-1.0, 0.0, 1.0]]))
    assert camera.project([[-1.0, 0.0, 1.0]])[0, 0] == pytest.approx(-0.5)  # the very border
    assert math.atan2(-left[0, 0], left[0, 2]) == pytest.approx(math.atan(20 / 20))


@pytest.mark.parametrize("kind", ["FISHEYE_EQUIDISTANT", "FISHEYE_EQUISOLID"])
def test_cycles_renders_nothing_beyond_the_field_of_view(tmp_path: Path, kind: str) -> None:
    text = blender_settings(SQUARE, type="PANO", panorama_type=kind, fisheye_fov=3, fisheye_lens=5)
    camera = files.read(blender, tmp_path, text).camera
    angles = np.array([0.0, 1.4999, 1.5001, 3.0])
    points = np.stack((np.sin(angles), np.zeros(4), np.cos(angles)), axis=1)
    assert np.isfinite(camera.project(points)).all(axis=1).tolist() == [True, True, False, False]
    unit = camera.unit_rays(480, 480)
    seen = np.isfinite(unit).all(axis=2)
    assert not seen.all()
    assert np.arccos(unit[seen, 2]).max() == pytest.approx(1.5, abs=0.01)


def on_sphere(longitude: float, latitude: float) -> tuple[float, float, float]:
    """Direction to the right, up and forward."""
    across = math.cos(latitude)
    return across * math.sin(longitude), math.sin(latitude), across * math.cos(longitude)


def off_axis(x: float, y: float, angle: float) -> tuple[float, float, float]:
    """Direction at an angle off the axis, towards (x, y), to the right, up and forward."""
    across = math.sin(angle) / math.hypot(x, y)
    return across * x, across * y, math.cos(angle)


@pytest.mark.parametrize(("u", "v"), [(0.5, 0.75), (0.3, 0.45), (0.62, 0.39)])
def test_rays_are_those_of_cycles(tmp_path: Path, u: float, v: float) -> None:
    """In fractions of the image from its lower left corner, as the formulas of Cycles are."""
    lens = {"fisheye_fov": 3.5, "fisheye_lens": 12, **POLYNOMIAL}
    sector: dict[str, Any] = {
        "longitude_min": -1,
        "longitude_max": 2,
        "latitude_min": -0.5,
        "latitude_max": 1,
    }
    sector |= {"central_cylindrical_range_v_min": -0.5, "central_cylindrical_radius": 1.5}
    x, y = u - 0.5, v - 0.5
    turn = 2 * math.pi * x
    # Higher than wide, in pixels that are higher than wide: AUTO fits 40 mm to the height.
    across, up = x * 40 * 640 / 720, y * 40
    r = math.hypot(across, up)
    polynomial = -sum(k * r**power for power, k in enumerate(POLYNOMIAL.values()))
    for kind, expected in {
        "EQUIRECTANGULAR": on_sphere(-1 + 3 * u, -0.5 + 1.5 * v),
        "CENTRAL_CYLINDRICAL": (math.sin(turn), (-0.5 + 1.5 * v) / 1.5, math.cos(turn)),
        "FISHEYE_EQUIDISTANT": off_axis(x, y, 3.5 * math.hypot(x, y)),
        "FISHEYE_EQUISOLID": off_axis(across, up, 2 * math.asin(r / 24)),
        "FISHEYE_LENS_POLYNOMIAL": off_axis(across, up, polynomial),
    }.items():
        text = panorama(kind, pixel_aspect_y=1.5, **lens, **sector)
        camera = files.read(blender, tmp_path, text).camera
        ray = camera.directions(np.array([640 * u - 0.5, 480 * (1 - v) - 0.5]))
        np.testing.assert_allclose(ray * (1, -1, 1), expected, rtol=1e-9, atol=1e-12, err_msg=kind)


def test_a_bop_camera_keeps_its_matrix(tmp_path: Path) -> None:
    reading = files.read(blender, tmp_path, files.BOP_CAMERA)
    assert reading.camera == Pinhole(
        572.4114, 573.57043, 325.2611082792282, 242.04899594187737, size=(640, 480)
    )
    assert any("BOP" in note for note in reading.notes)


def test_a_bop_scene_has_a_camera_for_every_image(tmp_path: Path) -> None:
    reading = files.read(blender, tmp_path, files.BOP_SCENE, Request(which="1"))
    assert reading.camera == Pinhole(1700.5, 1701, 960.25, 540.5)
    with pytest.raises(FileError, match="2 cameras that differ: 0, 1"):
        files.read(blender, tmp_path, files.BOP_SCENE)
    same = json.dumps({str(i): json.loads(files.BOP_SCENE)["0"] for i in range(3)})
    assert files.read(blender, tmp_path, same).camera == Pinhole(1778.5, 1779, 967.25, 572.5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (blender_settings(lens=None), "lens is missing"),
        (blender_settings(lens="long"), "lens is 'long'"),
        (blender_settings(lens=math.nan), "lens is nan"),
        (blender_settings(lens=-5), "lens is -5"),
        (blender_settings(sensor_width=0), "sensor_width is 0"),
        (blender_settings(sensor_fit="BOTH"), "sensor_fit is 'BOTH'; expected one of AUTO"),
        (blender_settings(type="FISH"), "type is 'FISH'; expected one of PERSP, ORTHO, PANO"),
        (blender_settings(resolution_y=None), "resolution_y is missing"),
        (blender_settings(resolution_percentage=33), "resolution_x is 211.2 pixels at"),
        (blender_settings(resolution_x=1e308), "resolution_x is inf pixels at"),
        (blender_settings(pixel_aspect_x=0), "pixel_aspect_x is 0"),
        (blender_settings(pixel_aspect_y=-1), "pixel_aspect_y is -1"),
        (
            blender_settings(pixel_aspect_x=1e300, pixel_aspect_y=1e-300),
            "pixel_aspect_y is too small next to pixel_aspect_x",
        ),
        (blender_settings(type="ORTHO"), "ortho_scale is missing"),
        (blender_settings(type="ORTHO", ortho_scale=0), "ortho_scale is 0"),
        (blender_settings(type="ORTHO", ortho_scale=1, pixel_aspect_y=2), "expected square pixels"),
        (blender_settings(type="PANO"), "panorama_type is missing"),
        (
            blender_settings(type="PANO", panorama_type="MIRRORBALL"),
            "is 'MIRRORBALL'",
        ),
        (panorama("EQUIRECTANGULAR", latitude_min=-2), "latitude_min is -2"),
        (
            panorama("EQUIRECTANGULAR", latitude_min=1, latitude_max=1),
            "latitude_max is 1; expected a number above latitude_min, which is 1",
        ),
        (
            panorama("EQUIRECTANGULAR", longitude_min=2, longitude_max=1),
            "longitude_max is 1; expected a number above longitude_min, which is 2",
        ),
        (
            panorama("EQUIRECTANGULAR", longitude_min=-4),
            "longitude_max is 3.14159; expected at most 2 pi above longitude_min, which is -4",
        ),
        (panorama("EQUIRECTANGULAR", longitude_min="west"), "longitude_min is 'west'; expected"),
        (
            panorama("CENTRAL_CYLINDRICAL", central_cylindrical_radius=0),
            "central_cylindrical_radius is 0",
        ),
        (
            panorama("FISHEYE_EQUISOLID", fisheye_fov=3, fisheye_lens=-10),
            "fisheye_lens is -10",
        ),
        (
            panorama("CENTRAL_CYLINDRICAL", central_cylindrical_range_v_min=1),
            "central_cylindrical_range_v_max is 1",
        ),
        (
            panorama("CENTRAL_CYLINDRICAL", central_cylindrical_range_u_max=7),
            "central_cylindrical_range_u_max is 7; expected at most 2 pi above",
        ),
        (
            panorama("FISHEYE_LENS_POLYNOMIAL", fisheye_fov=3),
            "fisheye_polynomial_k0 is missing",
        ),
        (
            panorama(
                "FISHEYE_LENS_POLYNOMIAL",
                fisheye_fov=3,
                **(POLYNOMIAL | {"fisheye_polynomial_k1": 0.02}),
            ),
            "fisheye_polynomial_k1 is 0.02; expected a negative number",
        ),
        (
            panorama("FISHEYE_LENS_POLYNOMIAL", fisheye_fov=3, sensor_width=0, **POLYNOMIAL),
            "sensor_width is 0",
        ),
        (
            blender_settings(type="PANO", panorama_type="EQUIRECTANGULAR", shift_x=0.1),
            "shift_x is 0.1; expected 0 for a panorama",
        ),
        (
            blender_settings(
                SQUARE, type="PANO", panorama_type="FISHEYE_EQUIDISTANT", fisheye_fov=7
            ),
            "fisheye_fov is 7; expected an angle up to 2 pi, in radians",
        ),
        (
            blender_settings(type="PANO", panorama_type="FISHEYE_EQUISOLID", fisheye_lens=10),
            "fisheye_fov is missing",
        ),
        (files.changed(files.BOP_CAMERA, ('"height": 480,', "")), "height is missing"),
        (files.changed(files.BOP_CAMERA, ("572.4114", '"x"')), "fx is 'x'"),
        (
            files.changed(files.BOP_CAMERA, ("573.57043", "0")),
            "fy is 0",
        ),
        (files.changed(files.BOP_SCENE, ("[1700.5, 0.0,", "[1700.5,")), "1.cam_K has 1 rows of 8"),
        (files.changed(files.BOP_SCENE, ("[1700.5, 0.0,", "[1700.5, null,")), r"1\.cam_K\[1\] is"),
        (
            files.changed(files.BOP_SCENE, ("540.5, 0.0, 0.0, 1.0", "540.5, 0.0, 0.0, 2.0")),
            "1.cam_K is .*; expected a camera matrix fx 0 cx, 0 fy cy, 0 0 1",
        ),
        (
            files.changed(files.BOP_SCENE, ("1700.5", "-1700.5")),
            "entry 1, holds focal lengths fx = -1700",
        ),
        (files.BLENDER[:100], "is not valid JSON"),
        (" ", "is empty"),
    ],
)
def test_broken_files(tmp_path: Path, text: str, words: str) -> None:
    files.check_broken(blender, tmp_path, text, words)
