"""Blender's camera settings as JSON, and the camera.json and scene_camera.json of BlenderProc.

Blender's pixel centres lie at .5. A shift moves the picture by a fraction of the side that the
sensor is fitted to. Panoramas and the equidistant fisheye are stretched to fill the image, whatever
its sides and those of its pixels are; the other fisheyes have a sensor. BlenderProc writes the K
matrices of the BOP format, whose pixel centres are at integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration.document import Document, Entries, naming_file
from rayrelief.cameras.calibration.matrix_entries import read_camera_matrix
from rayrelief.cameras.calibration.reading import Candidate, Reading, Request, choose
from rayrelief.cameras.cylindrical import Cylindrical
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.fisheye import Equidistant, Equisolid
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.polynomial_fisheye import PolynomialFisheye

FORMAT = "Blender camera"

TYPES = ("PERSP", "ORTHO", "PANO")
FITS = ("AUTO", "HORIZONTAL", "VERTICAL")
PANORAMAS = (
    *("EQUIRECTANGULAR", "CENTRAL_CYLINDRICAL"),
    *("FISHEYE_EQUIDISTANT", "FISHEYE_EQUISOLID", "FISHEYE_LENS_POLYNOMIAL"),
)
POLYNOMIAL = tuple(f"fisheye_polynomial_k{power}" for power in range(5))
BOP = ("fx", "fy", "cx", "cy", "depth_scale")
# Radians, by which a setting of Blender may miss the angle that it stands for.
SINGLE_PRECISION = 1e-6

BLENDER_NOTE = "Blender's pixel centres moved from .5 to integers"
BOP_NOTE = "K of the BOP format, pixel centres at integers"


def recognises(document: Document) -> bool:
    """Whether JSON holds Blender's settings, one BOP camera, or those of a BOP scene."""
    content = document.mapping
    if document.syntax != "json":
        return False
    settings = "resolution_x" in content and any(
        key in content for key in ("lens", "sensor_width", "ortho_scale", "panorama_type")
    )
    return settings or all(key in content for key in BOP) or _is_scene(document)


def read(document: Document, request: Request) -> Reading:
    """Camera of the settings, or of the image that is asked for by its number."""
    entries = document.entries()
    if _is_scene(document):
        cameras = {
            str(key): Candidate(partial(_read_bop, entries, key), size=_no_size)
            for key in document.mapping
        }
        return choose(document.path, cameras, request)
    with naming_file(document.path):
        if "resolution_x" in entries:
            return Reading(_blender_camera(entries), (BLENDER_NOTE,))
        fx, fy = entries.positive("fx"), entries.positive("fy")
        cx, cy = entries.number("cx"), entries.number("cy")
        camera = Pinhole(fx, fy, cx, cy, size=entries.size("width", "height"))
        return Reading(camera, (BOP_NOTE,))


def _is_scene(document: Document) -> bool:
    return any(isinstance(each, dict) and "cam_K" in each for each in document.mapping.values())


def _read_bop(scene: Entries, key: str) -> Reading:
    """Camera of an image of a BOP scene, whose size stands nowhere in the file."""
    matrix = read_camera_matrix(scene.entries(key), "cam_K")
    with naming_file(scene.path, f"entry {key}"):
        return Reading(Pinhole(**matrix, size=None), (BOP_NOTE,))


def _no_size() -> None:
    return None


@dataclass(frozen=True)
class Frame:
    """The rendered image, and the side of it that the sensor is fitted to."""

    width: int
    height: int
    ratio: float
    """Height of a pixel over its width."""
    side: float
    """Length of the fitted side, in widths of a pixel."""

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        return self.width, self.height


def _blender_camera(entries: Entries) -> Camera:
    kind = entries.text("type", *TYPES) if "type" in entries else "PERSP"
    frame = _frame(entries)
    shift_x, shift_y = (entries.number(key, 0.0) for key in ("shift_x", "shift_y"))
    # To the right and up for the picture, that is to the left and down for the principal point.
    cx = (frame.width - 1) / 2 - shift_x * frame.side
    cy = (frame.height - 1) / 2 + shift_y * frame.side / frame.ratio
    if kind == "PERSP":
        fx = _on_sensor(entries, frame, entries.positive("lens"))
        return Pinhole(fx, fx / frame.ratio, cx, cy, size=frame.size)
    if kind == "ORTHO":
        if frame.ratio != 1:
            raise entries.error("pixel_aspect_y", "differs from pixel_aspect_x", "square pixels")
        return Orthographic(entries.positive("ortho_scale") / frame.side, cx, cy, size=frame.size)
    for key, shift in (("shift_x", shift_x), ("shift_y", shift_y)):
        if shift != 0:
            raise entries.error(key, f"is {shift:g}", "0 for a panorama")
    return _panorama(entries, frame, cx, cy)


