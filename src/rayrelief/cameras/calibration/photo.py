"""The focal length that a camera wrote into its photo (EXIF); with Pillow, which is optional."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

from rayrelief.cameras.calibration.reading import Reading, Request
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import FileError
from rayrelief.io import jpeg_segments
from rayrelief.io.sources import BROKEN, check_signature, damaged, read_bytes
from rayrelief.optional import library

FORMAT = "EXIF of a photo"
READABLE = (".jpg", ".jpeg")
FILM_DIAGONAL = math.hypot(36.0, 24.0)  # mm
ORIENTATION, LYING = 0x0112, (5, 6, 7, 8)  # turned by 90 degrees when it is shown
DETAILS = 0x8769  # where a photo keeps the following tags
FOCAL_LENGTH, ON_FILM = 0x920A, 0xA405  # mm
RESOLUTION, RESOLUTION_UNIT = 0xA20E, 0xA210  # of the sensor, in pixels per unit
MILLIMETRES = {2: 25.4, 3: 10.0, 4: 1.0}  # in an inch, a centimetre


def read(path: Path, request: Request) -> tuple[str, Reading]:
    """Pinhole with the focal length of a photo, for the size asked for or that of the photo."""
    check_signature(path)
    instead = "give the focal length with --focal"
    pillow = library("PIL.Image", f"the EXIF of the photo {path}", "photo", otherwise=instead)
    try:
        data = read_bytes(path)
        width, height, _ = jpeg_segments.size(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tags that cannot be read, and are not there then
            exif = pillow.Exif()
            exif.load(jpeg_segments.exif(data))
            tags: dict[int, Any] = dict(exif.get_ifd(DETAILS))
            lies = exif.get(ORIENTATION) in LYING
    except BROKEN as error:
        raise damaged(path, error) from error
    if min(width, height) < 1:
        raise damaged(path, "it declares an image without pixels")
    if lies:  # programs show it upright
        width, height = height, width
    focal, source = _focal_length(path, tags, math.hypot(width, height))
    size = request.size or (width, height)
    if abs(math.log(size[0] / size[1] * height / width)) > 0.02:
        raise FileError(
            f"{path} has {width}x{height} pixels and the normal map {size[0]}x{size[1]}",
            expected="the same proportions",
            remedy="Give the focal length of the map with --focal, in pixels",
        )
    focal *= size[0] / width
    camera = Pinhole(focal, focal, (size[0] - 1) / 2, (size[1] - 1) / 2, size=size)
    note = f"{source}: {focal:.6g} pixels; the principal point is taken as the centre"
    return FORMAT, Reading(camera, notes=(note,))


def _focal_length(path: Path, tags: dict[int, Any], diagonal: float) -> tuple[float, str]:
    """Focal length in pixels of a photo with this diagonal, and what it follows from."""
    try:
        on_film = float(tags.get(ON_FILM, 0))
        length, density = float(tags.get(FOCAL_LENGTH, 0)), float(tags.get(RESOLUTION, 0))
        unit = MILLIMETRES.get(int(tags.get(RESOLUTION_UNIT, 0)), 0.0)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise damaged(path, error) from error
    if on_film > 0:
        return on_film / FILM_DIAGONAL * diagonal, f"{on_film:g} mm on 35 mm film"
    if min(length, density, unit) > 0:
        return length * density / unit, f"{length:g} mm and the resolution of the sensor"
    raise FileError(
        f"{path} does not tell its focal length on 35 mm film, or the size of its sensor",
        expected="EXIF with FocalLengthIn35mmFilm, or FocalLength and FocalPlaneXResolution",
        remedy="Give it with --focal 50mm --sensor 36mm, or --focal PIXELS",
    )
