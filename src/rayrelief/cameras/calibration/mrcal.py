"""mrcal: .cameramodel, a Python dictionary as text, of the models that a few numbers describe."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from rayrelief.cameras.calibration.document import Document, Entries, naming_file
from rayrelief.cameras.calibration.matrix_entries import read_size
from rayrelief.cameras.calibration.opencv_lens import lens_camera
from rayrelief.cameras.calibration.reading import Reading, Request
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.fisheye import Stereographic
from rayrelief.cameras.plane import PlaneCamera

FORMAT = "mrcal cameramodel"

SIGN = re.compile(r"""['"](?:imagersize['"]\s*:|LENSMODEL_|DISTORTION_)""")
CORE = ("fx", "fy", "cx", "cy")
# Coefficients after the core, which are OpenCV's in its order.
OPENCV = {
    "LENSMODEL_PINHOLE": 0,
    "LENSMODEL_OPENCV4": 4,
    "LENSMODEL_OPENCV5": 5,
    "LENSMODEL_OPENCV8": 8,
    "LENSMODEL_OPENCV12": 12,
}
CORE_ONLY: dict[str, type[PlaneCamera]] = {
    "LENSMODEL_STEREOGRAPHIC": Stereographic,
    "LENSMODEL_LONLAT": Equirectangular,
}
MODEL_KEYS = ("lensmodel", "lens_model", "distortion_model")  # the last two in older files
AS_RAYS = (
    "Fit another model with mrcal-convert-lensmodel, or save the rays of all pixels: "
    "numpy.save('rays.npy', mrcal.unproject(pixels, *model.intrinsics(), normalize=True)), "
    "where pixels holds (u, v) for each row and column"
)


def recognises(document: Document) -> bool:
    """Whether a text has an imager size or a lens model under the names of mrcal."""
    return document.syntax in ("text", "yaml") and SIGN.search(document.text) is not None


def read(document: Document, request: Request) -> Reading:
    """Camera of a model; pixel centres are at integers, as they are inside."""
    entries = Entries(document.path, _parse(document))
    key = next((key for key in MODEL_KEYS if key in entries), MODEL_KEYS[0])
    model = entries.text(key).replace("DISTORTION_", "LENSMODEL_", 1)
    if model not in OPENCV and model not in CORE_ONLY:
        known = ", ".join((*OPENCV, *CORE_ONLY))
        raise entries.error(key, f"is {model!r}", f"one of {known}", AS_RAYS)
    count = OPENCV.get(model, 0)
    numbers = entries.numbers("intrinsics", len(CORE) + count)
    core = dict(zip(CORE, numbers, strict=False))
    size = read_size(entries, "imagersize")
    camera: PlaneCamera
    with naming_file(document.path):
        if model in CORE_ONLY:
            camera = CORE_ONLY[model](**core, size=size)
        else:
            camera = lens_camera(core, numbers[len(CORE) :], size)
    if "valid_intrinsics_region" in entries:
        return Reading(camera, ("the valid_intrinsics_region of the file was not applied",))
    return Reading(camera)


def _parse(document: Document) -> dict[str, Any]:
    """The dictionary, whose comments are those of Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes in the data that mrcal keeps
            content = ast.literal_eval(document.text.strip())
            repr(content)  # a ValueError for integers of more digits than Python prints
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError) as error:
        where = f" (line {error.lineno}: {error.msg})" if isinstance(error, SyntaxError) else ""
        raise document.error(
            f"is not a dictionary in the syntax of Python{where}",
            expected="{ 'lensmodel': ..., 'intrinsics': [...], 'imagersize': [...] }",
        ) from error
    if not isinstance(content, dict):
        raise document.error(
            f"holds a {type(content).__name__}",
            expected="a dictionary { 'lensmodel': ..., 'intrinsics': [...], 'imagersize': [...] }",
        )
    return content
