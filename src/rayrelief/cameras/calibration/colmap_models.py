"""COLMAP's camera models: their numbers, names and parameters, and the cameras that they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration.half_pixel import from_integer_centres, to_integer_centres
from rayrelief.cameras.division import Division
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.extended_unified import ExtendedUnified
from rayrelief.cameras.field_of_view import FieldOfView
from rayrelief.cameras.fisheye import Equidistant
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.thin_prism_fisheye import RadTanThinPrismFisheye, ThinPrismFisheye
from rayrelief.errors import CameraError


@dataclass(frozen=True)
class Model:
    """A model of COLMAP.

    Attributes
    ----------
    number, name
        What it is called in binary files and in text files.
    kind
        The camera that it is.
    parameters
        Fields of that camera in COLMAP's order; "f" is both focal lengths.
    """

    number: int
    name: str
    kind: type[IntrinsicCamera]
    parameters: tuple[str, ...]

    def camera(self, values: Sequence[str | float], size: tuple[int, int]) -> IntrinsicCamera:
        """Camera from COLMAP's parameters, as numbers or as their text; CameraError if none."""
        if self.kind is Equirectangular:
            return _panorama(values, size)
        named: dict[str, Any] = {}
        for name, value in zip(self.parameters, values, strict=True):
            if name == "f":
                named["fx"] = named["fy"] = float(value)
            elif name in ("cx", "cy"):
                named[name] = to_integer_centres(value)
            else:
                named[name] = float(value)
        return self.kind(**named, size=size)

    def values(self, camera: IntrinsicCamera) -> list[str] | None:
        """Texts of COLMAP's parameters of a camera; None where this model cannot express it."""
        if type(camera) is not self.kind:
            return None
        size = camera.known_resolution()
        if self.kind is Equirectangular:
            whole = camera == Equirectangular.full(size[1], size[0])
            return [str(side) for side in size] if whole else None
        own = {field.name: getattr(camera, field.name) for field in fields(camera)}
        texts = []
        for name in self.parameters:
            value = own["fx"] if name == "f" else own[name]
            texts.append(
                from_integer_centres(value) if name in ("cx", "cy") else repr(float(value))
            )
        return texts if self.camera(texts, size) == camera else None


# Numbers, names and parameters of the models that each camera has.
TABLE: dict[type[IntrinsicCamera], dict[int, str]] = {
    Pinhole: {0: "SIMPLE_PINHOLE f cx cy", 1: "PINHOLE fx fy cx cy"},
    BrownConrady: {
        2: "SIMPLE_RADIAL f cx cy k1",
        3: "RADIAL f cx cy k1 k2",
        4: "OPENCV fx fy cx cy k1 k2 p1 p2",
        6: "FULL_OPENCV fx fy cx cy k1 k2 p1 p2 k3 k4 k5 k6",
    },
    KannalaBrandt: {
        5: "OPENCV_FISHEYE fx fy cx cy k1 k2 k3 k4",
        8: "SIMPLE_RADIAL_FISHEYE f cx cy k1",
        9: "RADIAL_FISHEYE f cx cy k1 k2",
    },
    FieldOfView: {7: "FOV fx fy cx cy omega"},
    ThinPrismFisheye: {10: "THIN_PRISM_FISHEYE fx fy cx cy k1 k2 p1 p2 k3 k4 s1 s2"},
    RadTanThinPrismFisheye: {
        11: "RAD_TAN_THIN_PRISM_FISHEYE fx fy cx cy k0 k1 k2 k3 k4 k5 p0 p1 s0 s1 s2 s3"
    },
    Division: {12: "SIMPLE_DIVISION f cx cy k", 13: "DIVISION fx fy cx cy k"},
    Equidistant: {14: "SIMPLE_FISHEYE f cx cy", 15: "FISHEYE fx fy cx cy"},
    ExtendedUnified: {16: "EUCM fx fy cx cy alpha beta"},
    Equirectangular: {17: "EQUIRECTANGULAR width height"},
}
# Of several models of one kind the first that expresses a camera is written.
MODELS = tuple(
    Model(number, text.split()[0], kind, tuple(text.split()[1:]))
    for kind, texts in TABLE.items()
    for number, text in texts.items()
)
BY_NAME: Mapping[str, Model] = {model.name: model for model in MODELS}
BY_NUMBER: Mapping[int, Model] = {model.number: model for model in MODELS}


def obstacle(camera: Camera) -> tuple[str, str]:
    """What keeps a camera from being one of COLMAP's (words that follow its name), and these."""
    models = [model for model in MODELS if type(camera) is model.kind]
    if not models or not isinstance(camera, IntrinsicCamera):
        return "", "one of COLMAP's models: " + ", ".join(BY_NAME)
    if isinstance(camera, Equirectangular):
        width, height = camera.known_resolution()
        across, down = (math.degrees(w / f) for w, f in ((width, camera.fx), (height, camera.fy)))
        found = f" of {across:g} x {down:g} degrees around the pixel ({camera.cx:g}, {camera.cy:g})"
        return found, "a whole panorama: 360 x 180 degrees, the z axis in the middle of the image"
    largest = max(models, key=lambda model: len(model.parameters))
    others = (each for each in fields(camera) if each.name not in (*largest.parameters, "size"))
    values = ((other, getattr(camera, other.name)) for other in others)
    unsaid = (f"{other.name} = {value:g}" for other, value in values if value != other.default)
    expected = f"only {', '.join(largest.parameters)} for COLMAP's {largest.name}"
    return " with " + ", ".join(unsaid), expected


def _panorama(values: Sequence[str | float], size: tuple[int, int]) -> Equirectangular:
    width, height = (float(value) for value in values)
    if (width, height) != size:
        raise CameraError(
            f"a panorama of {width:g}x{height:g} pixels in an image of {size[0]}x{size[1]}",
            expected="the same size for both",
            remedy="Write the camera again for the size of the image",
        )
    return Equirectangular.full(size[1], size[0])
