"""Cameras from files and to files: one module per format, told apart by what a file holds."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration import (
    blender,
    camera_json,
    colmap_binary,
    colmap_text,
    intrinsics_text,
    k_txt,
    kalibr,
    meshroom,
    metashape,
    moge,
    mrcal,
    nerfstudio,
    opencv_file,
    ray_map_file,
    ros_camera_info,
)
from rayrelief.cameras.calibration.camera_text import is_camera_text, parse_camera
from rayrelief.cameras.calibration.document import naming_file, read_document
from rayrelief.cameras.calibration.reading import KOrder, Reader, Reading, Request
from rayrelief.cameras.plane import check_against_image
from rayrelief.errors import FileError

__all__ = [
    "READERS",
    "WRITERS",
    "KOrder",
    "Reading",
    "Request",
    "is_camera_text",
    "parse_camera",
    "read_calibration",
    "read_camera",
    "write_camera",
]

LOG = logging.getLogger(__name__)

# The first that recognises a file reads it: the stricter ones come first.
READERS: tuple[Reader, ...] = (
    camera_json,
    kalibr,
    ros_camera_info,
    nerfstudio,
    meshroom,
    blender,
    moge,
    opencv_file,
    metashape,
    mrcal,
    colmap_binary,
    colmap_text,
    intrinsics_text,
    k_txt,
)
# Formats that can be asked for by name; ray maps go by their suffix.
WRITERS = {
    "rayrelief": camera_json.write,
    "opencv": opencv_file.write,
    "ros": ros_camera_info.write,
    "kalibr": kalibr.write,
    "colmap": colmap_text.write,
    "nerfstudio": nerfstudio.write,
    "k": k_txt.write,
}


def read_camera(
    path: str | os.PathLike[str],
    *,
    height: int | None = None,
    width: int | None = None,
    which: str | None = None,
    k_order: KOrder = "auto",
) -> Camera:
    """Read a camera (OpenCV frame, pixels, pixel centres at integers) from any known calibration.

    What was detected or assumed is logged at the level INFO; `read_calibration` returns it.

    Parameters
    ----------
    path
        A calibration of OpenCV (YAML, XML, JSON), ROS, COLMAP, nerfstudio, Kalibr, Metashape,
        Meshroom, Blender, BlenderProc, mrcal, DSINE, MoGe, a K.txt, a camera.json of this library,
        or the ray of every pixel as .npy, .npz, .exr or .mat.
    height, width
        Size of the image that the camera is for: checked, needed by formats that do not hold it,
        and used to detect the order of a K.txt.
    which
        Name of the camera in a file with several (COLMAP: its number).
    k_order
        Order of a K.txt: ``"auto"``, ``"opencv"`` or ``"legacy"`` (older BiNI folders).
    """
    reading = read_calibration(path, Request(height, width, which, k_order))
    for note in reading.notes:
        LOG.info(note)
    return reading.camera


def read_calibration(path: str | os.PathLike[str], request: Request | None = None) -> Reading:
    """Read a camera, and say which format it was and what was detected or assumed about it."""
    path, request = Path(path), request or Request()
    is_ray_map = path.suffix.lower() in ray_map_file.READABLE
    reading = ray_map_file.read(path) if is_ray_map else _read_text_or_binary(path, request)
    if request.size is not None:
        with naming_file(path):
            reading.camera.check_resolution(request.size[1], request.size[0])
    return reading


def _read_text_or_binary(path: Path, request: Request) -> Reading:
    document = read_document(path)
    reader = next((each for each in READERS if each.recognises(document)), None)
    if reader is None:
        raise FileError(
            f"{path} is not a calibration that is known here",
            expected="one of: " + "; ".join(each.FORMAT for each in READERS),
            remedy="Check the file, or save the ray of every pixel as a .npy file",
        )
    with naming_file(path):
        reading = reader.read(document, request)
        size = reading.camera.resolution or request.size
        # A camera that this library wrote for a size may be that of a part of a larger image.
        cut = reader is camera_json and reading.camera.resolution is not None
        if size is not None and not cut:
            check_against_image(reading.camera, size[1], size[0])
    return Reading(reading.camera, (f"{path.name}: {reader.FORMAT}", *reading.notes))


def write_camera(
    path: str | os.PathLike[str],
    camera: Camera,
    *,
    height: int | None = None,
    width: int | None = None,
) -> None:
    """Write a camera (OpenCV frame, pixels) as .json, or the ray of every pixel as .npy/.npz/.exr.

    Parameters
    ----------
    path
        .json keeps the parameters bit for bit; .npy and .npz keep the unit rays of any central
        camera, .exr in single precision.
    height, width
        Size of the ray map; not needed for a camera that knows its resolution.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        camera_json.write(path, camera)
    elif suffix in ray_map_file.WRITABLE:
        ray_map_file.write(path, camera, height, width)
    else:
        raise unknown_suffix(Path(path), (".json", *ray_map_file.WRITABLE))


def unknown_suffix(path: Path, known: tuple[str, ...]) -> FileError:
    """Error for a file whose name does not tell a format that holds cameras."""
    return FileError(
        f"{path} has the suffix {path.suffix!r}" if path.suffix else f"{path} has no suffix",
        expected="one of " + ", ".join(known),
        remedy="Rename the file, or save the camera in one of these formats",
    )
