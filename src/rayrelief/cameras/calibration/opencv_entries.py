"""What an OpenCV calibration says about cameras: entries by key, from whatever file they come."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration.document import Entries, naming_file
from rayrelief.cameras.calibration.matrix_entries import (
    read_camera_matrix,
    read_size,
    read_vector,
)
from rayrelief.cameras.calibration.opencv_lens import COUNTS, lens_camera, skew_notes
from rayrelief.cameras.calibration.reading import Candidate, Reading, Request, choose
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.unified import Unified

MOST_MATRICES = 1000  # in one file
# Keys are compared without case and underscores (camera_matrix, cameraMatrix), and the cameras of
# a pair by what follows: M1 and D1, M2 and D2.
SUFFIX = r"(\d*|left|right|l|r)"
MATRIX = re.compile(rf"(cameramatrix|mtx|k|m){SUFFIX}")
COEFFICIENTS = ("distortioncoefficients", "distcoeffs", "distcoeff", "distcoefs", "dist", "d")
WIDTHS_AND_HEIGHTS = (("imagewidth", "imageheight"), ("width", "height"))
SIZES = ("imagesize", "imgsize")
FISHEYE_FLAGS = ("fisheyemodel", "fisheye", "isfisheye")
MODELS = ("model", "cameramodel", "distortionmodel")
FISHEYE_MODELS = ("fisheye", "opencv_fisheye", "equidistant", "kannala_brandt")
USUAL_MODELS = (
    *("pinhole", "plumb_bob", "rational_polynomial", "radtan"),
    *("brown_conrady", "opencv", "perspective"),
)
# What looks like distortion under any other key: lists of coefficients, or each as a number.
LENS = re.compile(rf".*(?<!un)dist(?!ance).*|.*coef.*|(d|xi){SUFFIX}")
ONE_COEFFICIENT = re.compile(r"[kps]\d|(tau|tilt)[xy]")


def read_entries(entries: Entries, request: Request) -> Reading:
    """Camera of the entries of a calibration, from whatever file they come."""
    keys = matrix_keys(entries.content) or {"camera_matrix": ""}
    if len(keys) > MOST_MATRICES:
        found = f"and others are {len(keys):,} camera matrices"
        raise entries.error(next(iter(keys)), found, f"at most {MOST_MATRICES}")
    _check_that_no_lens_is_left(entries, set(keys.values()))
    size = partial(_read_image_size, entries)
    cameras = {
        key: Candidate(partial(_read_camera, entries, key, suffix), size)
        for key, suffix in keys.items()
    }
    return choose(entries.path, cameras, request)


def _read_camera(entries: Entries, key: str, suffix: str) -> Reading:
    """The camera of a matrix, with the entries whose keys end alike."""
    intrinsics = read_camera_matrix(entries, key)
    size = _read_image_size(entries)
    lens_key = _find_coefficients(entries, key, suffix)
    lens = read_vector(entries, lens_key) if lens_key else []
    notes = (*skew_notes(key, intrinsics), *_lens_notes(entries, lens_key, lens, suffix))
    xi_key = _find(entries, f"xi{suffix}")
    fisheye = _says_fisheye(entries)
    counts = (4,) if fisheye or xi_key else COUNTS
    if len(lens) not in counts:
        wanted = " or ".join(map(str, counts)) + " numbers"
        beside = " with xi" if xi_key else " for a fisheye" if fisheye else ""
        name = lens_key or "distortion_coefficients"
        raise entries.error(name, f"holds {len(lens)} values", wanted + beside)
    if fisheye and xi_key:
        raise entries.error(xi_key, "is given together with a fisheye model", "only one of the two")
    camera: Camera
    with naming_file(entries.path, key):
        if xi_key:
            k1, k2, p1, p2 = lens
            xi = _read_number(entries, xi_key)
            camera = Unified(**intrinsics, xi=xi, k1=k1, k2=k2, p1=p1, p2=p2, size=size)
        elif fisheye:
            k1, k2, k3, k4 = lens
            camera = KannalaBrandt(**intrinsics, k1=k1, k2=k2, k3=k3, k4=k4, size=size)
        else:
            camera = lens_camera(intrinsics, lens, size)
    return Reading(camera, notes)


def _lens_notes(
    entries: Entries, key: str | None, lens: list[float], suffix: str
) -> tuple[str, ...]:
    """What was assumed about the distortion."""
    if key is None:
        return ("no distortion coefficients in the file: read as a lens without distortion",)
    if len(lens) != 4 or _find(entries, f"xi{suffix}"):
        return ()
    if _says_fisheye(entries):
        return (f"{key} read as k1, k2, k3, k4 of a fisheye lens, as the file says",)
    return (f"{key} read as k1, k2, p1, p2, since the file does not say that it is a fisheye",)


def _find_coefficients(entries: Entries, matrix_key: str, suffix: str) -> str | None:
    """Key of the coefficients of a camera; None where a script wrote a camera matrix alone."""
    key = _coefficients_key(entries, suffix)
    if key is not None:
        return key
    if is_matrix(entries.value(matrix_key)):  # OpenCV's programs write both: was the file cut?
        raise entries.error(
            f"distortion_coefficients{suffix}",
            "is missing",
            f"this key next to {matrix_key}",
            "Add the coefficients, zeros for a lens without distortion",
        )
    return None


def _check_that_no_lens_is_left(entries: Entries, suffixes: set[str]) -> None:
    """Raise FileError for what looks like distortion, and is not that of any camera of the file."""
    lists = {suffix: _coefficients_key(entries, suffix) for suffix in sorted(suffixes)}
    used = {*lists.values(), *(_find(entries, f"xi{suffix}") for suffix in suffixes)}
    for key in map(str, entries.content):
        if key in used or key not in entries or not _describes_lens(key, entries.value(key)):
            continue
        names = (found or f"distortion_coefficients{suffix}" for suffix, found in lists.items())
        raise entries.error(
            key,
            "is an unknown key that may describe distortion",
            "the coefficients of a lens in one list, named " + " or ".join(names),
            "Write OpenCV's coefficients there, and remove this key",
        )


def _describes_lens(key: str, value: object) -> bool:
    """Whether an entry looks like distortion; P1 and K1 may also be matrices of a pair."""
    name = bare(key)
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    one = ONE_COEFFICIENT.fullmatch(name) and not isinstance(value, list | dict)
    return name not in MODELS and bool(one or LENS.fullmatch(name))


def _coefficients_key(entries: Entries, suffix: str) -> str | None:
    return _find(entries, *(f"{name}{suffix}" for name in COEFFICIENTS))


def _says_fisheye(entries: Entries) -> bool:
    """Whether the file says that its coefficients are those of cv::fisheye."""
    said: dict[str, bool] = {}
    for key in map(str, entries.content):
        if bare(key) in FISHEYE_FLAGS and key in entries:
            value = entries.value(key)
            said[key] = value if isinstance(value, bool) else entries.number(key) != 0
        elif bare(key) in MODELS and key in entries:
            said[key] = _names_fisheye(entries, key)
    if len(set(said.values())) > 1:
        first, *others = (f"{key} = {entries.value(key)}" for key in said)
        found = f"is contradictory: {first}, but {', '.join(others)}"
        raise entries.error("the model of the lens", found, "entries that agree")
    return any(said.values())


def _names_fisheye(entries: Entries, key: str) -> bool:
    """Whether the name of a model is one of the fisheye, and not of the usual one."""
    name = entries.text(key).lower()
    if name not in (*FISHEYE_MODELS, *USUAL_MODELS):
        expected = "one of " + ", ".join((*USUAL_MODELS, *FISHEYE_MODELS))
        remedy = "Remove it if it does not name the model of the lens"
        raise entries.error(key, f"is {entries.text(key)!r}", expected, remedy)
    return name in FISHEYE_MODELS


def _read_image_size(entries: Entries) -> tuple[int, int] | None:
    """(width, height) if the file tells it."""
    for names in WIDTHS_AND_HEIGHTS:
        width, height = (_find(entries, name) for name in names)
        if width or height:
            return entries.size(width or "image_width", height or "image_height")
    key = _find(entries, *SIZES)
    return read_size(entries, key) if key else None


def _read_number(entries: Entries, key: str) -> float:
    """A number, or a matrix with nothing else in it."""
    if not isinstance(entries.value(key), list | dict):
        return entries.number(key)
    numbers = read_vector(entries, key)
    if len(numbers) != 1:
        raise entries.error(key, f"holds {len(numbers)} values", "1 number")
    return numbers[0]


def matrix_keys(content: Mapping[str, Any]) -> dict[str, str]:
    """Keys of camera matrices, and the suffix that tells one camera of a pair."""
    keys = {}
    for key, value in content.items():
        match = MATRIX.fullmatch(bare(str(key)))
        # A single letter may stand for anything: nerfstudio has a number k1.
        if match and (match[1] == "cameramatrix" or isinstance(value, list | dict)):
            keys[str(key)] = match[2]
    return keys


def _find(entries: Entries, *names: str) -> str | None:
    """The first key that has one of these names, given without case and underscores."""
    keys = {bare(str(key)): str(key) for key in entries.content if str(key) in entries}
    return next((keys[name] for name in names if name in keys), None)


def bare(key: str) -> str:
    """A key as it is compared: without case and underscores."""
    return key.replace("_", "").lower()


def is_matrix(value: object) -> bool:
    """Whether a value is a matrix as OpenCV's FileStorage writes it."""
    shapes: tuple[set[str], ...] = ({"rows", "cols", "data"}, {"sizes", "data"})
    return isinstance(value, dict) and any(keys <= value.keys() for keys in shapes)
