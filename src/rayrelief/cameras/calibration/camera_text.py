"""A camera written as one word or four numbers, for the command line."""

from __future__ import annotations

from pathlib import Path

from rayrelief.cameras.base import Camera
from rayrelief.cameras.intrinsics import check_against_image
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import CameraError, InputError

EXPECTED = "'fx,fy,cx,cy' in pixels, 'fov:DEGREES', 'orthographic' or 'orthographic:PIXEL_SIZE'"


def is_camera_text(text: str) -> bool:
    """Whether a word is meant for parse_camera, and not as the path of a calibration file."""
    words = "," in text or text.strip().lower().startswith(("orthographic", "fov:"))
    return words and not Path(text).is_file()


def parse_camera(text: str, height: int, width: int) -> Camera:
    """Camera of an image from text; lengths in pixels, the pixel size in the unit of the depth.

    Parameters
    ----------
    text
        ``"fx,fy,cx,cy"``, ``"fov:DEGREES"`` (across the longer side), ``"orthographic"`` or
        ``"orthographic:PIXEL_SIZE"``.
    height, width
        Size of the image; the axis of an orthographic camera passes through its centre.
    """
    word, colon, size = text.strip().partition(":")
    try:
        if word.strip().lower() == "orthographic":
            pixel_size = float(size) if colon else 1.0
            return Orthographic(pixel_size, cx=(width - 1) / 2, cy=(height - 1) / 2)
        if word.strip().lower() == "fov":
            return Pinhole.from_fov(float(size), height, width)
        fx, fy, cx, cy = (float(number) for number in text.split(","))
        camera = Pinhole(fx, fy, cx, cy)
        check_against_image(camera, height, width)
        return camera
    except CameraError as error:
        raise InputError(
            f"the camera {text!r} has {error.found}", expected=error.expected, remedy=error.remedy
        ) from error
    except ValueError as error:
        raise InputError(
            f"the camera {text!r} cannot be understood",
            expected=EXPECTED,
            remedy="For example 1200,1200,319.5,239.5; a calibration file is given by its path",
        ) from error
