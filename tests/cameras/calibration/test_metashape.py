"""Metashape's XML: offsets from the centre, swapped p1 and p2, affinity, several sensors."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration import metashape
from rayrelief.cameras.calibration.reading import Request
from rayrelief.cameras.cylindrical import Cylindrical
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.fisheye import Equisolid
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.metashape_lens import (
    MetashapeEquidistant,
    MetashapeEquisolid,
    MetashapeFrame,
)
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.thin_prism_fisheye import ThinPrismFisheye
from rayrelief.conventions import FloatArray
from rayrelief.errors import FileError
from reference import calibrations as files

SIZE = (640, 480)
CENTRED = (500, 500, 319.5, 239.5)


def calibration(kind: str = "frame", **values: object) -> str:
    """An exported calibration of 640x480 pixels; None drops a tag."""
    tags: dict[str, object] = {"projection": kind, "width": 640, "height": 480, "f": 500, **values}
    lines = [f"  <{tag}>{value}</{tag}>\n" for tag, value in tags.items() if value is not None]
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<calibration>\n{"".join(lines)}</calibration>\n'
    )


def test_an_exported_calibration(tmp_path: Path) -> None:
    reading = files.read(metashape, tmp_path, files.METASHAPE_CALIBRATION)
    assert reading.camera == BrownConrady(
        *(1430.625, 1430.125, 959.5 - 24.25, 539.5 + 17.5),
        *(-0.118322055927498, 0.293632083518507),
        p1=0.00182154893322038,
        p2=0.000330080086304322,
        k3=-0.01,
        skew=-4.25,
        size=(1920, 1080),
    )
    assert any("width / 2 - 0.5" in note for note in reading.notes)
    assert any("OpenCV's p2 and p1" in note for note in reading.notes)


LENS = {
    **{"cx": -24.25, "cy": 17.5, "b1": 0.5, "b2": -4.25},
    **{"k1": -0.11, "k2": 0.05, "k3": -0.01, "k4": 0.002},
    **{"p1": 0.003, "p2": -0.002, "p3": 0.8, "p4": -0.3},
}
NO_GROWTH = LENS | {"p3": 0.0, "p4": 0.0}


def manual_pixels(x: FloatArray, y: FloatArray, lens: dict[str, float]) -> FloatArray:
    """Pixels (n, 2) of points of the undistorted plane, as the manual's formulas have them."""
    k1, k2, k3, k4 = (lens[key] for key in ("k1", "k2", "k3", "k4"))
    p1, p2, p3, p4 = (lens[key] for key in ("p1", "p2", "p3", "p4"))
    r2 = x**2 + y**2
    radial = 1 + k1 * r2 + k2 * r2**2 + k3 * r2**3 + k4 * r2**4
    growth = 1 + p3 * r2 + p4 * r2**2
    xd = x * radial + (p1 * (r2 + 2 * x**2) + 2 * p2 * x * y) * growth
    yd = y * radial + (p2 * (r2 + 2 * y**2) + 2 * p1 * x * y) * growth
    u = 640 * 0.5 + lens["cx"] + xd * 500 + xd * lens["b1"] + yd * lens["b2"]
    v = 480 * 0.5 + lens["cy"] + yd * 500
    return np.stack((u, v), axis=1)


