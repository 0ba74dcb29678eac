"""MoGe: intrinsics in units of the image's width and height, or the two fields of view."""

from __future__ import annotations

import math

from rayrelief.cameras.calibration.document import Document, Entries, naming_file
from rayrelief.cameras.calibration.reading import Reading, Request
from rayrelief.cameras.pinhole import Pinhole

FORMAT = "MoGe intrinsics"

MATRIX = "three rows: fx 0 cx, 0 fy cy, 0 0 1, in units of the image's width and height"


def recognises(document: Document) -> bool:
    """Whether JSON holds a 3x3 list named intrinsics, or fov_x."""
    rows = document.mapping.get("intrinsics")
    matrix = isinstance(rows, list) and bool(rows) and isinstance(rows[0], list)
    return document.syntax == "json" and (matrix or "fov_x" in document.mapping)


def read(document: Document, request: Request) -> Reading:
    """Pinhole of an image whose size has to be given."""
    if request.size is None:
        raise document.error(
            "the intrinsics are in units of the image, whose size is not known",
            expected="the size of the image",
            remedy="Pass height= and width=",
        )
    width, height = request.size
    entries = document.entries()
    if "fov_x" in entries:
        fx, fy, cx, cy = _from_angle(entries, "fov_x"), _from_angle(entries, "fov_y"), 0.5, 0.5
        note = "focal lengths from the fields of view, principal point in the centre"
    else:
        fx, fy, cx, cy = _from_matrix(entries)
        note = "normalised intrinsics scaled to pixels, pixel centres moved from .5 to integers"
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


def _from_matrix(entries: Entries) -> tuple[float, float, float, float]:
    """fx, fy, cx, cy in units of the image."""
    rows = entries.value("intrinsics")
    if len(rows) != 3:
        raise entries.error("intrinsics", f"has {len(rows)} rows", MATRIX)
    named = Entries(entries.path, {f"intrinsics[{i}]": row for i, row in enumerate(rows)})
    (fx, skew, cx), (below, fy, cy), last = (named.numbers(key, 3) for key in named.content)
    if skew != 0 or below != 0 or last != [0, 0, 1]:
        raise entries.error("intrinsics", f"is {rows}", MATRIX)
    if not (-1 <= cx <= 2 and -1 <= cy <= 2):
        found = f"has the principal point ({cx:g}, {cy:g})"
        remedy = "A matrix in pixels is read from a K.txt: numpy.savetxt('K.txt', K)"
        raise entries.error("intrinsics", found, MATRIX, remedy)
    return fx, fy, cx, cy
