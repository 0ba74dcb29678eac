"""COLMAP's cameras.bin: the same cameras as in cameras.txt, as little-endian binary numbers."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import partial

from rayrelief.cameras.base import LONGEST_SIDE
from rayrelief.cameras.calibration.colmap_models import BY_NUMBER, Model
from rayrelief.cameras.calibration.document import Document, naming_file
from rayrelief.cameras.calibration.half_pixel import NOTE
from rayrelief.cameras.calibration.reading import Candidate, Reading, Request, choose

FORMAT = "COLMAP cameras.bin"

COUNT = struct.Struct("<Q")
HEAD = struct.Struct("<IiQQ")  # camera, model, width, height

# Far beyond any real file; tells cameras.bin from other binary files.
MOST_CAMERAS = 10**7
HIGHEST_MODEL = 10**3


def recognises(document: Document) -> bool:
    """Whether bytes begin like a list of cameras: a count, then a number, a model and a size."""
    if document.syntax != "binary" or len(document.content) < COUNT.size + HEAD.size:
        return False
    data: bytes = document.content
    (count,) = COUNT.unpack_from(data)
    _, model, width, height = HEAD.unpack_from(data, COUNT.size)
    sides = (0 < side <= LONGEST_SIDE for side in (width, height))
    return all((0 < count <= MOST_CAMERAS, abs(model) <= HIGHEST_MODEL, *sides))


def read(document: Document, request: Request) -> Reading:
    """Camera of the file: the only one, the one asked for by its number, or the one that fits."""
    data: bytes = document.content
    (count,) = COUNT.unpack_from(data)
    cameras: dict[str, Candidate] = {}
    offset = COUNT.size
    for index in range(count):
        record = _record(document, offset, f"camera {index + 1} of {count}")
        if record.name in cameras:
            found = f"{record.where} appears twice"
            raise document.error(found, expected="each camera number once")
        cameras[record.name] = Candidate(
            partial(_read_camera, document, record), partial(_size, document, record)
        )
        offset = record.end
    if offset != len(data):
        raise document.error(
            f"{len(data) - offset} bytes follow the last of {count} cameras",
            expected=f"the end of the file at byte {offset}",
        )
    return choose(document.path, cameras, request)


@dataclass(frozen=True)
class Record:
    """A camera as it stands in the file, and the byte at which the next one begins."""

    name: str
    model: Model
    size: tuple[int, int]
    values: tuple[float, ...]
    end: int

    @property
    def where(self) -> str:
        """What the camera is called in messages."""
        return f"camera {self.name}"


def _record(document: Document, offset: int, which: str) -> Record:
    """The camera that begins at an offset."""
    data: bytes = document.content
    if offset + HEAD.size > len(data):
        raise document.error(
            f"the file ends within {which}, at byte {len(data)}",
            expected=f"{HEAD.size} bytes: number, model, width, height",
        )
    number, model_number, width, height = HEAD.unpack_from(data, offset)
    if model_number not in BY_NUMBER:
        raise document.error(
            f"camera {number} ({which}, at byte {offset}) has the model {model_number}",
            expected=f"one of 0 to {max(BY_NUMBER)}",
            remedy="Convert the camera to another model, or write the file with a known one",
        )
    model = BY_NUMBER[model_number]
    parameters = struct.Struct(f"<{len(model.parameters)}d")
    start = offset + HEAD.size
    end = start + parameters.size
    if end > len(data):
        found = f"the file ends within camera {number} ({which}), at byte {len(data)}"
        expected = f"{len(model.parameters)} parameters of {model.name}"
        raise document.error(found, expected=expected)
    return Record(str(number), model, (width, height), parameters.unpack_from(data, start), end)


def _read_camera(document: Document, record: Record) -> Reading:
    """Camera of a record, every number of it checked."""
    size = _size(document, record)
    for name, value in zip(record.model.parameters, record.values, strict=True):
        if not math.isfinite(value):
            found = f"{record.where} has {name} = {value}"
            raise document.error(found, expected="a finite number")
    with naming_file(document.path, record.where):
        return Reading(record.model.camera(record.values, size), (NOTE,))


def _size(document: Document, record: Record) -> tuple[int, int]:
    """(width, height) of a record."""
    if not all(0 < side <= LONGEST_SIDE for side in record.size):
        found = f"{record.where} has the size {record.size[0]}x{record.size[1]}"
        raise document.error(found, expected="a positive width and height in pixels")
    return record.size