@pytest.mark.parametrize(
    ("kind", "lens", "model"),
    [
        ("frame", LENS, MetashapeFrame),
        ("frame", NO_GROWTH | {"k4": 0.0}, BrownConrady),
        ("fisheye", LENS, MetashapeEquidistant),
        ("equidistant_fisheye", LENS, MetashapeEquidistant),
        ("equidistant_fisheye", NO_GROWTH, ThinPrismFisheye),
        ("equisolid_fisheye", LENS, MetashapeEquisolid),
    ],
)
def test_pixels_are_those_of_the_manual(
    tmp_path: Path, kind: str, lens: dict[str, float], model: type[Camera]
) -> None:
    camera = files.read(metashape, tmp_path, calibration(kind, **lens)).camera
    assert type(camera) is model
    seed = np.random.SeedSequence().entropy
    x, y = np.random.default_rng(seed).uniform(-0.7, 0.7, (2, 100))
    points = np.stack((x, y, np.ones_like(x)), axis=1)
    r = np.hypot(x, y)
    angle = np.arctan(r)
    radius = {"frame": r, "equisolid_fisheye": 2 * np.sin(angle / 2)}.get(kind, angle)
    expected = manual_pixels(x * radius / r, y * radius / r, lens)
    found = camera.project(points)
    # The manual's first pixel has its centre at (0.5, 0.5).
    np.testing.assert_allclose(found + 0.5, expected, rtol=0, atol=1e-9, err_msg=str(seed))
    rays = camera.directions(found)
    np.testing.assert_allclose(rays / rays[:, 2:], points, rtol=0, atol=1e-9, err_msg=str(seed))


def test_a_cylinder_has_azimuth_and_height(tmp_path: Path) -> None:
    camera = files.read(metashape, tmp_path, calibration("cylindrical")).camera
    x, y, z = 3.0, -0.7, -4.0
    u = 640 * 0.5 + 500 * (math.pi - math.atan(3 / 4))
    v = 480 * 0.5 + 500 * -0.7 / 5
    np.testing.assert_allclose(camera.project([x, y, z]) + 0.5, (u, v), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "camera"),
    [
        (calibration(), Pinhole(500, 500, 319.5, 239.5, size=SIZE)),
        (calibration(b1=2, k4=0), Pinhole(502, 500, 319.5, 239.5, size=SIZE)),
        (calibration(k3=0.1), BrownConrady(500, 500, 319.5, 239.5, k3=0.1, size=SIZE)),
        (
            calibration(k1=0.1, k2=0.2, k3=0.3, k4=0.4, p1=0.01, p2=0.02, b2=3),
            MetashapeFrame(*CENTRED, 0.1, 0.2, 0.3, 0.4, 0.01, 0.02, skew=3, size=SIZE),
        ),
        (
            calibration(p2=0.02, p3=0.5, p4=-0.25, b1=2),
            MetashapeFrame(502, 500, 319.5, 239.5, p2=0.02, p3=0.5, p4=-0.25, size=SIZE),
        ),
        (calibration(k2=0.1, p3=0.5), BrownConrady(*CENTRED, k2=0.1, size=SIZE)),
        (
            calibration("fisheye", cx=1, b2=3, k1=0.1, k2=0.2, k3=0.3, k4=0.4),
            KannalaBrandt(500, 500, 320.5, 239.5, 0.1, 0.2, 0.3, 0.4, skew=3, size=SIZE),
        ),
        (
            calibration("equidistant_fisheye", k1=0.1, p1=0.01, p2=0.02),
            ThinPrismFisheye(500, 500, 319.5, 239.5, 0.1, 0, 0.02, 0.01, size=SIZE),
        ),
        (
            calibration("equidistant_fisheye", k4=0.1, p1=0.01, p2=0.02, p3=0.3, p4=0.4),
            MetashapeEquidistant(*CENTRED, 0, 0, 0, 0.1, 0.01, 0.02, 0.3, 0.4, size=SIZE),
        ),
        (calibration("equisolid_fisheye", cy=-2), Equisolid(500, 500, 319.5, 237.5, size=SIZE)),
        (
            calibration("equisolid_fisheye", k3=0.1),
            MetashapeEquisolid(*CENTRED, k3=0.1, size=SIZE),
        ),
        (
            calibration("equisolid_fisheye", cx=1, b2=-1, p1=0.01, p4=0.2),
            MetashapeEquisolid(500, 500, 320.5, 239.5, p1=0.01, p4=0.2, skew=-1, size=SIZE),
        ),
        (calibration("cylindrical", cx=0, k1=0), Cylindrical(*CENTRED, size=SIZE)),
        (
            calibration("spherical", f=480 / math.pi),
            Equirectangular(480 / math.pi, 480 / math.pi, 319.5, 239.5, size=SIZE),
        ),
        (calibration("spherical", f=None, width=960), Equirectangular.full(480, 960)),
    ],
)
def test_every_model(tmp_path: Path, text: str, camera: Camera) -> None:
    assert files.read(metashape, tmp_path, text).camera == camera


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (calibration(k4=0.1), []),
        (calibration(p1=0.1), ["OpenCV's p2 and p1"]),
        (calibration(p1=0.1, k4=0.1), []),  # the camera has them in Metashape's order
        (calibration(p1=0.1, p4=0.1), ["factor 1 + P3 r^2 + P4 r^4"]),
        (calibration("equidistant_fisheye", p3=0.1), ["no effect"]),
        (calibration("equidistant_fisheye", p1=0.1), ["OpenCV's p2 and p1"]),
        (calibration("fisheye"), ["read as equidistant"]),
        (calibration("cylindrical"), ["azimuth and height"]),
        (calibration("spherical"), []),
    ],
)
def test_what_was_assumed_is_told(tmp_path: Path, text: str, notes: list[str]) -> None:
    first, *found = files.read(metashape, tmp_path, text).notes
    assert "width / 2 - 0.5" in first
    assert all(note in each for note, each in zip(notes, found, strict=True))


