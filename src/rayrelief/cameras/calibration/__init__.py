"""Cameras from files and to files: one module per format, recognised by the file's content."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration import (
    array_file,
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
    photo,
    ray_map_file,
    ros_camera_info,
)
from rayrelief.cameras.calibration.camera_text import EXPECTED, is_camera_text, parse_camera
from rayrelief.cameras.calibration.document import Document, naming_file, read_document
from rayrelief.cameras.calibration.reading import KOrder, Reader, Reading, Request
from rayrelief.cameras.intrinsics import (
    SMALLEST_JUDGED,
    IntrinsicCamera,
    check_against_image,
    outside_note,
)
from rayrelief.errors import FileError, InputError
from rayrelief.io.sources import as_path, check_suffix

__all__ = [
    "READERS",
    "WRITERS",
    "KOrder",
    "Reading",
    "Request",
    "check_format",
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
        A calibration of OpenCV (YAML, XML, JSON, NPZ), ROS, COLMAP, nerfstudio, Kalibr, Metashape,
        Meshroom, Blender, BlenderProc, mrcal, DSINE, MoGe, a K.txt or K.npy, a camera.json of this
        library, or the ray of every pixel as .npy, .npz, .exr or .mat.
    height, width
        Size of the image: checked against the file, needed by formats that do not store it, and
        used to detect the order of a K.txt.
    which
        Name of the camera in a file with several (COLMAP: its number; nerfstudio: the path of a
        frame, or the end of it).
    k_order
        Order of a K.txt or K.npy: ``"auto"``, ``"opencv"`` or ``"legacy"`` (older BiNI folders);
        refused for other files, which have only one.
    """
    reading = read_calibration(path, Request(height, width, which, k_order))
    for note in reading.notes:
        LOG.info(note)
    return reading.camera


@np.errstate(invalid="ignore", over="ignore")  # files hold any bits
def read_calibration(path: str | os.PathLike[str], request: Request | None = None) -> Reading:
    """Read a camera, and say which format it was and what was detected or assumed about it."""
    path, request = as_path(path), request or Request()
    _check_word(path)
    others = dict.fromkeys(array_file.READABLE, array_file.read)
    others |= dict.fromkeys(photo.READABLE, photo.read)
    form, reading = others.get(path.suffix.lower(), _read_document)(path, request)
    _check_request(path, form, reading, request)
    with naming_file(path, "" if reading.name is None else f"camera {reading.name}"):
        _check_camera(form, reading.camera, request.size)
    doubts = _doubts(form, reading.camera)
    size = request.size or reading.camera.resolution
    if size is not None and form != camera_json.FORMAT:
        doubts += outside_note(reading.camera, size[1], size[0])
    return replace(reading, notes=(f"{path.name}: {form}", *reading.notes, *doubts))


def _check_word(path: Path) -> None:
    """Raise FileError for a word that is not known, and no file."""
    is_word = path.parent == Path() and not path.suffix.strip(".0123456789")
    if is_word and not path.exists():
        raise FileError(
            f"the camera '{path}' is no file, and no word that is known",
            expected=EXPECTED,
            remedy="Give one of these, or the path of a calibration file",
        )


def check_format(path: Path) -> None:
    """Raise FileError unless a file looks like a calibration, whatever image it may be for."""
    if path.suffix.lower() not in (*array_file.READABLE, *photo.READABLE):
        _reader_of(path)


def _read_document(path: Path, request: Request) -> tuple[str, Reading]:
    """Name of the format that a text or a binary file is of, and its camera."""
    document, reader = _reader_of(path)
    with naming_file(path):
        return reader.FORMAT, reader.read(document, request)


def _reader_of(path: Path) -> tuple[Document, Reader]:
    """What a text or a binary file holds, and who can read it."""
    document = read_document(path)
    reader = next((each for each in READERS if each.recognises(document)), None)
    if reader is None and camera_json.resembles(document):
        return document, camera_json
    if reader is None:
        raise FileError(
            f"{path} is not in a known calibration format",
            expected="one of: " + "; ".join(each.FORMAT for each in READERS),
            remedy="Check the file, or save the ray of every pixel as a .npy file",
        )
    return document, reader


def _check_request(path: Path, form: str, reading: Reading, request: Request) -> None:
    """Raise InputError for what was asked of a file that leaves nothing to choose."""
    if (
        not (isinstance(request.k_order, str) and request.k_order == "auto")
        and form != k_txt.FORMAT
    ):
        raise InputError(
            f"k_order={request.k_order!r} (--k-order) was given for {path}, which holds: {form}",
            expected=f"a {k_txt.FORMAT}, the only format with two orders",
            remedy="Leave it out for this camera",
        )
    if request.which is not None and reading.name is None:
        raise InputError(
            f"which={request.which!r} (--which) was given for {path}, which holds: {form}",
            expected="a format that can hold several cameras, with names",
            remedy="Leave it out for this camera",
        )


def _check_camera(form: str, camera: Camera, image: tuple[int, int] | None) -> None:
    """Raise CameraError for a camera that cannot be that of its image, (width, height)."""
    # A camera that this library wrote for a size may be that of a part of a larger image.
    cut = form == camera_json.FORMAT and camera.resolution is not None
    size = camera.resolution or image
    if size is not None and not cut:
        check_against_image(camera, size[1], size[0])
    if image is not None:
        camera.check_resolution(image[1], image[0])


def _doubts(form: str, camera: Camera) -> tuple[str, ...]:
    """Note on a principal point that may be that of a part of an image, or in another unit."""
    if form == camera_json.FORMAT or not isinstance(camera, IntrinsicCamera) or camera.panoramic:
        return ()
    if camera.size is None or min(camera.size) < SMALLEST_JUDGED:
        return ()
    # Those of formats with pixel centres at .5 have been moved.
    if not all(-0.5 <= place <= 1 for place in (camera.cx, camera.cy)):
        return ()
    place = f"the principal point ({camera.cx:g}, {camera.cy:g})"
    return (f"{place} lies in the corner of the image: is it normalised?",)


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
        Size of the ray map; not needed for a camera with a resolution.
    """
    path = as_path(path)
    known, remedy = (".json", *ray_map_file.WRITABLE), "Save the camera in one of these formats"
    check_suffix(path, known, "a camera", remedy)
    if path.suffix.lower() == ".json":
        camera_json.write(path, camera)
    else:
        ray_map_file.write(path, camera, height, width)
