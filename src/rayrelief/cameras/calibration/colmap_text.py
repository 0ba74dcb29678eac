"""COLMAP's cameras.txt: one line per camera with its model, size and parameters."""

from __future__ import annotations

import os
import re
from functools import partial

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration.colmap_models import BY_NAME, MODELS, obstacle
from rayrelief.cameras.calibration.document import Document, as_number, naming_file
from rayrelief.cameras.calibration.half_pixel import NOTE
from rayrelief.cameras.calibration.reading import Candidate, Reading, Request, choose
from rayrelief.cameras.calibration.writing import does_not_fit
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.errors import FileError
from rayrelief.io.atomic import write_whole

FORMAT = "COLMAP cameras.txt"

HEAD = """\
# Camera list with one line of data per camera:
#   CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]
# Number of cameras: 1
"""
LINE = "CAMERA_ID MODEL WIDTH HEIGHT PARAMS..., for example 1 PINHOLE 640 480 500 500 320 240"


def recognises(document: Document) -> bool:
    """Whether a text has the head of cameras.txt, or begins with a number and a model's name."""
    if document.syntax != "text":
        return False
    if re.search(r"^#\s*CAMERA_ID, MODEL, WIDTH, HEIGHT", document.text, re.MULTILINE):
        return True
    lines = _lines(document)
    return bool(lines) and bool(re.match(r"\d+[\s,]+[A-Z][A-Z0-9_]+([\s,]|$)", lines[0][1]))


def read(document: Document, request: Request) -> Reading:
    """Camera of the file: the only one, the one asked for by its number, or the one that fits."""
    cameras: dict[str, Candidate] = {}
    for number, line in _lines(document):
        name, *rest = _words(line)
        if not name.isdecimal() or len(rest) < 3:
            raise _error(document, number, f"is {line[:60]!r}", LINE)
        if name in cameras:
            raise _error(document, number, f"repeats the camera {name}", "each camera number once")
        where = f"line {number} (camera {name})"
        cameras[name] = Candidate(
            partial(_read_camera, document, where, rest), partial(_size, document, where, rest)
        )
    return choose(document.path, cameras, request)


def write(path: str | os.PathLike[str], camera: Camera) -> None:
    """Write a camera that one of COLMAP's models can express, and that knows its image size."""
    line = _line(camera) if isinstance(camera, IntrinsicCamera) else None
    if line is None:
        because, expected = obstacle(camera)
        raise does_not_fit(path, camera, expected, because)
    write_whole(path, HEAD + line)


def _line(camera: IntrinsicCamera) -> str | None:
    """Line of a camera; None where no model can express it."""
    for model in MODELS:
        values = model.values(camera)
        if values is not None:
            width, height = camera.known_resolution()
            return f"1 {model.name} {width} {height} {' '.join(values)}\n"
    return None


def _lines(document: Document) -> list[tuple[int, str]]:
    """Lines with content and their numbers."""
    stripped = ((n, line.strip()) for n, line in enumerate(document.text.splitlines(), start=1))
    return [(n, line) for n, line in stripped if line and not line.startswith("#")]


def _words(line: str) -> list[str]:
    """Words of a line, also of one that was edited into a table with commas."""
    return line.replace(",", " ").split() or [line]


def _read_camera(document: Document, where: str, words: list[str]) -> Reading:
    """Camera of a line, whose words after the number of the camera are given."""
    kind, values = words[0], words[3:]
    if kind not in BY_NAME:
        expected = "one of " + ", ".join(BY_NAME)
        raise document.error(f"{where} has the model {kind}", expected=expected)
    model, size = BY_NAME[kind], _size(document, where, words)
    if len(values) != len(model.parameters):
        expected = f"{len(model.parameters)} for {model.name}: {' '.join(model.parameters)}"
        raise document.error(f"{where} has {len(values)} parameters", expected=expected)
    for parameter, value in zip(model.parameters, values, strict=True):
        if as_number(value) is None:
            found = f"{where} has {parameter} = {value}"
            raise document.error(found, expected="a finite number")
    with naming_file(document.path, where):
        return Reading(model.camera(values, size), (NOTE,))


def _size(document: Document, where: str, words: list[str]) -> tuple[int, int]:
    """(width, height) of a line."""
    width, height = words[1:3]
    if not all(re.fullmatch(r"0*[1-9][0-9]{0,8}", side) for side in (width, height)):
        found = f"{where} has the size {width} {height}"
        raise document.error(found, expected="WIDTH and HEIGHT as positive integers")
    return int(width), int(height)


def _error(document: Document, line: int, found: str, expected: str) -> FileError:
    return document.error(f"line {line} {found}", expected=expected)
