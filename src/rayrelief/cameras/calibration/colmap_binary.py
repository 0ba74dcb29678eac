"""COLMAP's cameras.bin: the same cameras as in cameras.txt, as little-endian binary numbers."""

from __future__ import annotations

import math
import struct
from dataclasses import replace

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration.colmap_models import BY_NUMBER
from rayrelief.cameras.calibration.document import Document, naming_file
from rayrelief.cameras.calibration.half_pixel import NOTE
from rayrelief.cameras.calibration.reading import Reading, Request, choose
from rayrelief.cameras.plane import PlaneCamera

FORMAT = "COLMAP cameras.bin"

COUNT = struct.Struct("<Q")
HEAD = struct.Struct("<IiQQ")  # camera, model, width, height

# Far beyond any real file; tells cameras.bin from other binary files.
MOST_CAMERAS = 10**7
LARGEST_SIDE = 10**6


def recognises(document: Document) -> bool:
    """Whether bytes begin like a list of cameras: a count, then a model and a size that exist."""
    data = document.content
    if document.syntax != "binary" or len(data) < COUNT.size + HEAD.size:
        return False
    (count,) = COUNT.unpack_from(data)
    _, model, width, height = HEAD.unpack_from(data, COUNT.size)
    sides = 0 < width <= LARGEST_SIDE and 0 < height <= LARGEST_SIDE
    return 0 < count <= MOST_CAMERAS and model in BY_NUMBER and sides


def read(document: Document, request: Request) -> Reading:
    """Camera of the file: the only one, the one asked for by its number, or the one that fits."""
    data: bytes = document.content
    (count,) = COUNT.unpack_from(data)
    cameras: dict[str, Camera] = {}
    offset = COUNT.size
    for index in range(count):
        where = f"camera {index + 1} of {count}, at byte {offset}"
        name, camera, offset = _camera(document, offset, where)
        if name in cameras:
            found = f"{where}, repeats the camera {name}"
            raise document.error(found, expected="each number once")
        cameras[name] = camera
    if offset != len(data):
        raise document.error(
            f"{len(data) - offset} bytes follow the last of {count} cameras",
            expected=f"the end of the file at byte {offset}",
        )
    reading = choose(document.path, cameras, request)
    return replace(reading, notes=(*reading.notes, NOTE))


def _camera(document: Document, offset: int, where: str) -> tuple[str, PlaneCamera, int]:
    """Number and camera that begin at an offset, and where the next one begins."""
    data: bytes = document.content
    if offset + HEAD.size > len(data):
        found = f"the file ends within {where}"
        raise document.error(found, expected=f"{HEAD.size} bytes: number, model, width, height")
    number, model_number, width, height = HEAD.unpack_from(data, offset)
    if model_number not in BY_NUMBER:
        found = f"{where}, has the model {model_number}"
        raise document.error(found, expected=f"one of 0 to {max(BY_NUMBER)}")
    if not (0 < width <= LARGEST_SIDE and 0 < height <= LARGEST_SIDE):
        found = f"{where}, has the size {width}x{height}"
        raise document.error(found, expected="a positive width and height in pixels")
    model = BY_NUMBER[model_number]
    parameters = struct.Struct(f"<{len(model.parameters)}d")
    start = offset + HEAD.size
    if start + parameters.size > len(data):
        found = f"the file ends within {where}"
        expected = f"{len(model.parameters)} parameters of {model.name}"
        raise document.error(found, expected=expected)
    values = parameters.unpack_from(data, start)
    for name, value in zip(model.parameters, values, strict=True):
        if not math.isfinite(value):
            found = f"{where}, has {name} = {value}"
            raise document.error(found, expected="a finite number")
    with naming_file(document.path):
        return str(number), model.camera(values, (width, height)), start + parameters.size
