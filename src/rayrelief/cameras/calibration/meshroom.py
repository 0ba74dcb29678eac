"""Meshroom's SfMData (.sfm): the intrinsics of AliceVision as JSON.

What its fields mean has changed with the version of the file. AliceVision samples images with
pixel centres at integers, and counts the principal point from (width / 2, height / 2). Distortion
acts on the plane z = 1 of a pinhole, but on the unit disk of the image circle of a fisheye.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import accumulate
from operator import mul
from typing import Any

from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration.document import Document, Entries, naming_file
from rayrelief.cameras.calibration.reading import Candidate, Reading, Request, choose
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.field_of_view import FieldOfView
from rayrelief.cameras.fisheye import Equidistant
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.pinhole import Pinhole

FORMAT = "Meshroom SfMData"

# What the parameters of a distortion are called here.
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "radialk1": ("k1",),
    "radialk3": ("k1", "k2", "k3"),
    "radialk3pt": ("k1", "k2", "k3"),
    "brown": ("k1", "k2", "k3", "p1", "p2"),
    "fisheye": ("k1", "k2", "k3", "k4"),
    "fisheye1": ("omega",),
}
# The distortions that go with each type of camera, and the cameras that they make.
CAMERAS: Mapping[str, Mapping[str, type[IntrinsicCamera]]] = {
    "pinhole": {
        "none": Pinhole,
        **dict.fromkeys(("radialk1", "radialk3", "radialk3pt", "brown"), BrownConrady),
        "fisheye": KannalaBrandt,
        "fisheye1": FieldOfView,
    },
    "equidistant": {
        "none": Equidistant,
        **dict.fromkeys(("radialk1", "radialk3", "radialk3pt"), KannalaBrandt),
    },
    "equirectangular": {"none": Equirectangular},
}
# Older files name the distortion together with the camera.
TYPES = {
    "pinhole": ("pinhole", "none"),
    "radial1": ("pinhole", "radialk1"),
    "radial3": ("pinhole", "radialk3"),
    "brown": ("pinhole", "brown"),
    "fisheye4": ("pinhole", "fisheye"),
    "fisheye1": ("pinhole", "fisheye1"),
    "equidistant": ("equidistant", "none"),
    "equidistant_r3": ("equidistant", "radialk3pt"),
}
Version = tuple[float, ...]
OFFSETS_SINCE: Version = (1, 2, 1)
TWO_FOCAL_LENGTHS_SINCE: Version = (1, 2, 0)
MILLIMETRES_SINCE: Version = (1, 2, 2)
PIXEL_RATIO_SINCE: Version = (1, 2, 5)

NOTE = "principal point from (width / 2, height / 2), pixel centres at integers as in AliceVision"
CIRCLE_NOTE = "the fisheye circle of the file was not applied: pixels outside it have rays too"
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
            raise each.error("intrinsicId", f"{name} appears twice", "each one once")
        cameras[name] = Candidate(partial(_read_camera, each, version), partial(_size, each))
    return choose(document.path, cameras, request)


def _size(entries: Entries) -> tuple[int, int]:
    return entries.size("width", "height")


def _read_camera(entries: Entries, version: Version) -> Reading:
    kind, distortion = _model(entries)
    names = PARAMETERS[distortion]
    values = _parameters(entries, len(names))
    size = _size(entries)
    fx, fy = _focal_lengths(entries, version, size[0])
    cx, cy = entries.numbers("principalPoint", 2)
    if version >= OFFSETS_SINCE:
        cx, cy = cx + size[0] / 2, cy + size[1] / 2
    whole = _factor_at_one(entries, values) if distortion == "radialk3pt" else 1.0
    notes: tuple[str, ...] = (NOTE,)
    if kind == "equidistant":
        radius, per_radian = _circle(entries, fx, size)
        fx = fy = radius * per_radian
        powers = accumulate([per_radian * per_radian] * len(values), mul)
        values = [value * power for value, power in zip(values, powers, strict=True)]
        notes = (NOTE, CIRCLE_NOTE)
    named: dict[str, Any] = dict(zip(names, values, strict=True))
    with naming_file(entries.path, f"intrinsicId {entries.value('intrinsicId')}"):
        camera = CAMERAS[kind][distortion](fx / whole, fy / whole, cx, cy, **named, size=size)
    return Reading(camera, notes)


def _model(entries: Entries) -> tuple[str, str]:
    """Names of the camera and of its distortion, of this or of an older version."""
    kind = entries.text("type").lower()
    if "distortionType" not in entries:
        if kind not in TYPES:
            raise entries.error("type", f"is {kind!r}", "one of " + ", ".join(TYPES), OTHER_WAY)
        return TYPES[kind]
    if kind not in CAMERAS:
        raise entries.error("type", f"is {kind!r}", "one of " + ", ".join(CAMERAS), OTHER_WAY)
    distortion = entries.text("distortionType").lower()
    if distortion not in CAMERAS[kind]:
        known = ", ".join(CAMERAS[kind])
        found = f"is {distortion!r} for the type {kind!r}"
        raise entries.error("distortionType", found, f"one of {known}", OTHER_WAY)
    if "undistortionType" in entries and entries.text("undistortionType").lower() != "none":
        found = f"is {entries.text('undistortionType')!r}"
        raise entries.error("undistortionType", found, "none", OTHER_WAY)
    return kind, distortion


def _factor_at_one(entries: Entries, values: list[float]) -> float:
    """Radial factor 1 + k1 + k2 + k3 at the radius 1, by which "radialk3pt" divides all others."""
    factor = 1 + sum(values)
    if factor <= 0:
        expected = "a positive factor at the radius 1"
        raise entries.error("distortionParams", f"has 1 + k1 + k2 + k3 = {factor:g}", expected)
    return factor


def _circle(entries: Entries, fx: float, size: tuple[int, int]) -> tuple[float, float]:
    """Radius of the image circle, in pixels, and the part of it that is a radian off the axis.

    The field of view in the circle is the shorter side of the sensor over the focal length.
    """
    width, height = entries.positive("sensorWidth"), entries.positive("sensorHeight")
    per_radian = 2 * fx * width / (min(width, height) * max(size))
    return entries.positive("fisheyeCircleRadius"), per_radian


def _focal_lengths(entries: Entries, version: Version, width: int) -> tuple[float, float]:
    """Focal lengths in pixels."""
    if version < TWO_FOCAL_LENGTHS_SINCE:
        f = entries.positive("pxFocalLength")
        return f, f
    if version < MILLIMETRES_SINCE:
        fx, fy = entries.numbers("pxFocalLength", 2)
        return fx, fy
    ratio = entries.positive("pixelRatio", 1.0)
    fx = entries.positive("focalLength") / entries.positive("sensorWidth") * width
    # Before, the field held fx / fy under the same name.
    return fx, fx * ratio if version >= PIXEL_RATIO_SINCE else fx / ratio


def _parameters(entries: Entries, count: int) -> list[float]:
    """Distortion parameters; an empty list is written as an empty text."""
    if count == 0 and entries.content.get("distortionParams") in (None, ""):
        return []
    return entries.numbers("distortionParams", count)
