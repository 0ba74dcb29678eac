"""What a reader of calibrations is given and returns, and how it picks one of several cameras."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, Protocol, get_args

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration.document import Document, shortened
from rayrelief.checks import is_count
from rayrelief.errors import FileError, InputError, RayreliefError, shown

KOrder = Literal["auto", "opencv", "legacy"]

MOST_CAMERAS = 20_000
CHOOSE_ONE = "Choose one: read_camera(path, which=...), or --which on the command line"
# Remedy where a format needs the size of the image and does not hold it.
GIVE_SIZE = "Give the size of the image: height= and width=, or --width and --height"


@dataclass(frozen=True)
class Request:
    """What is known about the image that a camera is read for, and what was asked for.

    Nothing of it is needed where the file leaves nothing open.

    Attributes
    ----------
    height, width
        Size of the image, None where it is not known.
    which
        Name or number of the camera in a file with several, or the end of a path that is its name;
        None where there is no choice.
    k_order
        Order of a K.txt or K.npy.
    """

    height: int | None = None
    width: int | None = None
    which: str | None = None
    k_order: KOrder = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.k_order, str):
            raise InputError(
                f"k_order={shown(self.k_order)}",
                expected=f"one of {', '.join(get_args(KOrder))}",
                remedy="Leave it out where the order is not known",
            )
        for side in (self.height, self.width):
            if side is not None and not is_count(side):
                raise InputError(
                    f"a height or width of {shown(side)}",
                    expected="an integer >= 1, in pixels",
                    remedy="Give the size of the image, or leave it out",
                )
        if not isinstance(self.which, str | None):  # the cameras of COLMAP have numbers
            object.__setattr__(self, "which", shown(self.which))

    @property
    def size(self) -> tuple[int, int] | None:
        """(width, height), or None."""
        return None if self.width is None or self.height is None else (self.width, self.height)


@dataclass(frozen=True)
class Reading:
    """A camera, what was detected or assumed about it, and its name where it was one of several."""

    camera: Camera
    notes: tuple[str, ...] = ()
    name: str | None = None


@dataclass(frozen=True)
class Candidate:
    """One of the cameras of a file, not read yet: a bad one does not stand in the others' way.

    Attributes
    ----------
    read
        Reads the camera.
    size
        Reads no more than its image size, (width, height); None where the file does not tell it.
    """

    read: Callable[[], Reading]
    size: Callable[[], tuple[int, int] | None]


class Reader(Protocol):
    """A format: one module each, with these three names."""

    FORMAT: str
    """What the format is called in messages."""

    def recognises(self, document: Document) -> bool:
        """Whether a document is of this format, judged by its content."""

    def read(self, document: Document, request: Request) -> Reading:
        """Camera of a document that was recognised; FileError names file, key and expectation."""


def choose(path: Path, candidates: Mapping[str, Candidate], request: Request) -> Reading:
    """One of the cameras of a file: the one asked for, the only one, or the only one that fits."""
    if not candidates:
        raise FileError(
            f"{path} holds no camera",
            expected="at least one",
            remedy="Check that this is the right file",
        )
    if request.which is not None:
        name = _find_name(path, candidates, request.which)
        return _named(candidates[name].read(), name, f"camera {name} of {len(candidates)}")
    if len(candidates) > MOST_CAMERAS:  # all of them would be read, to see whether they differ
        raise FileError(
            f"{path} holds {len(candidates):,} cameras: {shortened(candidates)}",
            expected=f"at most {MOST_CAMERAS:,} to compare, or the name of one of them",
            remedy=CHOOSE_ONE,
        )
    fitting = candidates
    with _telling_the_others(candidates):
        if request.size is not None and len(candidates) > 1:
            same = {name: each for name, each in candidates.items() if each.size() == request.size}
            fitting = same or candidates
        readings = {name: each.read() for name, each in fitting.items()}
    name, reading = next(iter(readings.items()))
    if any(other.camera != reading.camera for other in readings.values()):
        raise FileError(
            f"{path} holds {len(candidates)} cameras that differ: {shortened(candidates)}",
            expected="one camera, or the name of one of them",
            remedy=CHOOSE_ONE,
        )
    if len(fitting) == len(candidates):
        return reading
    note = f"camera {name} of {len(candidates)}, the only one for this image size"
    return _named(reading, name, note)


def _find_name(path: Path, candidates: Mapping[str, Candidate], which: str) -> str:
    """Name of the camera that was asked for: by all of it, or by the last parts of a path."""
    if which in candidates:
        return which
    ends = [name for name in candidates if name.replace("\\", "/").endswith(f"/{which}")]
    if len(ends) == 1:
        return ends[0]
    close = ends or get_close_matches(which, candidates)
    several = f"{path} has {len(ends)} cameras whose names end with {which!r}"
    raise FileError(
        several if ends else f"{path} has no camera {which!r}",
        expected=f"one of {shortened(candidates)}",
        remedy=f"Give one of these names; the closest: {shortened(close)}"
        if close
        else "Give one of these names",
    )


@contextmanager
def _telling_the_others(candidates: Mapping[str, Candidate]) -> Iterator[None]:
    """Add to the error of a bad camera that another one may be chosen."""
    try:
        yield
    except RayreliefError as error:
        if len(candidates) == 1:
            raise
        choice = f"which= or --which: the file holds {shortened(candidates)}"
        remedy = f"{error.remedy or 'Correct the file'}, or choose another camera with {choice}"
        raise type(error)(error.found, expected=error.expected, remedy=remedy) from error


def _named(reading: Reading, name: str, note: str) -> Reading:
    return replace(reading, name=name, notes=(note, *reading.notes))
