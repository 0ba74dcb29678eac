"""Kalibr: camchain.yaml, the cameras cam0, cam1, ... of a rig."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import Any

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration.document import Document, Entries, naming_file
from rayrelief.cameras.calibration.matrix_entries import read_size
from rayrelief.cameras.calibration.reading import Candidate, Reading, Request, choose
from rayrelief.cameras.calibration.writing import does_not_fit, list_text
from rayrelief.cameras.double_sphere import DoubleSphere
from rayrelief.cameras.extended_unified import ExtendedUnified
from rayrelief.cameras.field_of_view import FieldOfView
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.unified import Unified
from rayrelief.io.atomic import write_whole

FORMAT = "Kalibr camchain"

NAME = re.compile(r"cam\d+")
# The distortions that Kalibr calibrates with each model, and the cameras that they make.
CAMERAS: dict[str, dict[str, type[IntrinsicCamera]]] = {
    "pinhole": {
        "none": Pinhole,
        "radtan": BrownConrady,
        "equidistant": KannalaBrandt,
        "fov": FieldOfView,
    },
    "omni": {"none": Unified, "radtan": Unified},
    "eucm": {"none": ExtendedUnified},
    "ds": {"none": DoubleSphere},
}
KINDS = {(model, name): kind for model, kinds in CAMERAS.items() for name, kind in kinds.items()}
PINHOLE = ("fx", "fy", "cx", "cy")
# What the numbers of `intrinsics` and `distortion_coeffs` mean.
INTRINSICS = {
    "pinhole": PINHOLE,
    "omni": ("xi", *PINHOLE),
    "eucm": ("alpha", "beta", *PINHOLE),
    "ds": ("xi", "alpha", *PINHOLE),
}
COEFFICIENTS = {
    "none": (),
    "radtan": ("k1", "k2", "p1", "p2"),
    "equidistant": ("k1", "k2", "k3", "k4"),
    "fov": ("omega",),
}


def recognises(document: Document) -> bool:
    """Whether a document has an entry cam0 with intrinsics or a model."""
    return any(
        isinstance(value, dict) and ("camera_model" in value or "intrinsics" in value)
        for value in _cameras(document).values()
    )


def read(document: Document, request: Request) -> Reading:
    """One camera of a chain; pixel centres are at integers, as they are inside."""
    entries = document.entries()
    cameras = {
        name: Candidate(partial(_read_camera, entries, name), partial(_size, entries, name))
        for name in _cameras(document)
    }
    return choose(document.path, cameras, request)


def write(path: str | os.PathLike[str], camera: Camera) -> None:
    """Write a camera of known size as the cam0 of a chain, if Kalibr has its model."""
    pairs = [pair for pair, kind in KINDS.items() if type(camera) is kind]
    if not pairs or not isinstance(camera, IntrinsicCamera):
        kinds = ", ".join(dict.fromkeys(kind.__name__ for kind in KINDS.values()))
        raise does_not_fit(path, camera, f"one of {kinds}")
    model, distortion = next((pair for pair in pairs if not _unsaid(camera, pair)), pairs[-1])
    unsaid = _unsaid(camera, (model, distortion))
    if unsaid:
        named = f"only {', '.join((*INTRINSICS[model], *COEFFICIENTS[distortion]))} for {FORMAT}"
        raise does_not_fit(path, camera, named, " with " + ", ".join(unsaid))
    width, height = camera.known_resolution()
    intrinsics = [getattr(camera, name) for name in INTRINSICS[model]]
    coefficients = [getattr(camera, name) for name in COEFFICIENTS[distortion]]
    lines = [
        "cam0:",
        f"  camera_model: {model}",
        f"  intrinsics: {list_text(intrinsics)}",
        f"  distortion_model: {distortion}",
        f"  distortion_coeffs: {list_text(coefficients)}",
        f"  resolution: [{int(width)}, {int(height)}]",
    ]
    write_whole(path, "\n".join(lines) + "\n")


def _cameras(document: Document) -> Mapping[str, Any]:
    """The entries that are named as cameras."""
    content = document.mapping
    return {key: content[key] for key in content if NAME.fullmatch(str(key))}


def _size(chain: Entries, name: str) -> tuple[int, int]:
    return read_size(chain.entries(name), "resolution")


def _read_camera(chain: Entries, name: str) -> Reading:
    """A camera of the chain."""
    entries = chain.entries(name)
    model = entries.text("camera_model", *INTRINSICS)
    distortion = entries.text("distortion_model", *CAMERAS[model])
    names = INTRINSICS[model]
    values = dict(zip(names, entries.numbers("intrinsics", len(names)), strict=True))
    names = COEFFICIENTS[distortion]
    if names or "distortion_coeffs" in entries:
        coefficients = entries.numbers("distortion_coeffs", len(names))
        values |= zip(names, coefficients, strict=True)
    with naming_file(entries.path, name):
        return Reading(KINDS[model, distortion](**values, size=_size(chain, name)))


def _unsaid(camera: IntrinsicCamera, pair: tuple[str, str]) -> list[str]:
    """Parameters of a camera that are not zero, and for which a pair of models has no place."""
    said = (*INTRINSICS[pair[0]], *COEFFICIENTS[pair[1]], "size")
    return [
        field.name
        for field in fields(camera)
        if field.name not in said and getattr(camera, field.name) != 0
    ]
