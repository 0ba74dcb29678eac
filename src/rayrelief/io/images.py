"""PNG, TIFF and JPEG images with all their bits, channels in the order R, G, B, A."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import FileError, InputError
from rayrelief.io import jpeg_segments, png_chunks, tiff_tags
from rayrelief.io.atomic import write_whole
from rayrelief.io.sources import (
    BROKEN,
    FORMATS,
    READING_BYTES,
    as_path,
    check_room,
    check_signature,
    check_suffix,
    damaged,
    read_bytes,
)

DECLARED = {
    "PNG": png_chunks.declared_values,
    "TIFF": tiff_tags.declared_values,
    "JPEG": jpeg_segments.declared_values,
}


def read_image(path: Path) -> npt.NDArray[Any]:
    """Image (H, W) or (H, W, channels) as it is stored, 8-bit, 16-bit or float; RGB(A) order."""
    import cv2

    if FORMATS.get(path.suffix.lower()) not in DECLARED:
        raise FileError(
            f"{path} is no image by its suffix",
            expected=f"an image: {', '.join(DECLARED)}",
            remedy="Save it as one of these, or give the path of an image",
        )
    check_signature(path)
    data = read_bytes(path)
    data = complete(path, data)
    shape, size = declared_values(path, data)
    check_room(path, math.prod(shape) * (size + READING_BYTES))
    try:
        with silent_opencv():
            # From memory: OpenCV cannot open every path on every platform.
            image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except (cv2.error, *BROKEN) as error:
        raise damaged(path, getattr(error, "err", error)) from error
    if image is None:
        raise damaged(path, "it cannot be decoded")
    # Else the room of another image was asked for; a TIFF may say that it is to be turned.
    if sorted(image.shape[:2]) != sorted(shape[:2]):
        raise damaged(path, f"it declares {shape[:2]} rows and columns, and has {image.shape[:2]}")
    return swap_red_and_blue(image)


@contextlib.contextmanager
def silent_opencv() -> Iterator[None]:
    """Keep OpenCV from writing to the standard error: what is wrong is raised instead."""
    import cv2

    log = getattr(cv2.utils, "logging", cv2)  # before 4.13 the module itself
    level = log.getLogLevel()
    log.setLogLevel(0)
    try:
        yield
    finally:
        log.setLogLevel(level)


def complete(path: Path, data: bytes) -> bytes:
    """Image to be decoded; FileError if it is cut off, which OpenCV would fill up with grey."""
    kind = FORMATS[path.suffix.lower()]
    if kind == "PNG":
        try:
            return png_chunks.bare_image(data)
        except ValueError as error:
            raise damaged(path, error) from error
    if kind == "JPEG" and data.rfind(b"\xff\xd9") < data.rfind(b"\xff\xda"):
        raise damaged(path, "the end of the image is missing")
    return data


def declared_values(path: Path, data: bytes) -> tuple[tuple[int, int, int], int]:
    """Shape and bytes of the values that an image declares, before it is decoded."""
    kind = FORMATS[path.suffix.lower()]
    try:
        return DECLARED[kind](data)
    except tiff_tags.NotReadError as error:
        raise FileError(
            f"{path} holds {error}",
            expected="the channels of a pixel together, as integers or floats of 32 or 64 bits",
            remedy="Save it so, or as PNG, EXR or NPY",
        ) from error
    except BROKEN as error:
        raise damaged(path, error) from error


def read_picture(path: Path) -> npt.NDArray[np.uint8]:
    """Photo (H, W, 3) as 8-bit RGB, from any image but one of floats."""
    image = read_image(path)
    if image.dtype not in (np.uint8, np.uint16):
        raise FileError(
            f"{path} holds {image.dtype}",
            expected="a photo of 8 or 16 bits",
            remedy="Save it as PNG or JPEG",
        )
    levels = (image >> 8 if image.dtype == np.uint16 else image).astype(np.uint8)
    colours = levels.reshape(*levels.shape[:2], -1)
    return colours[..., :3] if colours.shape[2] >= 3 else np.repeat(colours[..., :1], 3, axis=2)


def encode_png(image: npt.NDArray[Any]) -> bytes:
    """Bytes of a PNG file with an 8- or 16-bit image (H, W), (H, W, 3) or (H, W, 4), RGB order."""
    import cv2

    if image.dtype not in (np.uint8, np.uint16) or image.shape[2:] not in ((), (3,), (4,)):
        raise InputError(
            f"an image of the type {image.dtype} and the shape {image.shape}",
            expected="uint8 or uint16 of the shape (H, W), (H, W, 3) or (H, W, 4)",
            remedy="Scale and round the values first",
        )
    if image.ndim < 2 or image.size == 0:
        raise InputError(
            f"an image of the shape {image.shape}",
            expected="at least one pixel",
            remedy="Check what was cut out of it",
        )
    _, data = cv2.imencode(".png", swap_red_and_blue(image))
    return bytes(data)


def write_png(path: str | os.PathLike[str], image: npt.NDArray[Any]) -> None:
    """Write an 8- or 16-bit image (H, W), (H, W, 3) or (H, W, 4), RGB order, as a PNG file."""
    check_suffix(as_path(path), (".png",), "a PNG image")
    write_whole(path, encode_png(image))


def swap_red_and_blue(image: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Take BGR(A), the order of OpenCV, to RGB(A) and back; other channel counts stay."""
    if image.ndim == 3 and image.shape[2] == 3:
        return np.ascontiguousarray(image[..., ::-1])
    if image.ndim == 3 and image.shape[2] == 4:
        return np.ascontiguousarray(image[..., [2, 1, 0, 3]])
    return image
