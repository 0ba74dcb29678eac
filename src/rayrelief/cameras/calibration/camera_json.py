"""camera.json: the library's own description of a camera; numbers survive bit for bit."""

from __future__ import annotations

import json
import os
from dataclasses import MISSING, fields
from typing import Any

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.cahvor import Cahvor
from rayrelief.cameras.calibration.document import Document, Entries, naming_file
from rayrelief.cameras.calibration.matrix_entries import read_size
from rayrelief.cameras.calibration.reading import Reading, Request
from rayrelief.cameras.calibration.writing import does_not_fit
from rayrelief.cameras.cylindrical import Cylindrical
from rayrelief.cameras.division import Division
from rayrelief.cameras.double_sphere import DoubleSphere
from rayrelief.cameras.equirectangular import Equirectangular, TransverseEquirectangular
from rayrelief.cameras.extended_unified import ExtendedUnified
from rayrelief.cameras.field_of_view import FieldOfView
from rayrelief.cameras.fisheye import Equidistant, Equisolid, Stereographic
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.metashape_lens import (
    MetashapeEquidistant,
    MetashapeEquisolid,
    MetashapeFrame,
)
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.polynomial_fisheye import PolynomialFisheye
from rayrelief.cameras.thin_prism_fisheye import RadTanThinPrismFisheye, ThinPrismFisheye
from rayrelief.cameras.unified import Unified
from rayrelief.io.atomic import write_whole

FORMAT = "camera.json of this library"
SIGN = "rayrelief-camera"
VERSION = 1
TYPE = "type"  # of a camera in a report: the name of its class

Parametric = IntrinsicCamera | Orthographic
MODELS: dict[str, type[Parametric]] = {
    "pinhole": Pinhole,
    "brown_conrady": BrownConrady,
    "cahvor": Cahvor,
    "kannala_brandt": KannalaBrandt,
    "thin_prism_fisheye": ThinPrismFisheye,
    "rad_tan_thin_prism_fisheye": RadTanThinPrismFisheye,
    "metashape_frame": MetashapeFrame,
    "metashape_equidistant": MetashapeEquidistant,
    "metashape_equisolid": MetashapeEquisolid,
    "equidistant": Equidistant,
    "equisolid": Equisolid,
    "stereographic": Stereographic,
    "polynomial_fisheye": PolynomialFisheye,
    "field_of_view": FieldOfView,
    "division": Division,
    "unified": Unified,
    "extended_unified": ExtendedUnified,
    "double_sphere": DoubleSphere,
    "equirectangular": Equirectangular,
    "transverse_equirectangular": TransverseEquirectangular,
    "cylindrical": Cylindrical,
    "orthographic": Orthographic,
}


def recognises(document: Document) -> bool:
    """Whether a document says that it is a camera of this library."""
    return document.mapping.get("format") == SIGN


def resembles(document: Document) -> bool:
    """Whether JSON that no reader recognises can be meant for a camera of this library.

    Also one as a report tells it: its parameters alone, beside the type of a camera that is no
    pinhole.
    """
    content = document.mapping
    named = any(kind.__name__ == content.get(TYPE) for kind in MODELS.values())
    alike = named or "fx" in content or {"model", "parameters"} <= content.keys()
    return document.syntax == "json" and alike


def read(document: Document, request: Request) -> Reading:
    """Camera of a document, every parameter checked; lengths in pixels."""
    entries = document.entries()
    if not recognises(document) and "parameters" not in entries:
        types = {kind.__name__: kind for kind in MODELS.values()}
        plain = {name: value for name, value in entries.content.items() if name != TYPE}
        kind = types[entries.text(TYPE, *types)] if TYPE in entries else Pinhole
        return _read(kind, Entries(document.path, plain))
    entries.text("format", SIGN)
    if entries.value("version") != VERSION:
        raise entries.error(
            "version",
            f"is {entries.value('version')!r}",
            f"version {VERSION}",
            "Install a newer rayrelief, or write the camera again",
        )
    return _read(MODELS[entries.text("model", *MODELS)], entries.entries("parameters"))


def _read(kind: type[Parametric], parameters: Entries) -> Reading:
    """Camera of its parameters, none of which is unknown, missing or no number."""
    known = {field.name: field for field in fields(kind)}
    for name in parameters.content:
        if name not in known:
            raise parameters.error(name, "is unknown", "only " + ", ".join(known))
    required = [name for name, field in known.items() if field.default is MISSING]
    present = [name for name in parameters.content if name not in ("size", *required)]
    values: dict[str, Any] = {name: parameters.number(name) for name in (*required, *present)}
    if "size" in parameters:
        values["size"] = read_size(parameters, "size")
    with naming_file(parameters.path):
        return Reading(kind(**values))


def write(path: str | os.PathLike[str], camera: Camera) -> None:
    """Write a camera with parameters (not a ray map) so that it reads back bit for bit."""
    model = next((name for name, kind in MODELS.items() if type(camera) is kind), None)
    if model is None or not isinstance(camera, Parametric):
        expected = "a camera with parameters: " + ", ".join(MODELS)
        remedy = "Write its rays as a ray map: give the file the suffix .npy"
        raise does_not_fit(path, camera, expected, remedy=remedy)
    values = {field.name: getattr(camera, field.name) for field in fields(camera)}
    size = values.pop("size", None)
    parameters: dict[str, Any] = {name: float(value) for name, value in values.items()}
    if size is not None:
        parameters["size"] = [int(side) for side in size]
    content = {"format": SIGN, "version": VERSION, "model": model, "parameters": parameters}
    text = json.dumps(content, indent=2) + "\n"
    write_whole(path, text)
