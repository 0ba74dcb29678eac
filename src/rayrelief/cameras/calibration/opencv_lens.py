"""OpenCV's lens distortion: its coefficients as a list, which several formats share."""

from __future__ import annotations

import os

from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration.writing import does_not_fit
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.pinhole import Pinhole

# k1 k2 p1 p2 | k3 | k4 k5 k6 | s1 s2 s3 s4 | tilt_x tilt_y: a list ends at one of the bars.
COUNTS = (0, 4, 5, 8, 12, 14)
NAMES = (
    *("k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6"),
    *("s1", "s2", "s3", "s4", "tilt_x", "tilt_y"),
)


def lens_camera(
    intrinsics: dict[str, float], coefficients: list[float], size: tuple[int, int] | None
) -> Pinhole | BrownConrady:
    """Camera of a camera matrix and a list of coefficients: a pinhole if all of them are zero."""
    if not any(coefficients):
        return Pinhole(**intrinsics, size=size)
    named = dict(zip(NAMES, coefficients, strict=False))
    return BrownConrady(**intrinsics, **named, size=size)


def lens_coefficients(camera: Pinhole | BrownConrady) -> list[float]:
    """Coefficients of a camera in OpenCV's order: 5, or as many more as are not zero."""
    if isinstance(camera, Pinhole):
        return [0.0] * 5
    values = [float(getattr(camera, name)) for name in NAMES]
    count = next(count for count in COUNTS if count >= 5 and not any(values[count:]))
    return values[:count]


def camera_matrix(path: str | os.PathLike[str], camera: IntrinsicCamera, form: str) -> list[float]:
    """The nine numbers of a camera matrix, row by row, for a format whose programs know no skew."""
    if camera.skew:
        because = f" with the skew {camera.skew:g}"
        raise does_not_fit(path, camera, f"a camera without skew for {form}", because)
    numbers = (camera.fx, 0.0, camera.cx, 0.0, camera.fy, camera.cy, 0.0, 0.0, 1.0)
    return [float(number) for number in numbers]


def skew_notes(key: str, intrinsics: dict[str, float]) -> tuple[str, ...]:
    """Note on a skew, since the tools that write such files do not know it."""
    skew = intrinsics["skew"]
    return (f"{key} has the skew {skew:g}, which was kept; OpenCV leaves it out",) if skew else ()
