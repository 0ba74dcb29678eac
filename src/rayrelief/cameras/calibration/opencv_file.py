"""OpenCV's FileStorage as YAML, XML or JSON, and the plain JSON and YAML that scripts write."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration.document import Document, Entries, naming_file
from rayrelief.cameras.calibration.matrix_entries import (
    read_camera_matrix,
    read_size,
    read_vector,
)
from rayrelief.cameras.calibration.opencv_lens import (
    COUNTS,
    camera_matrix,
    lens_camera,
    lens_coefficients,
    skew_notes,
)
from rayrelief.cameras.calibration.reading import Candidate, Reading, Request, choose
from rayrelief.cameras.calibration.writing import does_not_fit, list_text, number_text
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.unified import Unified
from rayrelief.errors import FileError
from rayrelief.io.atomic import atomic_write

FORMAT = "OpenCV calibration"

# Keys are compared without case and underscores (camera_matrix, cameraMatrix), and the cameras of
# a pair by what follows: M1 and D1, M2 and D2.
MATRIX = re.compile(r"(cameramatrix|mtx|k|m)(\d*|left|right|l|r)")
COEFFICIENTS = ("distortioncoefficients", "distcoeffs", "distcoeff", "distcoefs", "dist", "d")
WIDTHS_AND_HEIGHTS = (("imagewidth", "imageheight"), ("width", "height"))
SIZES = ("imagesize", "imgsize")
FISHEYE_FLAGS = ("fisheyemodel", "fisheye", "isfisheye")
MODELS = ("model", "cameramodel")
FISHEYE_MODELS = ("fisheye", "opencv_fisheye", "equidistant", "kannala_brandt")
USUAL_MODELS = ("pinhole", "plumb_bob", "radtan", "brown_conrady", "opencv", "perspective")
ROS_KEYS = ("distortion_model", "camera_name")


def recognises(document: Document) -> bool:
    """Whether a document is a FileStorage with matrices, or names a camera matrix."""
    if document.syntax == "xml":
        return bool(document.content.tag == "opencv_storage")
    content = document.mapping
    if any(key in content for key in ROS_KEYS):
        return False
    return bool(matrix_keys(content)) or any(map(_is_matrix, content.values()))


def read(document: Document, request: Request) -> Reading:
    """Camera of a document; pixel centres are at integers, as they are inside."""
    entries = document.entries()
    if document.syntax == "xml":
        entries = Entries(document.path, {child.tag: _plain(child) for child in document.content})
    return read_entries(entries, request)


def read_entries(entries: Entries, request: Request) -> Reading:
    """Camera of the entries of a calibration, from whatever file they come."""
    keys = matrix_keys(entries.content) or {"camera_matrix": ""}
    size = partial(_read_image_size, entries)
    cameras = {
        key: Candidate(partial(_read_camera, entries, key, suffix), size)
        for key, suffix in keys.items()
    }
    return choose(entries.path, cameras, request)


def write(path: str | os.PathLike[str], camera: Camera) -> None:
    """Write a Pinhole, BrownConrady or KannalaBrandt as .yml, .yaml, .xml or .json, by suffix."""
    writer = WRITERS.get(Path(path).suffix.lower())
    if writer is None:
        raise FileError(
            f"{os.fspath(path)} is not named as a file of OpenCV",
            expected="one of the suffixes " + ", ".join(WRITERS),
            remedy="Rename the file",
        )
    content: dict[str, Any] = {}
    if camera.resolution is not None:
        width, height = camera.resolution
        content = {"image_width": int(width), "image_height": int(height)}
    if isinstance(camera, KannalaBrandt):
        content["fisheye_model"] = 1
        coefficients = [float(k) for k in (camera.k1, camera.k2, camera.k3, camera.k4)]
    elif isinstance(camera, Pinhole | BrownConrady):
        coefficients = lens_coefficients(camera)
    else:
        raise does_not_fit(path, camera, "a Pinhole, BrownConrady or KannalaBrandt camera")
    content["camera_matrix"] = _opencv_matrix(3, camera_matrix(path, camera, FORMAT))
    content["distortion_coefficients"] = _opencv_matrix(1, coefficients)
    with atomic_write(path) as temporary:
        temporary.write_text(writer(content), encoding="utf-8")


def _read_camera(entries: Entries, key: str, suffix: str) -> Reading:
    """The camera of a matrix, with the entries whose keys end alike."""
    intrinsics = read_camera_matrix(entries, key)
    size = _read_image_size(entries)
    lens_key = _find_coefficients(entries, key, suffix)
    lens = read_vector(entries, lens_key) if lens_key else []
    notes = (*skew_notes(key, intrinsics), *_lens_notes(entries, lens_key, lens, suffix))
    xi_key = _find(entries, f"xi{suffix}")
    fisheye = _says_fisheye(entries)
    counts = (4,) if fisheye or xi_key else COUNTS
    if len(lens) not in counts:
        wanted = " or ".join(map(str, counts)) + " numbers"
        beside = " beside xi" if xi_key else " for a fisheye" if fisheye else ""
        name = lens_key or "distortion_coefficients"
        raise entries.error(name, f"holds {len(lens)} values", wanted + beside)
    if fisheye and xi_key:
        raise entries.error(xi_key, "stands beside a fisheye model", "only one of the two")
    camera: Camera
    with naming_file(entries.path, key):
        if xi_key:
            k1, k2, p1, p2 = lens
            xi = _read_number(entries, xi_key)
            camera = Unified(**intrinsics, xi=xi, k1=k1, k2=k2, p1=p1, p2=p2, size=size)
        elif fisheye:
            k1, k2, k3, k4 = lens
            camera = KannalaBrandt(**intrinsics, k1=k1, k2=k2, k3=k3, k4=k4, size=size)
        else:
            camera = lens_camera(intrinsics, lens, size)
    return Reading(camera, notes)


def _lens_notes(
    entries: Entries, key: str | None, lens: list[float], suffix: str
) -> tuple[str, ...]:
    """What was assumed about the distortion."""
    if key is None:
        return ("no distortion coefficients in the file: taken as a lens without distortion",)
    if len(lens) != 4 or _find(entries, f"xi{suffix}"):
        return ()
    if _says_fisheye(entries):
        return (f"{key} taken as k1, k2, k3, k4 of a fisheye lens, as the file says",)
    return (f"{key} taken as k1, k2, p1, p2, since the file does not say that it is a fisheye",)


def _find_coefficients(entries: Entries, matrix_key: str, suffix: str) -> str | None:
    """Key of the coefficients of a camera; None where a script wrote a camera matrix alone."""
    key = _find(entries, *(f"{name}{suffix}" for name in COEFFICIENTS))
    if key is not None:
        return key
    for other in map(str, entries.content):
        if bare(other).startswith("dist"):
            raise entries.error(
                other,
                "is not a key that is known",
                f"distortion_coefficients{suffix}",
                "Rename it if it holds OpenCV's coefficients, else remove it",
            )
    if _is_matrix(entries.value(matrix_key)):  # OpenCV's programs write both: was the file cut?
        raise entries.error(
            f"distortion_coefficients{suffix}",
            "is missing",
            f"it beside {matrix_key}",
            "Add the coefficients, zeros for a lens without distortion",
        )
    return None


def _says_fisheye(entries: Entries) -> bool:
    """Whether the file says that its coefficients are those of cv::fisheye."""
    said: dict[str, bool] = {}
    for key in map(str, entries.content):
        if bare(key) in FISHEYE_FLAGS and key in entries:
            value = entries.value(key)
            said[key] = value if isinstance(value, bool) else entries.number(key) != 0
        elif bare(key) in MODELS and key in entries:
            said[key] = _names_fisheye(entries, key)
    if len(set(said.values())) > 1:
        first, *others = (f"{key} = {entries.value(key)}" for key in said)
        found = f"contradicts itself: {first} beside {', '.join(others)}"
        raise entries.error("the model of the lens", found, "entries that say the same")
    return any(said.values())


def _names_fisheye(entries: Entries, key: str) -> bool:
    """Whether the name of a model is one of the fisheye, and not of the usual one."""
    name = entries.text(key).lower()
    if name not in (*FISHEYE_MODELS, *USUAL_MODELS):
        expected = "one of " + ", ".join((*USUAL_MODELS, *FISHEYE_MODELS))
        remedy = "Remove it if it does not name the model of the lens"
        raise entries.error(key, f"is {entries.text(key)!r}", expected, remedy)
    return name in FISHEYE_MODELS


def _read_image_size(entries: Entries) -> tuple[int, int] | None:
    """(width, height) if the file tells it."""
    for names in WIDTHS_AND_HEIGHTS:
        width, height = (_find(entries, name) for name in names)
        if width or height:
            return entries.size(width or "image_width", height or "image_height")
    key = _find(entries, *SIZES)
    return read_size(entries, key) if key else None


def _read_number(entries: Entries, key: str) -> float:
    """A number, or a matrix with nothing else in it."""
    if not isinstance(entries.value(key), list | dict):
        return entries.number(key)
    numbers = read_vector(entries, key)
    if len(numbers) != 1:
        raise entries.error(key, f"holds {len(numbers)} values", "1 number")
    return numbers[0]


def matrix_keys(content: Mapping[str, Any]) -> dict[str, str]:
    """Keys of camera matrices, and the suffix that tells one camera of a pair."""
    keys = {}
    for key, value in content.items():
        match = MATRIX.fullmatch(bare(str(key)))
        # A single letter may stand for anything: nerfstudio has a number k1.
        if match and (match[1] == "cameramatrix" or isinstance(value, list | dict)):
            keys[str(key)] = match[2]
    return keys


def _find(entries: Entries, *names: str) -> str | None:
    """The first key that has one of these names, given without case and underscores."""
    keys = {bare(str(key)): str(key) for key in entries.content if str(key) in entries}
    return next((keys[name] for name in names if name in keys), None)


def bare(key: str) -> str:
    """A key as it is compared: without case and underscores."""
    return key.replace("_", "").lower()


def _is_matrix(value: object) -> bool:
    shapes: tuple[set[str], ...] = ({"rows", "cols", "data"}, {"sizes", "data"})
    return isinstance(value, dict) and any(keys <= value.keys() for keys in shapes)


def _plain(element: Element) -> Any:
    """An entry of XML as it would be in JSON, with text for numbers."""
    if len(element):
        return {child.tag: _words(child) for child in element}
    return _words(element)


def _words(element: Element) -> list[str] | str:
    words = (element.text or "").split()
    return words if element.tag in ("data", "sizes") or len(words) > 1 else "".join(words)


def _opencv_matrix(rows: int, numbers: list[float]) -> dict[str, Any]:
    cols = len(numbers) // rows
    return {"type_id": "opencv-matrix", "rows": rows, "cols": cols, "dt": "d", "data": numbers}


def _yaml_text(content: dict[str, Any]) -> str:
    lines = ["%YAML:1.0", "---"]
    for key, value in content.items():
        if isinstance(value, dict):
            lines += [f"{key}: !!opencv-matrix", f"   rows: {value['rows']}"]
            lines += [
                f"   cols: {value['cols']}",
                "   dt: d",
                f"   data: {list_text(value['data'])}",
            ]
        else:
            lines.append(f"{key}: {value}")
    return "\n".join(lines) + "\n"


def _xml_text(content: dict[str, Any]) -> str:
    lines = ['<?xml version="1.0"?>', "<opencv_storage>"]
    for key, value in content.items():
        if isinstance(value, dict):
            data = " ".join(map(number_text, value["data"]))
            lines += [f'<{key} type_id="opencv-matrix">', f"  <rows>{value['rows']}</rows>"]
            lines += [f"  <cols>{value['cols']}</cols>", "  <dt>d</dt>"]
            lines += [f"  <data>{data}</data></{key}>"]
        else:
            lines.append(f"<{key}>{value}</{key}>")
    return "\n".join([*lines, "</opencv_storage>", ""])


def _json_text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=4) + "\n"


WRITERS: dict[str, Callable[[dict[str, Any]], str]] = {
    ".yml": _yaml_text,
    ".yaml": _yaml_text,
    ".xml": _xml_text,
    ".json": _json_text,
}