def _panorama(entries: Entries, frame: Frame, cx: float, cy: float) -> Camera:
    kind = entries.text("panorama_type", *PANORAMAS)
    if kind == "EQUIRECTANGULAR":
        across, up = _turn(entries, "longitude"), _range(entries, "latitude", math.pi / 2)
        for key, latitude in zip(("latitude_min", "latitude_max"), up, strict=True):
            if abs(latitude) > math.pi / 2:
                raise entries.error(key, f"is {latitude:g}", "an angle up to pi / 2, in radians")
        return Equirectangular(*_stretched(frame, across, up), size=frame.size)
    if kind == "CENTRAL_CYLINDRICAL":
        across = _turn(entries, "central_cylindrical_range_u")
        up = _range(entries, "central_cylindrical_range_v", 1.0)
        fx, fy, cx, cy = _stretched(frame, across, up)
        radius = entries.positive("central_cylindrical_radius", 1.0)
        return Cylindrical(fx, fy * radius, cx, cy, size=frame.size)
    return _fisheye(entries, frame, kind, cx, cy)


def _fisheye(entries: Entries, frame: Frame, kind: str, cx: float, cy: float) -> Camera:
    fov = entries.number("fisheye_fov")
    if not 0 < fov <= 2 * math.pi + SINGLE_PRECISION:
        raise entries.error("fisheye_fov", f"is {fov:g}", "an angle up to 2 pi, in radians")
    widest = min(fov / 2, math.pi)  # beyond, Cycles leaves the image black
    if kind == "FISHEYE_EQUIDISTANT":
        fx, fy = frame.width / fov, frame.height / fov
        return Equidistant(fx, fy, cx, cy, size=frame.size, widest=widest)
    if kind == "FISHEYE_EQUISOLID":
        fx = _on_sensor(entries, frame, entries.positive("fisheye_lens"))
        return Equisolid(fx, fx / frame.ratio, cx, cy, size=frame.size, widest=widest)
    fx = _on_sensor(entries, frame, 1.0)
    k = [0.0 - entries.number(key) for key in POLYNOMIAL]  # and none is -0.0
    if k[1] <= 0:
        expected = "a negative number: the angle is -(k0 + k1 r + ...)"
        raise entries.error(POLYNOMIAL[1], f"is {-k[1]:g}", expected)
    return PolynomialFisheye(fx, fx / frame.ratio, cx, cy, *k, size=frame.size, widest=widest)


def _range(entries: Entries, name: str, usual: float) -> tuple[float, float]:
    """Ends of a range, which are the usual ones if they are so in single precision."""
    low, high = (
        end if abs(entries.number(key, end) - end) <= SINGLE_PRECISION else entries.number(key)
        for key, end in ((f"{name}_min", -usual), (f"{name}_max", usual))
    )
    if low >= high:
        expected = f"a number above {name}_min, which is {low:g}"
        raise entries.error(f"{name}_max", f"is {high:g}", expected)
    return low, high


def _turn(entries: Entries, name: str) -> tuple[float, float]:
    """Ends of a range of angles that is a turn at most."""
    low, high = _range(entries, name, math.pi)
    if high - low > 2 * math.pi + SINGLE_PRECISION:
        expected = f"at most 2 pi above {name}_min, which is {low:g}"
        raise entries.error(f"{name}_max", f"is {high:g}", expected)
    return low, high


def _stretched(
    frame: Frame, across: tuple[float, float], up: tuple[float, float]
) -> tuple[float, float, float, float]:
    """fx, fy, cx and cy of an image that shows a plane between two ends to the right, and up."""
    (left, right), (bottom, top) = across, up
    cx = frame.width * (-left / (right - left)) - 0.5
    cy = frame.height * (top / (top - bottom)) - 0.5
    return frame.width / (right - left), frame.height / (top - bottom), cx, cy


def _on_sensor(entries: Entries, frame: Frame, millimetres: float) -> float:
    """A length on the sensor, in widths of a pixel."""
    vertical = "sensor_fit" in entries and entries.text("sensor_fit", *FITS) == "VERTICAL"
    sensor = "sensor_height" if vertical else "sensor_width"  # AUTO takes it for both sides
    return millimetres * frame.side / entries.positive(sensor)


def _frame(entries: Entries) -> Frame:
    percentage = entries.number("resolution_percentage", 100.0)
    width, height = (_side(entries, key, percentage) for key in ("resolution_x", "resolution_y"))
    ratio = entries.positive("pixel_aspect_y", 1.0) / entries.positive("pixel_aspect_x", 1.0)
    if ratio == 0:
        raise entries.error(
            "pixel_aspect_y", "is too small next to pixel_aspect_x", "a similar number"
        )
    fit = entries.text("sensor_fit", *FITS) if "sensor_fit" in entries else "AUTO"
    vertical = fit == "VERTICAL" or (fit == "AUTO" and height * ratio > width)
    return Frame(width, height, ratio, height * ratio if vertical else float(width))


def _side(entries: Entries, key: str, percentage: float) -> int:
    scaled = entries.integer(key) * percentage / 100
    if scaled < 1 or not scaled.is_integer():
        found = f"is {scaled:g} pixels at a resolution_percentage of {percentage:g}"
        raise entries.error(key, found, "a whole number of pixels")
    return int(scaled)