def test_the_adjusted_calibration_of_the_only_calibrated_sensor(tmp_path: Path) -> None:
    camera = files.read(metashape, tmp_path, files.METASHAPE_CAMERAS).camera
    assert camera == BrownConrady(
        8196.75, 8196.75, 4111, 2745.75, -0.044669927911113239, size=(8192, 5460)
    )


@pytest.mark.parametrize(
    ("classes", "chosen"),
    [
        (["initial", "adjusted", None], "adjusted"),
        (["adjusted", None, "initial"], "adjusted"),
        (["initial", None], "initial"),
        ([None, "initial"], "initial"),
        ([None, "adjusted"], "adjusted"),
        ([None, "other"], None),
    ],
)
def test_of_the_calibrations_of_a_sensor_the_latest_is_taken(
    tmp_path: Path, classes: list[str | None], chosen: str | None
) -> None:
    calibrations = "".join(
        f'<calibration type="frame" class="{kind}"><resolution width="640" height="480"/>'
        f"<f>{500 + index}</f></calibration>"
        for index, kind in enumerate(classes)
    ).replace(' class="None"', "")
    text = (
        f'<document><chunk><sensor id="0" type="frame">{calibrations}</sensor></chunk></document>'
    )
    f = 500 + classes.index(chosen)
    assert files.read(metashape, tmp_path, text).camera == Pinhole(f, f, 319.5, 239.5, size=SIZE)


def test_one_of_several_sensors_is_chosen(tmp_path: Path) -> None:
    second = '<calibration type="frame"><resolution width="4" height="3"/><f>5</f></calibration>'
    size = '<resolution width="4032" height="3024"/>'
    text = files.changed(files.METASHAPE_CAMERAS, (size, size + second))
    camera = Pinhole(5, 5, 1.5, 1, size=(4, 3))
    assert files.read(metashape, tmp_path, text, Request(which="1")).camera == camera
    assert files.read(metashape, tmp_path, text, Request(height=3, width=4)).camera == camera
    with pytest.raises(FileError, match="2 cameras that differ: 0, 1"):
        files.read(metashape, tmp_path, text)


