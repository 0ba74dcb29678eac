"""Metashape's XML: an exported calibration, or the sensors of exported cameras or of a project.

The manual's frame camera, with r^2 = x^2 + y^2 on the plane z = 1:
x' = x (1 + K1 r^2 + K2 r^4 + K3 r^6 + K4 r^8) + (P1 (r^2 + 2 x^2) + 2 P2 x y) (1 + P3 r^2 + ...),
y' likewise, u = w / 2 + cx + x' (f + B1) + y' B2, v = h / 2 + cy + y' f. Its first pixel has its
centre at (0.5, 0.5), and its P1 and P2 are OpenCV's p2 and p1. A fisheye is the same on the plane
of angles.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration.document import Document, Entries, naming_file
from rayrelief.cameras.calibration.reading import Reading, Request, choose
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.fisheye import Equisolid
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.plane import PlaneCamera
from rayrelief.cameras.thin_prism_fisheye import ThinPrismFisheye

FORMAT = "Metashape XML"

TYPES = ("frame", "fisheye", "equidistant_fisheye", "equisolid_fisheye", "spherical")
RADIAL = ("k1", "k2", "k3", "k4")
DECENTRING = ("p1", "p2", "p3", "p4")
OFFSETS = ("cx", "cy", "b1", "b2")
KNOWN = {"projection", "date", "resolution", "width", "height", "f", *OFFSETS, *RADIAL, *DECENTRING}

NOTE = "principal point from the image centre, pixel centres from .5: cx + width / 2 - 0.5"
SWAPPED = "P1 and P2 are OpenCV's p2 and p1"
OTHER_WAY = "Undistort the images in Metashape, or give the rays of this camera as a ray map (.npy)"


def recognises(document: Document) -> bool:
    """Whether XML is a calibration with a projection, or has sensors."""
    root = document.content
    if document.syntax != "xml":
        return False
    exported = root.tag == "calibration" and root.find("projection") is not None
    return exported or root.find(".//sensor") is not None


def read(document: Document, request: Request) -> Reading:
    """Camera of the calibration, or of the sensor: the only one, or the one asked for by its id."""
    cameras: dict[str, Camera] = {}
    notes = [NOTE]
    for name, entries in _calibrations(document):
        with naming_file(document.path):
            cameras[name] = _camera(entries)
        if any(entries.number(key, 0.0) for key in ("p1", "p2")) and SWAPPED not in notes:
            notes.append(SWAPPED)
    if not cameras:
        raise document.error(
            "no sensor has a calibration",
            expected="a calibration in at least one of them",
            remedy="Align the photos first, then export the cameras or the calibration",
        )
    reading = choose(document.path, cameras, request)
    return replace(reading, notes=(*reading.notes, *notes))


def _calibrations(document: Document) -> Iterator[tuple[str, Entries]]:
    """Name and calibration of every sensor that has one; the adjusted one rather than the first."""
    root: ET.Element = document.content
    if root.tag == "calibration":
        yield "calibration", _entries(document, root, "calibration.", "")
        return
    chunks = root.findall(".//chunk")
    for index, chunk in enumerate(chunks or [root]):
        place = f"{chunk.get('label', index)}/" if len(chunks) > 1 else ""
        for sensor in chunk.iter("sensor"):
            name = place + sensor.get("id", "")
            found = {each.get("class"): each for each in sensor.findall("calibration")}
            classes = [kind for kind in ("adjusted", "initial", None) if kind in found]
            if classes:
                where = f"sensor {name}: calibration."
                yield name, _entries(document, found[classes[0]], where, sensor.get("type", ""))


def _entries(document: Document, calibration: ET.Element, where: str, kind: str) -> Entries:
    """Texts of a calibration by their tags, its attributes among them."""
    content: dict[str, str | None] = {"projection": calibration.get("type") or kind or None}
    for child in calibration:
        if child.tag == "resolution":
            content |= {side: child.get(side) for side in ("width", "height")}
        else:
            content[child.tag] = (child.text or "").strip()
    entries = Entries(document.path, content, where)
    unknown = [tag for tag in content if tag not in KNOWN]
    if unknown:
        expected = "only " + ", ".join(sorted(KNOWN - {"date"}))
        raise entries.error(unknown[0], "is not known here", expected, OTHER_WAY)
    return entries


def _camera(entries: Entries) -> PlaneCamera:
    kind = entries.text("projection")
    if kind not in TYPES:
        expected = "one of " + ", ".join(TYPES)
        raise entries.error("projection", f"is {kind!r}", expected, OTHER_WAY)
    size = entries.size("width", "height")
    centre = ((size[0] - 1) / 2, (size[1] - 1) / 2)
    if kind == "spherical":
        _require_zero(entries, kind, *OFFSETS, *RADIAL, *DECENTRING)
        return _panorama(entries, size, centre)
    f = entries.number("f")
    cx, cy, b1, b2 = (entries.number(key, 0.0) for key in OFFSETS)
    k1, k2, k3, k4 = (entries.number(key, 0.0) for key in RADIAL)
    p2, p1, *_ = (entries.number(key, 0.0) for key in DECENTRING)
    lens = (f + b1, f, centre[0] + cx, centre[1] + cy)
    if kind == "frame":
        _require_zero(entries, kind, "k4", "p3", "p4")
        if any((k1, k2, k3, p1, p2)):
            return BrownConrady(*lens, k1, k2, p1, p2, k3, skew=b2, size=size)
        return Pinhole(*lens, skew=b2, size=size)
    if kind == "equisolid_fisheye":
        _require_zero(entries, kind, *RADIAL, *DECENTRING)
        return Equisolid(*lens, skew=b2, size=size)
    _require_zero(entries, kind, "p3", "p4")
    if p1 == p2 == 0:
        return KannalaBrandt(*lens, k1, k2, k3, k4, skew=b2, size=size)
    return ThinPrismFisheye(*lens, k1, k2, p1, p2, k3, k4, 0.0, 0.0, skew=b2, size=size)


def _panorama(
    entries: Entries, size: tuple[int, int], centre: tuple[float, float]
) -> Equirectangular:
    """Panorama with f pixels per radian; without f one of 360 by 180 degrees."""
    if "f" in entries:
        f = entries.number("f")
        return Equirectangular(f, f, *centre, size=size)
    if size[0] != 2 * size[1]:
        expected = "the pixels per radian, since the width is not twice the height"
        raise entries.error("f", "is missing", expected)
    return Equirectangular.full(size[1], size[0])


def _require_zero(entries: Entries, kind: str, *keys: str) -> None:
    for key in keys:
        value = entries.number(key, 0.0)
        if value != 0:
            expected = f"0: no camera here has this term of Metashape's {kind} model"
            raise entries.error(key, f"is {value:g}", expected, OTHER_WAY)
