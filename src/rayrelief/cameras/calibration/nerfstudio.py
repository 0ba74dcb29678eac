"""nerfstudio's transforms.json, and that of instant-ngp and of Blender's NeRF scenes.

Intrinsics stand at the top level, or in each frame where they differ. nerfstudio distorts a
perspective image by k1, k2, k3 (r^2, r^4, r^6), p1 and p2 as OpenCV does, and a fisheye by k1 to
k4. A panorama has fl_x / pi pixels per radian of longitude, fl_y / pi of latitude.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration.document import Document, Entries, as_number, naming_file
from rayrelief.cameras.calibration.half_pixel import (
    NOTE,
    from_integer_centres,
    to_integer_centres,
)
from rayrelief.cameras.calibration.reading import GIVE_SIZE, Candidate, Reading, Request, choose
from rayrelief.cameras.calibration.writing import does_not_fit
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.io.atomic import write_whole

FORMAT = "nerfstudio transforms.json"

PERSPECTIVE = ("SIMPLE_PINHOLE", "PINHOLE", "SIMPLE_RADIAL", "RADIAL", "OPENCV")
MODELS = (*PERSPECTIVE, "OPENCV_FISHEYE", "EQUIRECTANGULAR")
TERMS = {  # distortion that a model has, and so may be other than 0
    "SIMPLE_PINHOLE": (),
    "PINHOLE": (),
    "SIMPLE_RADIAL": ("k1",),
    "RADIAL": ("k1", "k2"),
    "OPENCV": ("k1", "k2", "k3", "p1", "p2"),
    "OPENCV_FISHEYE": ("k1", "k2", "k3", "k4"),
    "EQUIRECTANGULAR": (),
}
DISTORTION = ("k1", "k2", "k3", "k4", "k5", "k6", "p1", "p2")
ANGLES = ("camera_angle_x", "camera_angle_y")
INTRINSICS = ("camera_model", "is_fisheye", "fl_x", "fl_y", "cx", "cy", "w", "h", *DISTORTION)


def recognises(document: Document) -> bool:
    """Whether JSON has a focal length fl_x or an angle, at the top level or in a frame."""
    frames = document.mapping.get("frames")
    first = frames[0] if isinstance(frames, list) and frames else {}
    frame = first if isinstance(first, dict) else {}
    marks = ("fl_x", "fl_y", *ANGLES, "transform_matrix")
    return document.syntax == "json" and any(
        mark in mapping for mapping in (document.mapping, frame) for mark in marks
    )


def read(document: Document, request: Request) -> Reading:
    """Camera of all frames, or of the one asked for by its file_path."""
    # Numbers as text: the principal point is moved by half a pixel to the last digit.
    content = json.loads(document.text, parse_float=str)
    top = Entries(document.path, content)
    frames: dict[str, list[Entries]] = {}
    for name, entries in _frames(top):
        frames.setdefault(name, []).append(entries)
    cameras = {
        name: Candidate(
            partial(_read_frames, top, same, request), partial(_size, top, same[0], request)
        )
        for name, same in frames.items()
    }
    return choose(document.path, cameras, request)


def write(path: str | os.PathLike[str], camera: Camera) -> None:
    """Write a camera that nerfstudio can express, and that knows its size, without frames."""
    values = _values(camera)
    if values is None:
        expected = (
            "a pinhole, k1 k2 k3 p1 p2 of OpenCV, a Kannala-Brandt fisheye, or a panorama of 360 "
            "by 180 degrees, without skew"
        )
        raise does_not_fit(path, camera, expected)
    lines = [f'  "{key}": {value},\n' for key, value in values.items()]
    text = "{\n" + "".join(lines) + '  "frames": []\n}\n'
    write_whole(path, text)


def _frames(top: Entries) -> Iterator[tuple[str, Entries]]:
    """Name and intrinsics of each frame; of the file itself where it has none."""
    frames = top.content.get("frames") or []
    if not isinstance(frames, list):
        raise top.error("frames", "is not a list", "a list of frames")
    if not frames:
        yield "all", Entries(top.path, {})
    for index, frame in enumerate(frames):
        if not isinstance(frame, dict):
            raise top.error(f"frames[{index}]", "is not a mapping", "a mapping with a file_path")
        name = str(frame.get("file_path", index))
        yield name, Entries(top.path, frame, f"frames[{index}].")


def _merged(top: Entries, frame: Entries) -> Entries:
    """Entries of a frame together with those that stand at the top level for all frames."""
    shared = [key for key in (*INTRINSICS, *ANGLES) if key in top]
    for key in shared:
        if key in frame and _differ(frame.value(key), top.value(key)):
            found = f"is {frame.value(key)} and {top.value(key)} at the top level"
            raise frame.error(key, found, "one of them, or the same value")
    return replace(frame, content={**frame.content, **{key: top.value(key) for key in shared}})


def _differ(one: object, other: object) -> bool:
    number = as_number(one)
    return one != other and (number is None or number != as_number(other))


def _read_frames(top: Entries, frames: list[Entries], request: Request) -> Reading:
    """Camera of the frames of one file, which are one frame as a rule."""
    first = _read_frame(_merged(top, frames[0]), request)
    for frame in frames[1:]:
        if _read_frame(_merged(top, frame), request).camera != first.camera:
            found = f"{frame.content.get('file_path')!r} appears twice, with two cameras"
            raise frame.error("file_path", found, "one camera for each file")
    return first


def _size(top: Entries, frame: Entries, request: Request) -> tuple[int, int] | None:
    return _image_size(_merged(top, frame), request)


def _image_size(entries: Entries, request: Request) -> tuple[int, int] | None:
    """(width, height) of a frame, or that of the image where the file does not tell it."""
    return entries.size("w", "h") if "w" in entries or "h" in entries else request.size


def _read_frame(entries: Entries, request: Request) -> Reading:
    file = f" ({entries.value('file_path')})" if "file_path" in entries else ""
    with naming_file(entries.path, entries.where.rstrip(".") + file):
        camera, note = _camera(entries, request)
    return Reading(camera, (NOTE, note) if note else (NOTE,))


def _camera(entries: Entries, request: Request) -> tuple[IntrinsicCamera, str]:
    """Camera of a frame, and a note on what was taken for granted."""
    distortion = {key: entries.number(key, 0.0) for key in DISTORTION}
    model = _model(entries, distortion)
    for key, value in distortion.items():
        if value != 0 and key not in TERMS[model]:
            terms = ", ".join(TERMS[model]) or "no distortion"
            expected = f"0: {model} has {terms}"
            remedy = "Undistort the images, or give the rays of this camera as a ray map (.npy)"
            raise entries.error(key, f"is {value:g}", expected, remedy)
    size = _image_size(entries, request)
    lens, note = _lens(entries, size)
    named = {key: distortion[key] for key in TERMS[model]}
    if model == "EQUIRECTANGULAR":
        lens = {**lens, "fx": lens["fx"] / math.pi, "fy": lens["fy"] / math.pi}
        return Equirectangular(**lens, size=size), note
    if model == "OPENCV_FISHEYE":
        return KannalaBrandt(**lens, **named, size=size), note
    if named:
        return BrownConrady(**lens, **named, size=size), note
    return Pinhole(**lens, size=size), note


def _model(entries: Entries, distortion: dict[str, float]) -> str:
    """Model that a frame names, or that its other entries tell."""
    fisheye = entries.value("is_fisheye") if "is_fisheye" in entries else False
    if not isinstance(fisheye, bool):
        raise entries.error("is_fisheye", f"is {fisheye!r}", "true or false")
    if "camera_model" not in entries:
        if fisheye:
            return "OPENCV_FISHEYE"
        return "OPENCV" if any(distortion.values()) else "PINHOLE"
    model = entries.text("camera_model", *MODELS)
    if fisheye and model != "OPENCV_FISHEYE":
        expected = "OPENCV_FISHEYE, since is_fisheye is true"
        raise entries.error("camera_model", f"is {model}", expected)
    return model


def _lens(entries: Entries, size: tuple[int, int] | None) -> tuple[dict[str, float], str]:
    """Focal lengths and principal point in pixels, from lengths or from angles."""
    if "fl_x" in entries or "camera_angle_x" not in entries:
        numbers = {"fx": entries.number("fl_x"), "fy": entries.number("fl_y")}
        for key in ("cx", "cy"):
            entries.number(key)
            numbers[key] = to_integer_centres(entries.value(key))
        return numbers, ""
    if size is None:
        expected = "the image size, which an angle needs: w and h in the file, or given with it"
        raise entries.error("w", "is missing", expected, GIVE_SIZE)
    fx = _focal_length(entries, "camera_angle_x", size[0])
    square = "camera_angle_y" not in entries
    fy = fx if square else _focal_length(entries, "camera_angle_y", size[1])
    note = "focal length from camera_angle_x" + (", pixels assumed to be square" if square else "")
    numbers = {"fx": fx, "fy": fy}
    for key, side in zip(("cx", "cy"), size, strict=True):
        entries.number(key, 0.0)
        numbers[key] = to_integer_centres(entries.value(key) if key in entries else side / 2)
    centred = "cx" not in entries and "cy" not in entries
    return numbers, note + (", principal point in the centre" if centred else "")


def _focal_length(entries: Entries, key: str, side: int) -> float:
    angle = entries.number(key)
    if not 0 < angle < math.pi:
        raise entries.error(key, f"is {angle:g}", "an angle between 0 and pi, in radians")
    return 0.5 * side / math.tan(angle / 2)


def _values(camera: Camera) -> dict[str, str] | None:
    """Entries of transforms.json as JSON; None where it cannot express a camera."""
    if not isinstance(camera, IntrinsicCamera) or camera.skew != 0:
        return None
    width, height = camera.known_resolution()
    lens = (camera.fx, camera.fy)
    if type(camera) is Equirectangular and camera == Equirectangular.full(height, width):
        model, lens = "EQUIRECTANGULAR", (width / 2, float(height))
    elif type(camera) is Pinhole:
        model = "PINHOLE"
    elif type(camera) is KannalaBrandt:
        model = "OPENCV_FISHEYE"
    elif type(camera) is BrownConrady and _is_opencv(camera):
        model = "OPENCV"
    else:
        return None
    values: dict[str, Any] = {
        "camera_model": json.dumps(model),
        "fl_x": repr(float(lens[0])),
        "fl_y": repr(float(lens[1])),
        "cx": from_integer_centres(camera.cx),
        "cy": from_integer_centres(camera.cy),
        "w": str(width),
        "h": str(height),
    }
    return values | {key: repr(float(getattr(camera, key))) for key in TERMS[model]}


def _is_opencv(camera: BrownConrady) -> bool:
    """Whether a camera has no terms besides those of nerfstudio."""
    terms = {key: getattr(camera, key) for key in TERMS["OPENCV"]}
    plain = BrownConrady(camera.fx, camera.fy, camera.cx, camera.cy, **terms, size=camera.size)
    return camera == plain
