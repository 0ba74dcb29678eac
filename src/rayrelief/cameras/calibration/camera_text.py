"""A camera written as a word or a few numbers, for the command line."""

from __future__ import annotations

from pathlib import Path

from rayrelief.cameras.base import Camera
from rayrelief.cameras.cylindrical import Cylindrical
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.intrinsics import check_against_image
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import CameraError, InputError

PANORAMAS = {"equirectangular": Equirectangular.full, "cylindrical": Cylindrical.full}
WORDS = ("orthographic", "fov:", "focal:", *PANORAMAS)
EXPECTED = (
    "'fx,fy,cx,cy' in pixels, 'fov:DEGREES', 'focal:PIXELS', 'focal:50mm/36mm' (lens and longer "
    "side of the sensor), 'orthographic', 'orthographic:PIXEL_SIZE', 'equirectangular' or "
    "'cylindrical'"
)


def is_camera_text(text: str) -> bool:
    """Whether a word is meant for parse_camera, and not as the path of a calibration file."""
    words = "," in text or text.strip().lower().startswith(WORDS)
    return words and not Path(text).is_file()


def parse_camera(text: str, height: int, width: int) -> Camera:
    """Camera of an image from text; lengths in pixels, the pixel size in the unit of the depth.

    Parameters
    ----------
    text
        ``"fx,fy,cx,cy"``, ``"fov:DEGREES"`` (across the longer side), ``"focal:PIXELS"``,
        ``"focal:50mm/36mm"`` (the lens, and the longer side of the sensor), ``"orthographic"``,
        ``"orthographic:PIXEL_SIZE"``, or a panorama of 360 degrees: ``"equirectangular"``,
        ``"cylindrical"``.
    height, width
        Size of the image; the axis of all but the first passes through its centre.
    """
    word, colon, value = (part.strip().lower() for part in text.partition(":"))
    centre = (width - 1) / 2, (height - 1) / 2
    try:
        if word == "orthographic":
            return Orthographic(float(value) if colon else 1.0, *centre)
        if word in PANORAMAS and not colon:
            return PANORAMAS[word](height, width)
        if word == "fov":
            return Pinhole.from_fov(float(value), height, width)
        if word == "focal":
            focal = focal_length(value, max(height, width))
            return Pinhole(focal, focal, *centre)
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


def focal_length(text: str, side: int) -> float:
    """Focal length in pixels from "3700", or from "50mm/36mm" for an image with this longer side.

    ValueError for any other text.
    """
    lens, slash, sensor = text.partition("/")
    if not slash:
        return float(lens)
    in_mm = [float(part.strip().removesuffix("mm")) for part in (lens, sensor)]
    if in_mm[1] <= 0 or not all(part.strip().endswith("mm") for part in (lens, sensor)):
        raise ValueError(text)
    return in_mm[0] / in_mm[1] * side
