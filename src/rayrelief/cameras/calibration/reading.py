"""What a reader of calibrations is given and returns, and how it picks one of several cameras."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration.document import Document
from rayrelief.errors import FileError

KOrder = Literal["auto", "opencv", "legacy"]


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
    """A camera, and what was detected or assumed about it."""

    camera: Camera
    notes: tuple[str, ...] = ()


class Reader(Protocol):
    """A format: one module each, with these three names."""

    FORMAT: str
    """What the format is called in messages."""

    def recognises(self, document: Document) -> bool:
        """Whether a document is of this format, judged by its content."""

    def read(self, document: Document, request: Request) -> Reading:
        """Camera of a document that was recognised; FileError names file, key and expectation."""


def choose(path: Path, cameras: Mapping[str, Camera], request: Request) -> Reading:
    """One of the cameras of a file: the one asked for, the only one, or the only one that fits."""
    names = ", ".join(cameras)
    if not cameras:
        raise FileError(
            f"{path} holds no camera",
            expected="at least one",
            remedy="Check that this is the right file",
        )
    if request.which is not None:
        if request.which not in cameras:
            raise FileError(
                f"{path} has no camera {request.which!r}",
                expected=f"one of {names}",
                remedy="Give one of these names",
            )
        return Reading(cameras[request.which], (f"camera {request.which} of {len(cameras)}",))
    if len(set(cameras.values())) == 1:
        return Reading(next(iter(cameras.values())))
    fitting = {
        name: camera
        for name, camera in cameras.items()
        if request.size is not None and camera.resolution == request.size
    }
    if len(set(fitting.values())) == 1:
        name, camera = next(iter(fitting.items()))
        note = f"camera {name} of {len(cameras)}, the only one for this image size"
        return Reading(camera, (note,))
    raise FileError(
        f"{path} holds {len(cameras)} cameras that differ: {names}",
        expected="one camera, or the name of one of them",
        remedy="Say which: read_camera(path, which=...), or --which on the command line",
    )
