"""Meshroom's SfMData (.sfm): the intrinsics of AliceVision as JSON.

What its fields mean has changed with the version of the file. AliceVision samples images with
pixel centres at integers, and counts the principal point from (width / 2, height / 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration.document import Document, Entries, naming_file
from rayrelief.cameras.calibration.reading import Candidate, Reading, Request, choose
from rayrelief.cameras.field_of_view import FieldOfView
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.plane import PlaneCamera

FORMAT = "Meshroom SfMData"

# Camera of a distortion, and what its parameters are called there.
DISTORTIONS: Mapping[str, tuple[type[PlaneCamera], tuple[str, ...]]] = {
    "none": (Pinhole, ()),
    "radialk1": (BrownConrady, ("k1",)),
    "radialk3": (BrownConrady, ("k1", "k2", "k3")),
    "brown": (BrownConrady, ("k1", "k2", "k3", "p1", "p2")),
    "fisheye": (KannalaBrandt, ("k1", "k2", "k3", "k4")),
    "fisheye1": (FieldOfView, ("omega",)),
}
# Older files name the distortion together with the camera.
TYPES = {
    "pinhole": "none",
    "radial1": "radialk1",
    "radial3": "radialk3",
    "brown": "brown",
    "fisheye4": "fisheye",
    "fisheye1": "fisheye1",
}
Version = tuple[float, ...]
OFFSETS_SINCE: Version = (1, 2, 1)
TWO_FOCAL_LENGTHS_SINCE: Version = (1, 2, 0)
MILLIMETRES_SINCE: Version = (1, 2, 2)
PIXEL_RATIO_SINCE: Version = (1, 2, 5)

NOTE = "principal point from (width / 2, height / 2), pixel centres at integers as in AliceVision"
OTHER_WAY = "Export undistorted images, or give the rays of this camera as a ray map (.npy)"


def recognises(document: Document) -> bool:
    """Whether JSON holds a list of intrinsics that are mappings, or a version beside views."""
    intrinsics = document.mapping.get("intrinsics")
    if document.syntax != "json" or not isinstance(intrinsics, list):
        return False
    named = bool(intrinsics) and isinstance(intrinsics[0], dict)
    return named or ("version" in document.mapping and "views" in document.mapping)


def read(document: Document, request: Request) -> Reading:
    """Camera of the file: the only one, or the one asked for by its intrinsicId."""
    entries = document.entries()
    version = tuple(entries.numbers("version", 3))
    cameras: dict[str, Candidate] = {}
    for index, intrinsic in enumerate(entries.value("intrinsics")):
        where = f"intrinsics[{index}]"
        if not isinstance(intrinsic, dict):
            raise entries.error(where, "is not a mapping", "a mapping with intrinsicId, width, ...")
        each = Entries(document.path, intrinsic, f"{where}.")
        name = str(each.value("intrinsicId"))
        if name in cameras:
            raise each.error("intrinsicId", f"{name} stands twice", "each one once")
        cameras[name] = Candidate(partial(_read_camera, each, version), partial(_size, each))
    return choose(document.path, cameras, request)


def _size(entries: Entries) -> tuple[int, int]:
    return entries.size("width", "height")


def _read_camera(entries: Entries, version: Version) -> Reading:
    distortion = _distortion(entries)
    kind, names = DISTORTIONS[distortion]
    size = _size(entries)
    fx, fy = _focal_lengths(entries, version, size[0])
    cx, cy = entries.numbers("principalPoint", 2)
    if version >= OFFSETS_SINCE:
        cx, cy = cx + size[0] / 2, cy + size[1] / 2
    named: dict[str, Any] = dict(zip(names, _parameters(entries, len(names)), strict=True))
    with naming_file(entries.path, f"intrinsicId {entries.value('intrinsicId')}"):
        return Reading(kind(fx, fy, cx, cy, **named, size=size), (NOTE,))


def _distortion(entries: Entries) -> str:
    """Name of the distortion, of this or of an older version."""
    kind = entries.text("type").lower()
    if "distortionType" not in entries:
        if kind not in TYPES:
            raise entries.error("type", f"is {kind!r}", "one of " + ", ".join(TYPES), OTHER_WAY)
        return TYPES[kind]
    if kind != "pinhole":
        raise entries.error("type", f"is {kind!r}", "pinhole beside a distortionType", OTHER_WAY)
    distortion = entries.text("distortionType").lower()
    if distortion not in DISTORTIONS:
        expected = "one of " + ", ".join(DISTORTIONS)
        raise entries.error("distortionType", f"is {distortion!r}", expected, OTHER_WAY)
    if "undistortionType" in entries and entries.text("undistortionType").lower() != "none":
        found = f"is {entries.text('undistortionType')!r}"
        raise entries.error("undistortionType", found, "none", OTHER_WAY)
    return distortion


def _focal_lengths(entries: Entries, version: Version, width: int) -> tuple[float, float]:
    """Focal lengths in pixels."""
    if version < TWO_FOCAL_LENGTHS_SINCE:
        f = entries.number("pxFocalLength")
        return f, f
    if version < MILLIMETRES_SINCE:
        fx, fy = entries.numbers("pxFocalLength", 2)
        return fx, fy
    sensor_width, ratio = entries.number("sensorWidth"), entries.number("pixelRatio", 1.0)
    for key, value in (("sensorWidth", sensor_width), ("pixelRatio", ratio)):
        if value <= 0:
            raise entries.error(key, f"is {value:g}", "a positive number")
    fx = entries.number("focalLength") / sensor_width * width
    # Before, the field held fx / fy under the same name.
    return fx, fx * ratio if version >= PIXEL_RATIO_SINCE else fx / ratio


def _parameters(entries: Entries, count: int) -> list[float]:
    """Distortion parameters; an empty list is written as an empty text."""
    if count == 0 and entries.content.get("distortionParams") in (None, ""):
        return []
    return entries.numbers("distortionParams", count)