def test_sensors_of_several_chunks_keep_apart(tmp_path: Path) -> None:
    start, end = files.METASHAPE_CAMERAS.index("  <chunk"), len("  </chunk>\n</document>\n")
    chunk = files.METASHAPE_CAMERAS[start : -end + len("  </chunk>\n")]
    other = files.changed(chunk, ("Chunk 1", "Chunk 2"), ("8196.75", "8000"))
    text = files.METASHAPE_CAMERAS[:start] + chunk + other + "</document>\n"
    camera = files.read(metashape, tmp_path, text, Request(which="Chunk 2/0")).camera
    assert isinstance(camera, BrownConrady)
    assert camera.fx == 8000
    alike = files.changed(text, ("Chunk 2", "Chunk 1"))
    with pytest.raises(FileError, match="0/0, 1/0"):
        files.read(metashape, tmp_path, alike)
    assert files.read(metashape, tmp_path, alike, Request(which="1/0")).camera == camera


def test_a_panorama_needs_no_calibration_but_its_resolution(tmp_path: Path) -> None:
    text = files.changed(
        files.METASHAPE_CAMERAS,
        ('label="unknown" type="frame"', 'label="unknown" type="spherical"'),
        ('<resolution width="4032" height="3024"/>', '<resolution width="6000" height="3000"/>'),
    )
    camera = files.read(metashape, tmp_path, text, Request(which="1")).camera
    assert camera == Equirectangular.full(3000, 6000)
    broken = files.changed(text, ('<resolution width="6000" height="3000"/>', ""))
    files.check_broken(
        *(metashape, tmp_path, broken, r"sensor 1: calibration\.width is missing"),
        Request(which="1"),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (calibration(f=None), r"calibration\.f is missing"),
        (calibration(f="long"), r"calibration\.f is 'long'"),
        (calibration(cx="nan"), r"calibration\.cx is 'nan'"),
        (calibration(f=-5), r"calibration\.f is -5"),
        (calibration("equisolid_fisheye", f=0), r"calibration\.f is 0"),
        (calibration("spherical", f=-1), r"calibration\.f is -1"),
        (
            calibration(b1=-500),
            r"calibration\.b1 is -500; expected a number above -f, which is -500",
        ),
        (calibration(width=None), r"calibration\.width is missing"),
        (calibration(height="0"), "height is 0"),
        (calibration("rpc"), "projection is 'rpc'; expected one of frame"),
        (calibration(k4="much"), r"calibration\.k4 is 'much'"),
        (calibration(p3="nan"), r"calibration\.p3 is 'nan'"),
        (calibration("fisheye", p4="inf"), r"calibration\.p4 is 'inf'"),
        (
            calibration("equisolid_fisheye", k1=""),
            r"calibration\.k1 is ''",
        ),
        (calibration("cylindrical", f=None), r"calibration\.f is missing"),
        (calibration("cylindrical", f=0), r"calibration\.f is 0"),
        (calibration("cylindrical", cy=1), "cy is 1; expected 0: this term"),
        (calibration("cylindrical", k1=0.1), r"k1 is 0\.1; expected 0"),
        (calibration("spherical", p3=0.1), r"p3 is 0\.1; expected 0"),
        (calibration("spherical", cx=1), "cx is 1; expected 0"),
        (calibration("spherical", f=None), "f is missing; expected the pixels per radian"),
        (calibration(fx=500, skew=1), "fx is not a known entry; expected only b1, b2, cx"),
        (calibration(corrections=""), "corrections is not a known entry"),
        (
            files.changed(files.METASHAPE_CAMERAS, ("<f>8196.75</f>", "<f>8196,75</f>")),
            r"sensor 0: calibration\.f is '8196,75'",
        ),
        (
            files.changed(
                files.METASHAPE_CAMERAS,
                ('id="1" label="unknown" type="frame"', 'id="0" label="b" type="spherical"'),
            ),
            "the sensor 0 appears twice",
        ),
        ("<document><sensor id='0'/></document>", "no sensor has a calibration"),
        (files.METASHAPE_CALIBRATION[:200], "is not valid XML"),
        (" ", "is empty"),
    ],
)
def test_broken_files(tmp_path: Path, text: str, words: str) -> None:
    files.check_broken(metashape, tmp_path, text, words)
