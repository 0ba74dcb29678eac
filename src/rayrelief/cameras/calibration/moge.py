"""MoGe: intrinsics in units of the image's width and height, or the two fields of view."""

from __future__ import annotations

import math

from rayrelief.cameras.calibration.document import Document, Entries, naming_file
from rayrelief.cameras.calibration.matrix_entries import read_camera_matrix
from rayrelief.cameras.calibration.reading import GIVE_SIZE, Reading, Request
from rayrelief.cameras.pinhole import Pinhole

FORMAT = "MoGe intrinsics"

MATRIX = "three rows: fx 0 cx, 0 fy cy, 0 0 1, in units of the image's width and height"
SAME = 0.01  # by how much of it a focal length and a field of view may differ


def recognises(document: Document) -> bool:
    """Whether JSON holds a 3x3 list named intrinsics, or fov_x."""
    rows = document.mapping.get("intrinsics")
    matrix = isinstance(rows, list) and bool(rows) and isinstance(rows[0], list)
    return document.syntax == "json" and (matrix or "fov_x" in document.mapping)


def read(document: Document, request: Request) -> Reading:
    """Pinhole of an image whose size has to be given."""
    if request.size is None:
        raise document.error(
            "the intrinsics are relative to the image size, which is not known",
            expected="the size of the image",
            remedy=GIVE_SIZE,
        )
    width, height = request.size
    entries = document.entries()
    if "intrinsics" in entries:
        fx, fy, cx, cy = _from_matrix(entries)
        _check_angles(entries, {"fov_x": fx, "fov_y": fy})
        note = "normalised intrinsics scaled to pixels, pixel centres moved from .5 to integers"
    else:
        fx, fy, cx, cy = _from_angle(entries, "fov_x"), _from_angle(entries, "fov_y"), 0.5, 0.5
        note = "focal lengths from the fields of view, principal point in the centre"
    with naming_file(document.path):
        camera = Pinhole(
            fx * width, fy * height, cx * width - 0.5, cy * height - 0.5, size=request.size
        )
    return Reading(camera, (f"{note}, for an image of {width}x{height} (width x height)",))


def _from_angle(entries: Entries, key: str) -> float:
    degrees = entries.number(key)
    if not 0 < degrees < 180:
        raise entries.error(key, f"is {degrees:g}", "an angle between 0 and 180 degrees")
    return 0.5 / math.tan(math.radians(degrees) / 2)


def _check_angles(entries: Entries, focal_lengths: dict[str, float]) -> None:
    """Refuse fields of view that are not those of the intrinsics beside them."""
    for key, focal_length in focal_lengths.items():
        if key not in entries:
            continue
        other = _from_angle(entries, key)
        if abs(other - focal_length) > SAME * abs(focal_length):
            found = f"is that of a focal length of {other:g}, and intrinsics has {focal_length:g}"
            raise entries.error(key, found, "the same field of view in both")


def _from_matrix(entries: Entries) -> tuple[float, float, float, float]:
    """fx, fy, cx, cy in units of the image."""
    matrix = read_camera_matrix(entries, "intrinsics")
    fx, fy, cx, cy = (matrix[name] for name in ("fx", "fy", "cx", "cy"))
    if matrix["skew"] != 0:
        raise entries.error("intrinsics", f"has the skew {matrix['skew']:g}", MATRIX)
    if not (-1 <= cx <= 2 and -1 <= cy <= 2):
        found = f"has the principal point ({cx:g}, {cy:g})"
        remedy = "A matrix in pixels is read from a K.txt: numpy.savetxt('K.txt', K)"
        raise entries.error("intrinsics", found, MATRIX, remedy)
    return fx, fy, cx, cy
