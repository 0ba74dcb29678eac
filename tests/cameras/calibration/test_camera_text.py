"""Cameras typed on the command line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.calibration import parse_camera
from rayrelief.cameras.cylindrical import Cylindrical
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import InputError


@given(st.floats(13, 1e8), st.floats(13, 1e8), st.floats(260, 440), st.floats(170, 290))
def test_four_numbers_are_a_pinhole(fx, fy, cx, cy):
    assert parse_camera(f"{fx},{fy}, {cx},{cy}", 480, 640) == Pinhole(fx, fy, cx, cy)


@pytest.mark.parametrize(
    ("text", "pixel_size"),
    [("orthographic", 1.0), (" Orthographic ", 1.0), ("orthographic:0.25", 0.25)],
)
def test_orthographic_looks_along_the_centre(text, pixel_size):
    assert parse_camera(text, 480, 640) == Orthographic(pixel_size, 319.5, 239.5)


@pytest.mark.parametrize(
    "text",
    ["", "1,2,3", "1,2,3,4,5", "a,b,c,d", "orthographic:", "orthographic:x", "ortho", "pinhole:1"],
)
def test_anything_else_names_the_options(text):
    words = r"cannot be understood; expected 'fx,fy,cx,cy'.*'orthographic:PIXEL_SIZE'"
    with pytest.raises(InputError, match=words):
        parse_camera(text, 480, 640)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,1,2,3", "focal lengths fx = 0.0"),
        ("nan,1,2,3", "fx = nan"),
        ("1,1,5000,3", "principal point at .5000, 3., far outside"),
        ("orthographic:-1", "pixel size of -1.0"),
    ],
)
def test_cameras_that_cannot_be_are_refused(text, words):
    with pytest.raises(InputError, match=words):
        parse_camera(text, 480, 640)


@pytest.mark.parametrize(
    ("text", "focal"),
    [("focal:3700", 3700.0), ("focal:50mm/36mm", 50 / 36 * 640), ("Focal: 12", 12.0)],
)
def test_focal_lengths(text, focal):
    assert parse_camera(text, 480, 640) == Pinhole(focal, focal, 319.5, 239.5)


@pytest.mark.parametrize("text", ["focal:50mm", "focal:50mm/36", "focal:50/36mm", "focal:50mm/0mm"])
def test_lengths_without_their_units_are_not_understood(text):
    with pytest.raises(InputError, match="cannot be understood"):
        parse_camera(text, 480, 640)


def test_panoramas():
    assert parse_camera("equirectangular", 50, 100) == Equirectangular.full(50, 100)
    assert parse_camera("Cylindrical", 50, 100) == Cylindrical.full(50, 100)
