"""What the readers of calibration files share: the text, and errors that name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rayrelief.errors import CameraError, FileError
from rayrelief.io.sources import read_bytes


def read_text(path: Path) -> str:
    """Text of a UTF-8 file; FileError if there is none."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path} is not a text file (byte {error.start} is not UTF-8)",
            expected="a calibration as UTF-8 text",
            remedy="Check that this is the right file",
        ) from error
    if not text.strip():
        raise FileError(
            f"{path} is empty",
            expected="a calibration as text",
            remedy="Write or download it again",
        )
    return text


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Turn the error of a camera that cannot exist into one that names its file."""
    try:
        yield
    except CameraError as error:
        raise FileError(
            f"{path} holds {error.found}", expected=error.expected, remedy=error.remedy
        ) from error
