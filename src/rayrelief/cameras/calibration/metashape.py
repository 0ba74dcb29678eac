"""Metashape's XML: an exported calibration, or the sensors of exported cameras or of a project.

The manual's frame camera, with r^2 = x^2 + y^2 on the plane z = 1:
x' = x (1 + K1 r^2 + K2 r^4 + K3 r^6 + K4 r^8)
     + (P1 (r^2 + 2 x^2) + 2 P2 x y) (1 + P3 r^2 + P4 r^4),
y' likewise, u = w / 2 + cx + x' (f + B1) + y' B2, v = h / 2 + cy + y' f. Its first pixel has its
centre at (0.5, 0.5), and its P1 and P2 are OpenCV's p2 and p1. A fisheye is the same on the plane
of angles, or on that of 2 sin t/2 if it is equisolid. Panoramas have no lens: f alone.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import partial

from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration.document import Document, Entries, naming_file
from rayrelief.cameras.calibration.reading import Candidate, Reading, Request, choose
from rayrelief.cameras.cylindrical import Cylindrical
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.fisheye import Equisolid
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.metashape_lens import (
    MetashapeEquidistant,
    MetashapeEquisolid,
    MetashapeFrame,
    MetashapeLens,
)
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.thin_prism_fisheye import ThinPrismFisheye

FORMAT = "Metashape XML"

OLD_FISHEYE = "fisheye"
PANORAMAS = ("spherical", "cylindrical")
TYPES = ("frame", OLD_FISHEYE, "equidistant_fisheye", "equisolid_fisheye", *PANORAMAS)
RADIAL = ("k1", "k2", "k3", "k4")
DECENTRING = ("p1", "p2", "p3", "p4")
OFFSETS = ("cx", "cy", "b1", "b2")
KNOWN = {"projection", "date", "resolution", "width", "height", "f", *OFFSETS, *RADIAL, *DECENTRING}

EXPORTED = "calibration"  # name of the only camera of such a file
NOTE = "principal point from the image centre, pixel centres from .5: cx + width / 2 - 0.5"
SWAPPED = "P1 and P2 are OpenCV's p2 and p1"
GROWING = "P3 and P4 read as the factor 1 + P3 r^2 + P4 r^4 of P1 and P2"
IDLE = "P3 and P4 have no effect: P1 and P2, which they multiply, are 0"
OLD_NAME = "the type fisheye read as equidistant, the only one before Metashape 2.3"
ON_CYLINDER = "cylindrical read as azimuth and height on a unit cylinder, both multiplied by f"
OTHER_WAY = "Undistort the images in Metashape, or give the rays of this camera as a ray map (.npy)"


def recognises(document: Document) -> bool:
    """Whether XML is a calibration with a projection, or has sensors."""
    root = document.content
    return document.syntax == "xml" and (
        root.find(".//sensor") is not None
        or (root.tag == "calibration" and root.find("projection") is not None)
    )


def read(document: Document, request: Request) -> Reading:
    """Camera of the calibration, or of the sensor: the only one, or the one asked for by its id."""
    cameras: dict[str, Candidate] = {}
    for name, entries in _calibrations(document):
        if name in cameras:
            raise document.error(f"the sensor {name} appears twice", expected="each id once")
        cameras[name] = Candidate(partial(_read_camera, entries, name), partial(_size, entries))
    if not cameras:
        raise document.error(
            "no sensor has a calibration",
            expected="a calibration in at least one of them",
            remedy="Align the photos first, then export the cameras or the calibration",
        )
    return choose(document.path, cameras, request)


def _calibrations(document: Document) -> Iterator[tuple[str, Entries]]:
    """Name and calibration of every sensor that has one; the adjusted one rather than the first."""
    root: ET.Element = document.content
    if root.tag == "calibration":
        yield EXPORTED, _entries(document, root, "calibration.", "")
        return
    chunks = root.findall(".//chunk") or [root]
    labels = [chunk.get("label", str(index)) for index, chunk in enumerate(chunks)]
    if len(set(labels)) < len(labels):
        labels = [str(index) for index in range(len(chunks))]
    for label, chunk in zip(labels, chunks, strict=True):
        for sensor in chunk.iter("sensor"):
            name = (f"{label}/" if len(chunks) > 1 else "") + sensor.get("id", "")
            calibration = _calibration(sensor)
            if calibration is not None:
                where = f"sensor {name}: calibration."
                yield name, _entries(document, calibration, where, sensor.get("type", ""))


def _calibration(sensor: ET.Element) -> ET.Element | None:
    """Calibration of a sensor: a panorama needs none besides its resolution."""
    found = {each.get("class"): each for each in sensor.findall("calibration")}
    for kind in ("adjusted", "initial", None):
        if kind in found:
            return found[kind]
    if sensor.get("type") != "spherical":
        return None
    calibration = ET.Element("calibration")
    calibration.extend(sensor.findall("resolution"))
    return calibration


def _entries(document: Document, calibration: ET.Element, where: str, kind: str) -> Entries:
    """Texts of a calibration by their tags, its attributes among them."""
    content: dict[str, str | None] = {"projection": calibration.get("type") or kind or None}
    for child in calibration:
        if child.tag == "resolution":
            content |= {side: child.get(side) for side in ("width", "height")}
        else:
            content[child.tag] = (child.text or "").strip()
    return Entries(document.path, content, where)


def _size(entries: Entries) -> tuple[int, int]:
    return entries.size("width", "height")


def _read_camera(entries: Entries, name: str) -> Reading:
    """Camera of a calibration in which no tag is left over."""
    unknown = [tag for tag in entries.content if tag not in KNOWN]
    if unknown:
        expected = "only " + ", ".join(sorted(KNOWN - {"date"}))
        raise entries.error(unknown[0], "is not a known entry", expected, OTHER_WAY)
    with naming_file(entries.path, "" if name == EXPORTED else f"sensor {name}"):
        camera = _camera(entries)
    return Reading(camera, (NOTE, *_assumptions(entries, camera)))


def _assumptions(entries: Entries, camera: IntrinsicCamera) -> Iterator[str]:
    """What a user has to know who compares the camera with the file."""
    if entries.text("projection") == OLD_FISHEYE:
        yield OLD_NAME
    if isinstance(camera, Cylindrical):
        yield ON_CYLINDER
    p1, p2, p3, p4 = (entries.number(key, 0.0) for key in DECENTRING)
    decentred = p1 != 0 or p2 != 0
    if decentred and not isinstance(camera, MetashapeLens):
        yield SWAPPED
    if p3 != 0 or p4 != 0:
        yield GROWING if decentred else IDLE


def _camera(entries: Entries) -> IntrinsicCamera:
    kind = entries.text("projection")
    if kind not in TYPES:
        expected = "one of " + ", ".join(TYPES)
        raise entries.error("projection", f"is {kind!r}", expected, OTHER_WAY)
    size = _size(entries)
    centre = ((size[0] - 1) / 2, (size[1] - 1) / 2)
    if kind in PANORAMAS:
        return _panorama(entries, kind, size, centre)
    f = entries.positive("f")
    cx, cy, b1, b2 = (entries.number(key, 0.0) for key in OFFSETS)
    if f + b1 <= 0:
        raise entries.error("b1", f"is {b1:g}", f"a number above -f, which is {-f:g}")
    intrinsics = (f + b1, f, centre[0] + cx, centre[1] + cy)
    k1, k2, k3, k4 = radial = [entries.number(key, 0.0) for key in RADIAL]
    p1, p2, p3, p4 = decentring = [entries.number(key, 0.0) for key in DECENTRING]
    decentred = p1 != 0 or p2 != 0
    growing = decentred and (p3 != 0 or p4 != 0)
    if kind == "frame":
        if growing or k4 != 0:
            return MetashapeFrame(*intrinsics, *radial, *decentring, skew=b2, size=size)
        if decentred or any(radial):
            return BrownConrady(*intrinsics, k1, k2, p2, p1, k3, skew=b2, size=size)
        return Pinhole(*intrinsics, skew=b2, size=size)
    if kind == "equisolid_fisheye":
        if decentred or any(radial):
            return MetashapeEquisolid(*intrinsics, *radial, *decentring, skew=b2, size=size)
        return Equisolid(*intrinsics, skew=b2, size=size)
    if growing:
        return MetashapeEquidistant(*intrinsics, *radial, *decentring, skew=b2, size=size)
    if decentred:
        return ThinPrismFisheye(*intrinsics, k1, k2, p2, p1, k3, k4, skew=b2, size=size)
    return KannalaBrandt(*intrinsics, k1, k2, k3, k4, skew=b2, size=size)


def _panorama(
    entries: Entries, kind: str, size: tuple[int, int], centre: tuple[float, float]
) -> IntrinsicCamera:
    """Panorama with f pixels per radian; without f a sphere of 360 by 180 degrees."""
    for key in (*OFFSETS, *RADIAL, *DECENTRING):
        value = entries.number(key, 0.0)
        if value != 0:
            expected = f"0: this term of Metashape's {kind} model is not supported"
            raise entries.error(key, f"is {value:g}", expected, OTHER_WAY)
    if kind == "spherical" and "f" not in entries:
        if size[0] != 2 * size[1]:
            expected = "the pixels per radian, since the width is not twice the height"
            raise entries.error("f", "is missing", expected)
        return Equirectangular.full(size[1], size[0])
    f = entries.positive("f")
    model = Cylindrical if kind == "cylindrical" else Equirectangular
    return model(f, f, *centre, size=size)
