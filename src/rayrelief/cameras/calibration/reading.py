"""What a reader of calibrations is given and returns, and how it picks one of several cameras."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration.document import Document
from rayrelief.errors import FileError

KOrder = Literal["auto", "opencv", "legacy"]

# Remedy where a format needs the size of the image and does not hold it.
GIVE_SIZE = "Give the size of the image: height= and width=, or --width and --height"


@dataclass(frozen=True)
class Request:
    """What is known about the image that a camera is read for.

    Attributes
    ----------
    height, width
        Size of the image, None where it is not known.
    which
        Name or number of the camera in a file with several; None where there is no choice.
    k_order
        Order of a K.txt.
    """

    height: int | None = None
    width: int | None = None
    which: str | None = None
    k_order: KOrder = "auto"

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
    names = ", ".join(candidates)
    if not candidates:
        raise FileError(
            f"{path} holds no camera",
            expected="at least one",
            remedy="Check that this is the right file",
        )
    if request.which is not None:
        if request.which not in candidates:
            raise FileError(
                f"{path} has no camera {request.which!r}",
                expected=f"one of {names}",
                remedy="Give one of these names",
            )
        reading = candidates[request.which].read()
        return _named(reading, request.which, f"camera {request.which} of {len(candidates)}")
    fitting = candidates
    if request.size is not None and len(candidates) > 1:
        same = {name: each for name, each in candidates.items() if each.size() == request.size}
        fitting = same or candidates
    readings = {name: each.read() for name, each in fitting.items()}
    name, reading = next(iter(readings.items()))
    if any(other.camera != reading.camera for other in readings.values()):
        raise FileError(
            f"{path} holds {len(candidates)} cameras that differ: {names}",
            expected="one camera, or the name of one of them",
            remedy="Say which: read_camera(path, which=...), or --which on the command line",
        )
    if len(fitting) == len(candidates):
        return reading
    note = f"camera {name} of {len(candidates)}, the only one for this image size"
    return _named(reading, name, note)


def _named(reading: Reading, name: str, note: str) -> Reading:
    return replace(reading, name=name, notes=(note, *reading.notes))
