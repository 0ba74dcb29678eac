"""K.txt: a 3x3 camera matrix as text, in OpenCV order or in the order of older BiNI folders.

The old order counts rows first with the row axis pointing up: fx = K[1,1], fy = K[0,0],
cx = K[1,2], cy = height - 1 - K[0,2]. Nothing in the file says which order it has; the principal
point does, unless the image is nearly square.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import numpy as np

from rayrelief.cameras.calibration.calibration_file import naming_file, read_text
from rayrelief.cameras.pinhole import Pinhole, check_principal_point
from rayrelief.conventions import FloatArray
from rayrelief.errors import FileError, InputError

KOrder = Literal["auto", "opencv", "legacy"]
K_ORDERS = ("auto", "opencv", "legacy")

# One order is taken as detected if its principal point is this many times closer to the centre
# of the image than that of the other, and closer by this fraction of the longer side.
CLEARLY_CLOSER = 2.0
CLEAR_FRACTION = 0.02

EXPECTED = "three rows of three numbers: fx 0 cx, 0 fy cy, 0 0 1"


def read_k_txt(
    path: Path, *, height: int | None, width: int | None, k_order: KOrder = "auto"
) -> tuple[Pinhole, tuple[str, ...]]:
    """Read a camera matrix in pixels, pixel centres at integers, and say which order was taken.

    Parameters
    ----------
    path
        Three rows of three numbers.
    height, width
        Size of the image that the camera belongs to; without it the order cannot be detected.
    k_order
        ``"opencv"``, ``"legacy"`` (the old BiNI order) or ``"auto"`` (detect).
    """
    if k_order not in K_ORDERS:
        raise InputError(
            f"k_order={k_order!r}", expected="one of " + ", ".join(repr(name) for name in K_ORDERS)
        )
    K = parse_matrix(path)
    camera, notes = choose_order(path, K, height, width, k_order)
    if height is not None and width is not None:
        with naming_file(path):
            check_principal_point(camera, height, width)
    return camera, notes


def choose_order(
    path: Path, K: FloatArray, height: int | None, width: int | None, k_order: KOrder
) -> tuple[Pinhole, tuple[str, ...]]:
    """Camera of a matrix in the requested or detected order, with a note on why."""
    opencv = Pinhole(float(K[0, 0]), float(K[1, 1]), float(K[0, 2]), float(K[1, 2]))
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
        how = f"read in OpenCV order, which is assumed: {evidence}, which decides nothing"
        return opencv, (note(path, opencv, how, other="legacy"),)
    if from_centre < from_centre_legacy:
        how = f"read in OpenCV order, which was detected: {evidence}"
        return opencv, (note(path, opencv, how, other="legacy"),)
    how = f"read in the old BiNI order (rows first, row axis up), which was detected: {evidence}"
    return legacy, (note(path, legacy, how, other="opencv"),)


def parse_matrix(path: Path) -> FloatArray:
    """3x3 matrix of a text file, checked to be that of a camera without skew."""
    lines = [line.split("#")[0].replace(",", " ").split() for line in read_text(path).splitlines()]
    rows = [line for line in lines if line]
    if [len(row) for row in rows] != [3, 3, 3]:
        shape = ", ".join(str(len(row)) for row in rows) or "no"
        raise not_a_camera(path, f"{len(rows)} rows with {shape} entries")
    try:
        K = np.array([[float(entry) for entry in row] for row in rows])
    except ValueError as error:
        raise not_a_camera(path, f"text that is not a number ({error})") from error
    if not np.isfinite(K).all():
        raise not_a_camera(path, f"NaN or infinite numbers, {describe(K)}")
    if K[2].tolist() != [0.0, 0.0, 1.0]:
        raise not_a_camera(path, f"the last row {K[2, 0]:g} {K[2, 1]:g} {K[2, 2]:g}")
    if K[0, 0] * K[1, 1] == K[0, 1] * K[1, 0]:
        raise not_a_camera(path, f"a singular matrix, {describe(K)}")
    if K[0, 0] <= 0 or K[1, 1] <= 0:
        raise not_a_camera(path, f"the focal lengths {K[0, 0]:g} and {K[1, 1]:g}, not positive")
    if K[0, 1] != 0 or K[1, 0] != 0:
        raise FileError(
            f"{path} holds the skew {K[0, 1]:g} (and {K[1, 0]:g} below the diagonal)",
            expected="0: skew is not supported by this reader",
            remedy="Calibrate without skew, or give the rays of this camera as a ray map (.npy)",
        )
    return K


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


def not_a_camera(path: Path, found: str) -> FileError:
    """Error for a file that does not hold a camera matrix."""
    return FileError(
        f"{path} holds {found}", expected=EXPECTED, remedy="Write it with numpy.savetxt(path, K)"
    )


def describe(K: FloatArray) -> str:
    """Rows of a matrix on one line."""
    return "; ".join(" ".join(f"{entry:g}" for entry in row) for row in K)
