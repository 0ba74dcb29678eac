"""OpenCV's FileStorage as YAML, XML or JSON, and the plain JSON and YAML that scripts write."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration.document import Document, Entries
from rayrelief.cameras.calibration.opencv_entries import is_matrix, matrix_keys, read_entries
from rayrelief.cameras.calibration.opencv_lens import camera_matrix, lens_coefficients
from rayrelief.cameras.calibration.reading import Reading, Request
from rayrelief.cameras.calibration.writing import does_not_fit, list_text, number_text
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.io.atomic import write_whole
from rayrelief.io.sources import check_suffix

FORMAT = "OpenCV calibration"

ROS_KEYS = ("distortion_model", "camera_name")


def recognises(document: Document) -> bool:
    """Whether a document is a FileStorage with matrices, or names a camera matrix."""
    if document.syntax == "xml":
        return bool(document.content.tag == "opencv_storage")
    content = document.mapping
    if any(key in content for key in ROS_KEYS):
        return False
    return bool(matrix_keys(content)) or any(map(is_matrix, content.values()))


def read(document: Document, request: Request) -> Reading:
    """Camera of a document; pixel centres are at integers, as they are inside."""
    entries = document.entries()
    if document.syntax == "xml":
        entries = Entries(document.path, {child.tag: _plain(child) for child in document.content})
    return read_entries(entries, request)


def write(path: str | os.PathLike[str], camera: Camera) -> None:
    """Write a Pinhole, BrownConrady or KannalaBrandt as .yml, .yaml, .xml or .json, by suffix."""
    check_suffix(Path(path), WRITERS, "an OpenCV file", "Rename the file")
    writer = WRITERS[Path(path).suffix.lower()]
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
    write_whole(path, writer(content))


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
