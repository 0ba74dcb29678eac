"""ROS: the YAML of camera_calibration, and the message CameraInfo as text or JSON."""

from __future__ import annotations

import os

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration.document import Document, Entries, naming_file
from rayrelief.cameras.calibration.matrix_entries import (
    read_camera_matrix,
    read_matrix,
    read_vector,
)
from rayrelief.cameras.calibration.opencv_lens import (
    camera_matrix,
    lens_camera,
    lens_coefficients,
    skew_notes,
)
from rayrelief.cameras.calibration.reading import Reading, Request
from rayrelief.cameras.calibration.writing import does_not_fit, list_text
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.io.atomic import write_whole

FORMAT = "ROS camera_info"

# How many coefficients each model may have; image_geometry hands them to OpenCV as they are.
MODELS = {
    "plumb_bob": (0, 4, 5),
    "rational_polynomial": (8, 12, 14),
    "equidistant": (4,),
}
# Matrix, coefficients, width and height: in a file of camera_calibration, and in the message of
# ROS 2 and of ROS 1.
KEYS = (
    ("camera_matrix", "distortion_coefficients", "image_width", "image_height"),
    ("k", "d", "width", "height"),
    ("K", "D", "width", "height"),
)


def recognises(document: Document) -> bool:
    """Whether a document names a ROS distortion model or camera beside a matrix or a size."""
    content = document.mapping
    named = "distortion_model" in content or "camera_name" in content
    return named and any(key in content for keys in KEYS for key in keys)


def read(document: Document, request: Request) -> Reading:
    """Camera of the raw image, as it is after the binning and the region of a message."""
    entries = document.entries()
    keys = next((keys for keys in KEYS if keys[0] in entries), KEYS[0])
    matrix_key, lens_key, width, height = keys
    if not any(number for row in read_matrix(entries, matrix_key) for number in row):
        raise entries.error(
            matrix_key,
            "is zero, which in ROS means that the camera is not calibrated",
            "the matrix of a calibrated camera",
            "Calibrate the camera, or give fx,fy,cx,cy",
        )
    intrinsics = read_camera_matrix(entries, matrix_key)
    for focal in ("fx", "fy"):
        if intrinsics[focal] <= 0:
            found = f"has {focal} = {intrinsics[focal]:g}"
            raise entries.error(matrix_key, found, "positive focal lengths, in pixels")
    lens = read_vector(entries, lens_key)
    model, notes = _read_model(entries, lens)
    if len(lens) not in MODELS[model]:
        wanted = " or ".join(map(str, MODELS[model]))
        raise entries.error(lens_key, f"holds {len(lens)} values", f"{wanted} numbers for {model}")
    size = entries.size(width, height)
    camera: IntrinsicCamera
    with naming_file(document.path):
        if model == "equidistant":
            k1, k2, k3, k4 = lens
            camera = KannalaBrandt(**intrinsics, k1=k1, k2=k2, k3=k3, k4=k4, size=size)
        else:
            camera = lens_camera(intrinsics, lens, size)
        camera, captured = _as_captured(entries, camera, size)
    notes = (*notes, *skew_notes(matrix_key, intrinsics), *captured)
    if any(lens):
        notes += ("camera of the raw image; rectified images have that of the projection matrix",)
    return Reading(camera, notes)


def write(path: str | os.PathLike[str], camera: Camera) -> None:
    """Write a Pinhole, BrownConrady or KannalaBrandt of known size as camera_calibration does."""
    if isinstance(camera, KannalaBrandt):
        model, lens = "equidistant", [camera.k1, camera.k2, camera.k3, camera.k4]
    elif isinstance(camera, Pinhole | BrownConrady):
        lens = lens_coefficients(camera)
        model = "plumb_bob" if len(lens) <= 5 else "rational_polynomial"
    else:
        raise does_not_fit(path, camera, "a Pinhole, BrownConrady or KannalaBrandt camera")
    if len(lens) > 8:
        because = " with thin prism terms or tilt"
        raise does_not_fit(path, camera, f"at most k1 to k6, p1 and p2 for {FORMAT}", because)
    width, height = camera.known_resolution()
    matrix = camera_matrix(path, camera, FORMAT)
    projection = [*matrix[:3], 0.0, *matrix[3:6], 0.0, *matrix[6:], 0.0]
    identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    lines = [
        f"image_width: {int(width)}",
        f"image_height: {int(height)}",
        "camera_name: camera",
        *_matrix_lines("camera_matrix", 3, matrix),
        f"distortion_model: {model}",
        *_matrix_lines("distortion_coefficients", 1, lens),
        *_matrix_lines("rectification_matrix", 3, identity),
        *_matrix_lines("projection_matrix", 3, projection),
    ]
    write_whole(path, "\n".join(lines) + "\n")


def _read_model(entries: Entries, lens: list[float]) -> tuple[str, tuple[str, ...]]:
    """Name of the distortion model, and a note where ROS assumes one."""
    if "distortion_model" not in entries:
        return "plumb_bob", ("no distortion_model in the file: read as plumb_bob, as ROS does",)
    if entries.value("distortion_model") == "" and not any(lens):
        return "plumb_bob", ("the distortion_model is empty: read as a lens without distortion",)
    return entries.text("distortion_model", *MODELS), ()


def _as_captured(
    entries: Entries, camera: IntrinsicCamera, size: tuple[int, int]
) -> tuple[IntrinsicCamera, tuple[str, ...]]:
    """Camera of the region and the binning that a message tells; its matrix is for neither."""
    notes: tuple[str, ...] = ()
    left, top, (width, height) = 0, 0, size
    if "roi" in entries:
        roi = entries.entries("roi")
        left, top = _whole(roi, "x_offset"), _whole(roi, "y_offset")
        region = _whole(roi, "width"), _whole(roi, "height")
        if (left, top, *region) not in ((0, 0, 0, 0), (0, 0, *size)):
            width, height = roi.size("width", "height")
            camera = camera.crop(left, top, width, height)
            notes = (f"cropped to roi, {width}x{height} pixels from ({left}, {top})",)
    across, down = max(_whole(entries, "binning_x"), 1), max(_whole(entries, "binning_y"), 1)
    if (across, down) != (1, 1):
        columns, rows = width // across, height // down
        if columns == 0 or rows == 0:
            key = "binning_x" if columns == 0 else "binning_y"
            raise entries.error(key, "leaves no pixel", f"at most {width}x{height}")
        whole = camera.crop(0, 0, columns * across, rows * down)
        camera = whole.resize(columns, rows)
        notes += (f"scaled for binning: {across}x{down} pixels become one at their common centre",)
    return camera, notes


def _whole(entries: Entries, key: str) -> int:
    """An integer >= 0; a missing one is 0."""
    number = entries.number(key, 0.0)
    if number < 0 or number != int(number):
        raise entries.error(key, f"is {number:g}", "an integer >= 0")
    return int(number)


def _matrix_lines(key: str, rows: int, numbers: list[float]) -> list[str]:
    cols = len(numbers) // rows
    return [f"{key}:", f"  rows: {rows}", f"  cols: {cols}", f"  data: {list_text(numbers)}"]
