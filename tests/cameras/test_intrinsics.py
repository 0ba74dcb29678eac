"""A camera and an image that cannot belong together."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.intrinsics import IntrinsicCamera, check_against_image
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import CameraError

SIDE = st.integers(20, 4000)
NEAR = st.floats(0.951, 1.049)


def middle(width: int, height: int, x: float = 1, y: float = 1) -> Pinhole:
    """Camera of an image, whose principal point is this much off its middle."""
    return Pinhole(900, 900, x * width / 2 - 0.5, y * height / 2 - 0.5)


@given(SIDE, SIDE, NEAR, NEAR)
def test_a_camera_of_the_image_turned_on_its_side_is_refused(
    width: int, height: int, x: float, y: float
) -> None:
    assume(max(width, height) > 1.15 * min(width, height))
    assume(max(width, height) < 3.5 * min(width, height))  # further off it is far outside
    camera = middle(height, width, x, y)
    facts = rf"{height}x{width}.*{width}x{height}"
    with pytest.raises(CameraError, match=facts):
        check_against_image(camera, height, width)
    check_against_image(camera, width, height)
    check_against_image(replace(camera, size=(width, height)), height, width)


@pytest.mark.parametrize(
    ("camera", "width", "height"),
    [
        (middle(600, 660), 660, 600),  # nearly square
        (middle(480, 640, x=1.06), 640, 480),
        (middle(480, 640, x=0.94), 640, 480),
        (middle(480, 640, y=1.06), 640, 480),
        (middle(480, 640, y=0.94), 640, 480),
    ],
)
def test_a_camera_that_may_be_that_of_its_image_is_taken(
    camera: Pinhole, width: int, height: int
) -> None:
    check_against_image(camera, height, width)


def test_a_lens_is_judged_like_a_pinhole() -> None:
    camera: IntrinsicCamera = BrownConrady(900, 900, 239.5, 319.5, k1=0.1)
    with pytest.raises(CameraError, match=r"set size=\(640, 480\)"):
        check_against_image(camera, 480, 640)
