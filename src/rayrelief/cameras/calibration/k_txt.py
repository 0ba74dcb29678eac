"""K.txt, K.npy: a 3x3 camera matrix, in OpenCV order or in the order of older BiNI folders.

The old order counts rows first with the row axis pointing up: fx = K[1,1], fy = K[0,0],
cx = K[1,2], cy = height - 1 - K[0,2]. Nothing in the file says which order it has; the principal
point does, unless the image is nearly square.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration.document import Document, as_number
from rayrelief.cameras.calibration.matrix_entries import seems_transposed
from rayrelief.cameras.calibration.opencv_entries import bare
from rayrelief.cameras.calibration.reading import KOrder, Reading, Request
from rayrelief.cameras.calibration.writing import does_not_fit
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.conventions import FloatArray
from rayrelief.errors import FileError, InputError
from rayrelief.io.atomic import write_whole

FORMAT = "3x3 camera matrix"

# One order is taken as detected if its principal point is this many times closer to the centre
# of the image than that of the other, and closer by this fraction of the longer side.
CLEARLY_CLOSER = 2.0
CLEAR_FRACTION = 0.02

EXPECTED = "three rows of three numbers: fx 0 cx, 0 fy cy, 0 0 1"

NAMES = ("k", "arr0")  # of arrays that may have either order; others are those of OpenCV

Rows = Mapping[str, Sequence[Any]]
"""Entries of a matrix, as numbers or as texts, by the place that a row has in its file."""


def recognises(document: Document) -> bool:
    """Whether a text has three rows, or is called K.txt."""
    if document.syntax != "text":
        return False
    return document.path.name.lower() == "k.txt" or len(_rows(document.text)) == 3


def read(document: Document, request: Request) -> Reading:
    """Camera of a matrix in a text, see `read_matrix`."""
    return read_matrix(document.path, _rows(document.text), request)


def read_matrix(path: Path, rows: Rows, request: Request, name: str = "K") -> Reading:
    """Camera of a matrix in pixels, pixel centres at integers, with a note on its order.

    Without the size of the image the order cannot be detected, and only a matrix that is called K,
    or not at all, may have the old one without being asked for.
    """
    orders = get_args(KOrder)
    if request.k_order not in orders:
        known = ", ".join(repr(name) for name in orders)
        raise InputError(
            f"k_order={request.k_order!r}",
            expected=f"one of {known}",
            remedy="Leave it out: the principal point tells the order where it can",
        )
    K = parse_matrix(path, rows)
    if request.k_order == "auto" and bare(name) not in NAMES:
        camera, _ = choose_order(path, K, request.height, request.width, "opencv")
        how = f"read in OpenCV order, as always for a matrix named {name}"
        return Reading(camera, (note(path, camera, how, other="legacy"),))
    return Reading(*choose_order(path, K, request.height, request.width, request.k_order))


def write(path: str | os.PathLike[str], camera: Camera) -> None:
    """Write the matrix of a pinhole in OpenCV order; numbers read back bit for bit."""
    if type(camera) is not Pinhole:
        expected = "a Pinhole, for a file that holds only a 3x3 camera matrix"
        raise does_not_fit(path, camera, expected)
    rows = ((camera.fx, camera.skew, camera.cx), (0.0, camera.fy, camera.cy), (0.0, 0.0, 1.0))
    text = "\n".join(" ".join(repr(float(number)) for number in row) for row in rows)
    write_whole(path, text + "\n")


def choose_order(
    path: Path, K: FloatArray, height: int | None, width: int | None, k_order: KOrder
) -> tuple[Pinhole, tuple[str, ...]]:
    """Camera of a matrix in the requested or detected order, with a note on why."""
    fx, skew, cx, fy, cy = (float(K[at]) for at in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2)))
    opencv = Pinhole(fx, fy, cx, cy, skew=skew)
    if skew:
        if k_order == "legacy":
            raise not_a_camera(path, f"the skew {skew:g}, which the old BiNI order does not have")
        return opencv, (note(path, opencv, f"read in OpenCV order, with the skew {skew:g}"),)
    if k_order == "opencv":
        return opencv, (note(path, opencv, "read in OpenCV order, as requested"),)
    if height is None:
        if k_order == "legacy":
            raise InputError(
                f"{path} cannot be read in the legacy order without the height of the image",
                expected="a height, because the row axis of that order points up",
                remedy="Give the height and the width of the normal map",
            )
        return opencv, (note(path, opencv, "read in OpenCV order, the image size is not known"),)
    legacy = Pinhole(float(K[1, 1]), float(K[0, 0]), float(K[1, 2]), height - 1 - float(K[0, 2]))
    if k_order == "legacy":
        return legacy, (note(path, legacy, "read in the old BiNI order, as requested"),)
    if width is None:
        return opencv, (note(path, opencv, "read in OpenCV order, the image size is not known"),)

    from_centre = distance_from_centre(opencv, height, width)
    from_centre_legacy = distance_from_centre(legacy, height, width)
    evidence = (
        f"its principal point is {from_centre:.1f} px from the centre of the "
        f"{width}x{height} image in OpenCV order and {from_centre_legacy:.1f} px in the old one"
    )
    near, far = sorted((from_centre, from_centre_legacy))
    if far < CLEARLY_CLOSER * near or far - near < CLEAR_FRACTION * max(height, width):
        how = f"read in OpenCV order (assumed): {evidence}, too similar to decide"
        return opencv, (note(path, opencv, how, other="legacy"),)
    if from_centre < from_centre_legacy:
        how = f"read in OpenCV order (detected): {evidence}"
        return opencv, (note(path, opencv, how, other="legacy"),)
    how = f"read in the old BiNI order (detected; rows first, row axis up): {evidence}"
    return legacy, (note(path, legacy, how, other="opencv"),)


def parse_matrix(path: Path, rows: Rows) -> FloatArray:
    """3x3 matrix of a file, checked to be that of a camera."""
    if [len(row) for row in rows.values()] != [3, 3, 3]:
        shape = ", ".join(str(len(row)) for row in rows.values()) or "no"
        raise not_a_camera(path, f"{len(rows)} rows with {shape} entries")
    for place, entry in ((place, entry) for place, row in rows.items() for entry in row):
        if as_number(entry) is None:
            found = f"{str(entry)[:60]!r} in {place}, which is not a finite number"
            raise not_a_camera(path, found)
    K = np.array([[as_number(entry) for entry in row] for row in rows.values()], dtype=float)
    if K[2].tolist() != [0.0, 0.0, 1.0]:
        found = f"the last row {K[2, 0]:g} {K[2, 1]:g} {K[2, 2]:g}"
        raise not_a_camera(path, found, transposed=seems_transposed(K.tolist()))
    (fx, skew), (below, fy) = K[:2, :2].tolist()  # unlike NumPy's, these overflow in silence
    if fx * fy == skew * below:
        raise not_a_camera(path, f"a singular matrix, {describe(K)}")
    if fx <= 0 or fy <= 0:
        raise not_a_camera(path, f"focal lengths that are not positive, {fx:g} and {fy:g}")
    if below != 0:
        raise not_a_camera(path, f"the number {below:g} below the diagonal")
    return K


def _rows(text: str) -> dict[str, list[str]]:
    """Words of each line, without comments and empty lines."""
    lines = (line.split("#")[0].replace(",", " ").split() for line in text.splitlines())
    return {f"line {number}": line for number, line in enumerate(lines, 1) if line}


def distance_from_centre(camera: Pinhole, height: int, width: int) -> float:
    """Distance of the principal point from the centre of an image, in pixels."""
    return math.hypot(camera.cx - (width - 1) / 2, camera.cy - (height - 1) / 2)


def note(path: Path, camera: Pinhole, how: str, other: KOrder | None = None) -> str:
    """One line on what was read and how to read it differently."""
    text = (
        f"{path.name} was {how}; fx = {camera.fx:g}, fy = {camera.fy:g}, "
        f"cx = {camera.cx:g}, cy = {camera.cy:g}"
    )
    return f"{text} (override with k_order='{other}' or --k-order {other})" if other else text


def not_a_camera(path: Path, found: str, *, transposed: bool = False) -> FileError:
    """Error for a file that does not hold a camera matrix."""
    why, K = ("It seems to be transposed: write", "K.T") if transposed else ("Write", "K")
    return FileError(
        f"{path} holds {found}",
        expected=EXPECTED,
        remedy=f"{why} it with numpy.savetxt('K.txt', {K}) or numpy.save('K.npy', {K})",
    )


def describe(K: FloatArray) -> str:
    """Rows of a matrix on one line."""
    return "; ".join(" ".join(f"{entry:g}" for entry in row) for row in K)
