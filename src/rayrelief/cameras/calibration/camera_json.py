"""camera.json: the library's own description of a camera; numbers survive bit for bit."""

from __future__ import annotations

import json
import os
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration.calibration_file import naming_file, read_text
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import CameraError, FileError
from rayrelief.io.atomic import atomic_write

FORMAT = "rayrelief-camera"
VERSION = 1

Parametric = Pinhole | BrownConrady | Orthographic
MODELS: dict[str, type[Parametric]] = {
    "pinhole": Pinhole,
    "brown_conrady": BrownConrady,
    "orthographic": Orthographic,
}


def read_camera_json(path: Path) -> Parametric:
    """Read a camera; lengths in pixels, pixel centres at integers."""
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise malformed(path, f"is not valid JSON ({error})") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileError(
            f'{path} does not say "format": "{FORMAT}"',
            expected="a camera written by rayrelief",
            remedy="Calibrations of other tools: write the camera matrix to K.txt, or the ray of "
            "every pixel to a .npy file",
        )
    if content.get("version") != VERSION:
        raise FileError(
            f"{path} has the version {content.get('version')!r}",
            expected=f"version {VERSION}",
            remedy="Install a newer rayrelief, or write the camera again",
        )
    model, parameters = content.get("model"), content.get("parameters")
    if not isinstance(model, str) or model not in MODELS:
        raise malformed(path, f"has the model {model!r}", "one of " + ", ".join(MODELS))
    if not isinstance(parameters, dict):
        raise malformed(path, f"has the parameters {parameters!r}", "an object with names")
    return build(path, MODELS[model], parameters)


def write_camera_json(path: str | os.PathLike[str], camera: Camera) -> None:
    """Write a camera with parameters (not a ray map) so that it reads back bit for bit."""
    model = next((name for name, kind in MODELS.items() if type(camera) is kind), None)
    if model is None or not isinstance(camera, Parametric):
        raise CameraError(
            f"a {type(camera).__name__} does not fit into {path}",
            expected="a camera with parameters: " + ", ".join(MODELS),
            remedy="Write its rays as a ray map: give the file the suffix .npy",
        )
    values = {field.name: getattr(camera, field.name) for field in fields(camera)}
    size = values.pop("size", None)
    parameters: dict[str, Any] = {name: float(value) for name, value in values.items()}
    if size is not None:
        parameters["size"] = [int(side) for side in size]
    content = {"format": FORMAT, "version": VERSION, "model": model, "parameters": parameters}
    text = json.dumps(content, indent=2) + "\n"
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def build(path: Path, kind: type[Parametric], parameters: dict[str, Any]) -> Parametric:
    """Camera of a kind from the parameters in a file, all of them checked."""
    names = [field.name for field in fields(kind)]
    unknown = [name for name in parameters if name not in names]
    if unknown:
        expected = "only " + ", ".join(names)
        raise malformed(path, "has the unknown parameters " + ", ".join(unknown), expected)
    required = [field.name for field in fields(kind) if field.default is MISSING]
    missing = [name for name in required if name not in parameters]
    if missing:
        raise malformed(path, "lacks the parameters " + ", ".join(missing), "all of them")
    values: dict[str, Any] = {}
    for name, value in parameters.items():
        if name == "size":
            values[name] = read_size(path, value)
        elif is_number(value):
            values[name] = float(value)
        else:
            raise malformed(path, f"has {name} = {value!r}", "a number")
    with naming_file(path):
        return kind(**values)


def read_size(path: Path, value: object) -> tuple[int, int] | None:
    """(width, height) of the image in pixels."""
    if value is None:
        return None
    whole = isinstance(value, list) and all(type(side) is int and side > 0 for side in value)
    if not (isinstance(value, list) and whole and len(value) == 2):
        raise malformed(path, f"has size = {value!r}", "[width, height] in whole pixels, or null")
    return value[0], value[1]


def is_number(value: object) -> bool:
    """Whether a JSON value is a number that fits into a float."""
    return isinstance(value, float) or (type(value) is int and abs(value) < 2**1000)


def malformed(path: Path, found: str, expected: str = "") -> FileError:
    """Error for a camera.json that is not as it should be."""
    return FileError(
        f"{path} {found}",
        expected=expected or "a camera written by rayrelief",
        remedy="Correct the file, or write it again with write_camera",
    )
