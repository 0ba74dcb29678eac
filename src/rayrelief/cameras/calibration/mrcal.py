"""mrcal: .cameramodel, a Python dictionary as text, of the models that a few numbers describe."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Any

from rayrelief.cameras.cahvor import Cahvor
from rayrelief.cameras.calibration.document import Document, Entries, as_number, naming_file
from rayrelief.cameras.calibration.matrix_entries import read_size
from rayrelief.cameras.calibration.opencv_lens import lens_camera
from rayrelief.cameras.calibration.reading import Reading, Request
from rayrelief.cameras.equirectangular import Equirectangular, TransverseEquirectangular
from rayrelief.cameras.fisheye import Stereographic
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.pinhole import Pinhole

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
CORE_ONLY: dict[str, type[IntrinsicCamera]] = {
    "LENSMODEL_STEREOGRAPHIC": Stereographic,
    "LENSMODEL_LONLAT": Equirectangular,
    "LENSMODEL_LATLON": TransverseEquirectangular,
}
CAHVOR = "LENSMODEL_CAHVOR"
# After the core: alpha beta r0 r1 r2 | e0 e1 e2 | in older files, which do not name it, linearity.
CAHVORE = re.compile(r"LENSMODEL_CAHVORE(?:_linearity=(?P<linearity>\S+))?")
MODEL_KEYS = ("lensmodel", "lens_model", "distortion_model")  # the last two in older files
LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.BinOp)
STRING = re.compile(r"""'[^'\\\n]*'|"[^"\\\n]*\"""")
LARGEST_SOURCE = 200_000  # what Python parses in a second; mrcal keeps much data, but in strings
DICTIONARY = "a dictionary { 'lensmodel': ..., 'intrinsics': [...], 'imagersize': [...] }"
NOT_JOINED = "the rows cover a full turn, but the first and the last row are not joined"
FIT = "Fit another model with mrcal-convert-lensmodel"
AS_RAYS = (
    f"{FIT}, or save the rays of all pixels: "
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
    called = entries.text(key)
    model = called.replace("DISTORTION_", "LENSMODEL_", 1)
    size = read_size(entries, "imagersize")
    camera: IntrinsicCamera
    with naming_file(document.path, "intrinsics"):
        if model == CAHVOR:
            camera = _cahvor(entries.numbers("intrinsics", len(CORE) + 5), 1.0, size)
        elif variant := CAHVORE.fullmatch(model):
            camera = _cahvore(entries, key, variant["linearity"], size)
        elif model in CORE_ONLY:
            camera = CORE_ONLY[model](*entries.numbers("intrinsics", len(CORE)), size=size)
        elif model in OPENCV:
            numbers = entries.numbers("intrinsics", len(CORE) + OPENCV[model])
            core = dict(zip(CORE, numbers, strict=False))
            camera = lens_camera(core, numbers[len(CORE) :], size)
        else:
            known = ", ".join((*OPENCV, *CORE_ONLY, CAHVOR, "LENSMODEL_CAHVORE_linearity=..."))
            raise entries.error(key, f"is {called!r}", f"one of {known}", AS_RAYS)
    return Reading(camera, tuple(_notes(entries, camera)))


def _notes(entries: Entries, camera: IntrinsicCamera) -> Iterator[str]:
    if isinstance(camera, TransverseEquirectangular) and camera.spans_a_turn:
        yield NOT_JOINED
    if "valid_intrinsics_region" in entries:
        yield "the valid_intrinsics_region of the file was not applied"


def _cahvor(numbers: list[float], linearity: float, size: tuple[int, int]) -> Pinhole | Cahvor:
    """Camera of the core, alpha, beta, r0, r1 and r2: a pinhole if its lens bends nothing."""
    if linearity == 1 and not any(numbers[6:]):
        return Pinhole(*numbers[: len(CORE)], size=size)
    parameters = [*numbers, linearity]
    return Cahvor(*parameters, size=size)


def _cahvore(
    entries: Entries, key: str, linearity: str | None, size: tuple[int, int]
) -> Pinhole | Cahvor:
    """Camera of a CAHVORE model whose entrance pupil does not move."""
    chosen: float | None
    if linearity is None:
        *numbers, chosen = entries.numbers("intrinsics", len(CORE) + 9)
    else:
        numbers = entries.numbers("intrinsics", len(CORE) + 8)
        chosen = as_number(linearity)
        if chosen is None:
            raise entries.error(key, f"has linearity={linearity}", "a finite number")
    if any(numbers[-3:]):
        moves = ", ".join(f"{number:g}" for number in numbers[-3:])
        expected = "e0, e1, e2 = 0: otherwise the rays do not meet in one point"
        raise entries.error("intrinsics", f"has e0, e1, e2 = {moves}", expected, FIT)
    return _cahvor(numbers[:-3], chosen, size)


def _parse(document: Document) -> dict[str, Any]:
    """The dictionary, whose comments are those of Python."""
    start = document.text.lstrip()  # an indented first line is an error in Python
    source = "\n" * document.text.removesuffix(start).count("\n") + start
    beside = len(source) - sum(map(len, STRING.findall(source)))
    if beside > LARGEST_SOURCE:
        found = f"has {beside:,} characters of Python beside its strings"
        raise document.error(found, expected=f"at most {LARGEST_SOURCE:,}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes in the data that mrcal keeps
            tree = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        where = f" (line {error.lineno}: {error.msg})" if isinstance(error, SyntaxError) else ""
        raise document.error(
            f"is not a dictionary in Python syntax{where}", expected=DICTIONARY
        ) from error
    if not isinstance(tree, ast.Dict):
        raise document.error("is not a dictionary", expected=DICTIONARY)
    content: dict[str, Any] = {}
    for key, value in zip(tree.keys, tree.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise document.error(
                f"line {value.lineno} has a key that is not a string", expected=DICTIONARY
            )
        try:
            content[key.value] = ast.literal_eval(value)
            repr(content[key.value])  # a ValueError for integers of more digits than Python prints
        except (ValueError, TypeError, MemoryError, RecursionError) as error:
            culprit = _not_literal(value)
            text = " ".join((ast.get_source_segment(source, culprit) or "").split())
            raise document.error(
                f"line {culprit.lineno}: {key.value} holds {text[:60]!r}",
                expected="only finite numbers, strings, and lists of them",
            ) from error
    return content


def _not_literal(value: ast.expr) -> ast.expr:
    """The outermost part of a value that is a name, a call, or the like; all of it if none is."""
    parts = (part for part in ast.walk(value) if isinstance(part, ast.expr))
    return next((part for part in parts if not isinstance(part, LITERALS)), value)
