"""Normal maps and masks that are read in parts: zarr, and tiled TIFF."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, to_opencv
from rayrelief.errors import FileError, InputError, RayreliefError
from rayrelief.io.masks import above_half
from rayrelief.io.sources import BROKEN, open_file
from rayrelief.large.layout import Window, shape_of
from rayrelief.large.tiff_files import TiffArray, tifffile_package
from rayrelief.large.zarr_files import names_in, open_array

ZARR, TIFF = (".zarr",), (".tif", ".tiff")
NORMALS, MASK = ("normals", "normal_map"), ("mask",)


@dataclass(frozen=True)
class MapFile:
    """A normal map in a file, and perhaps a mask in another; opened by whoever reads it.

    Attributes
    ----------
    path
        Zarr array (H, W, 3) or (H, W, 4), group that holds it as "normals", or tiled TIFF. Floats
        are vectors, 8 and 16 bits stand for value / largest * 2 - 1; black is background, and so
        is a fourth channel below half.
    convention
        Axes of the vectors.
    shape
        (height, width).
    mask
        Zarr array (H, W) or tiled TIFF, above half inside; else "mask" in the group, if any.
    """

    path: Path
    convention: str
    shape: tuple[int, int]
    mask: Path | None = None

    @classmethod
    def at(cls, path: Path, convention: str | None, mask: Path | None = None) -> MapFile:
        """Look at a map; FileError if it is none, InputError if its axes are not known."""
        with _refusing_damage(path), _normals(path) as array, _mask(path, mask) as own:
            return cls._checked(path, convention, mask, array, own)

    @classmethod
    def _checked(
        cls, path: Path, convention: str | None, mask: Path | None, array: Any, own: Any
    ) -> MapFile:
        if array.ndim != 3 or array.shape[2] not in (3, 4) or 0 in array.shape:
            raise FileError(
                f"{path} has the shape {array.shape}",
                expected="(height, width, 3), or 4 channels with alpha",
                remedy="Save x, y and z of one map, the channels last",
            )
        if array.dtype not in (np.uint8, np.uint16) and array.dtype.kind != "f":
            raise FileError(
                f"{path} holds values of the type {array.dtype}",
                expected="floats, or 8 or 16 bits without a sign",
                remedy="Save the vectors as floats between -1 and 1",
            )
        stored = getattr(array, "attrs", {}).get("convention")
        if convention == "auto" or (convention is None and stored is None):
            raise InputError(
                f"the axes of {path} are not known: a map in blocks is not looked at as a whole",
                expected="a convention",
                remedy="Give it (--convention opengl, for example), or store it with the array, as "
                "the attribute 'convention'; rayrelief doctor finds it out from a crop",
            )
        shape = (int(array.shape[0]), int(array.shape[1]))
        if own is not None and own.shape != shape:
            raise FileError(
                f"the mask of {path} has the shape {own.shape}",
                expected=f"{shape}, the size of the normal map",
                remedy="Crop or resize the mask to the normal map",
            )
        return cls(path, str(convention or stored), shape, mask)

    @np.errstate(invalid="ignore", over="ignore")  # files hold any bits
    def read(self, window: Window) -> tuple[npt.NDArray[Any], BoolArray]:
        """Normals (h, w, 3) in the OpenCV camera frame, and the mask (h, w), of a part."""
        with (
            _refusing_damage(self.path),
            _normals(self.path) as array,
            _mask(self.path, self.mask) as own,
        ):
            values = np.asarray(array[window])
            kept = None if own is None else np.asarray(own[window])
        inside: BoolArray = np.ones(shape_of(window), np.bool_)
        if values.shape[2] == 4:
            inside &= above_half(values[..., 3])
        vectors = values[..., :3]
        if vectors.dtype.kind == "u":
            inside &= vectors.any(axis=-1)
            vectors = vectors * np.float32(2.0 / np.iinfo(vectors.dtype).max) - np.float32(1.0)
        if kept is not None:
            inside &= above_half(kept)
        return to_opencv(vectors, self.convention), inside

    def files(self) -> dict[str, Path]:
        """Files and folders that it is read from, by what they hold."""
        return {"map": self.path} if self.mask is None else {"map": self.path, "mask": self.mask}


@contextmanager
def _refusing_damage(path: Path) -> Iterator[None]:
    """Turn what zarr and tifffile raise into an error of the file; their advice is for writers."""
    try:
        with warnings.catch_warnings(), np.errstate(invalid="ignore", over="ignore"):
            warnings.simplefilter("ignore")
            yield
    except RayreliefError:
        raise
    except BROKEN as error:
        cause = " ".join(f"{type(error).__name__}: {error}".removeprefix("ValueError: ").split())
        raise FileError(
            f"{path} is damaged, or of a kind that is not read ({cause})",
            expected="a zarr array or group, or a tiled TIFF",
            remedy="Check the path, or write it again",
        ) from error


@contextmanager
def _opened(path: Path, names: Sequence[str] = ()) -> Iterator[Any]:
    """Open an array: the file, or the first of these in a group, None if it has none of them.

    Handles do not travel between processes, paths do.
    """
    if path.suffix.lower() in TIFF:
        package = tifffile_package()
        try:
            with open_file(path) as file, package.TiffFile(file) as tiff:
                yield TiffArray.of(tiff, path)
        except package.TiffFileError as error:  # of older versions, a kind of its own
            raise ValueError(str(error)) from error
        return
    held = names_in(path)
    name = "" if held is None else next((name for name in names if name in held), None)
    yield None if name is None else open_array(path / name)


@contextmanager
def _normals(path: Path) -> Iterator[Any]:
    with _opened(path, NORMALS) as found:
        if found is None:
            raise FileError(
                f"{path} is a group without normals",
                expected=f"an array, or one called {' or '.join(NORMALS)}",
                remedy="Rename the array, or give its path",
            )
        yield found


@contextmanager
def _mask(path: Path, mask: Path | None) -> Iterator[Any]:
    if mask is not None:
        with _opened(mask, MASK) as found:
            yield found
    elif path.suffix.lower() in TIFF or names_in(path) is None:
        yield None
    else:
        with _opened(path, MASK) as found:
            yield found
