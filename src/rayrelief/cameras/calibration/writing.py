"""What the writers of calibrations share: numbers as text, and cameras that do not fit."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rayrelief.cameras.base import Camera
from rayrelief.errors import CameraError


def number_text(number: float) -> str:
    """Shortest text that reads back to the same float, also in YAML, which asks for a dot."""
    text = repr(float(number))
    return text if "." in text else text.replace("e", ".0e")


def list_text(numbers: Sequence[float]) -> str:
    """A list of floats as YAML and JSON write it."""
    return "[" + ", ".join(map(number_text, numbers)) + "]"


def with_article(camera: Camera) -> str:
    """Name of a camera's model after "a" or "an", for messages."""
    name = type(camera).__name__
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name}"  # a Unified


def does_not_fit(
    path: str | os.PathLike[str],
    camera: Camera,
    expected: str,
    because: str = "",
    remedy: str = "Write it as camera.json, or its rays with the suffix .npy",
) -> CameraError:
    """Error for a camera that a format cannot express."""
    return CameraError(
        f"{with_article(camera)}{because} cannot be stored in {os.fspath(path)}",
        expected=expected,
        remedy=remedy,
    )
