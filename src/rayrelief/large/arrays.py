"""Normal maps and masks that are read in parts: zarr, tiled TIFF and EXR."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import AUTO, BoolArray, to_opencv
from rayrelief.errors import FileError, InputError
from rayrelief.io.encoding import Decoded, Encoding, decode
from rayrelief.io.masks import above_half, threshold
from rayrelief.io.normals import check_bits, empty_pixels
from rayrelief.large.layout import Window
from rayrelief.large.opening import has_mask, is_whole, mask_in, normals_in, refusing_damage
from rayrelief.large.samples import check_alike, grey_of, sample_of
from rayrelief.memory import in_words

# A piece that is decoded at once, and a mask that is read as a whole, may take one part in so many
# of the memory of a worker.
PIECE, WHOLE = 4, 8


@dataclass(frozen=True)
class MapFile:
    """A normal map in a file, and perhaps a mask in another; opened by whoever reads it.

    Attributes
    ----------
    path
        Zarr array (H, W, 3) or (H, W, 4), group that holds it as "normals", tiled TIFF, or EXR.
    convention
        Axes of the vectors.
    shape
        (height, width).
    encoding
        How its numbers stand for vectors, as samples of it say.
    mask
        Zarr array (H, W), tiled TIFF or EXR, above half inside, or another file that is read as a
        whole; the group itself for the mask in it; None without one.
    alpha
        Whether a fourth channel, above half, says what is inside.
    colours
        Whether pixels with the colour of a background are outside: where nothing else tells.
    grey
        Grey that is background.
    ones
        Whether the integers of the mask are 0 and 1.
    """

    path: Path
    convention: str
    shape: tuple[int, int]
    encoding: Encoding
    mask: Path | None = None
    alpha: bool = False
    colours: bool = True
    grey: int | None = None
    ones: bool = False

    @classmethod
    def at(
        cls,
        path: Path,
        convention: str | None,
        mask: Path | None = None,
        *,
        masked: bool = True,
        memory: int | None = None,
    ) -> MapFile:
        """Look at a map; FileError if it is none, InputError if its axes are not known.

        Without a mask of its own, that in the group counts, else the fourth channel, and colours
        unless samples of that channel leave something out;
        not ``masked``, every pixel that has a normal is inside. Pieces and masks that take much of
        the memory (bytes) of a worker are refused.
        """
        with refusing_damage(path), normals_in(path) as array:
            _check_values(path, array)
            axes = _axes(path, array, convention)
            _check_piece(path, array, memory)
            shape = (int(array.shape[0]), int(array.shape[1]))
            sample = sample_of(array)
            check_bits(path, sample[..., :3])
            encoding = decode(path, sample[..., :3]).encoding
            grey = grey_of(array)
            if mask is None and masked and has_mask(path):
                mask = path
        alpha = masked and sample.shape[2] == 4
        # A fourth channel that is opaque in all samples may have holes between them, but is no
        # reason to take the colours of a background for normals.
        says = alpha and not bool(above_half(sample[..., 3]).all())
        found = cls(path, axes, shape, encoding, None, alpha, masked and not says, grey)
        return found if mask is None else found.with_mask(mask, memory)

    def with_mask(self, mask: Path, memory: int | None = None) -> MapFile:
        """Map with this mask; FileError unless it has the size of the map."""
        pixels = self.shape[0] * self.shape[1]
        if is_whole(mask) and memory is not None and WHOLE * pixels > memory:
            raise FileError(
                f"the mask {mask} is read as a whole, {in_words(pixels)} of the "
                f"{in_words(memory)} of a worker",
                expected=f"a mask of at most {in_words(memory // WHOLE)}",
                remedy="Convert it: zarr.create_array('mask.zarr', data=mask, "
                "chunks=(1024, 1024)); give more --memory, or --mask none",
            )
        with refusing_damage(mask), mask_in(mask) as own:
            if own is None or own.shape != self.shape:
                raise FileError(
                    f"the mask of {self.path}, {mask}, "
                    + ("is not there" if own is None else f"has the shape {own.shape}"),
                    expected=f"{self.shape}: one value for each pixel of the normal map",
                    remedy="Crop or resize the mask to the normal map"
                    if own is None or own.ndim == 2
                    else "Save one value per pixel",
                )
            if not is_whole(mask):
                _check_piece(mask, own, memory)
            sample = sample_of(own)
            threshold(mask, sample)  # refuses values that say nothing of inside and outside
            ones = own.dtype.kind in "iu" and bool(sample.max() <= 1)
        return replace(self, mask=mask, alpha=False, colours=False, ones=ones)

    @np.errstate(invalid="ignore", over="ignore")  # files hold any bits
    def read(self, window: Window) -> tuple[npt.NDArray[Any], BoolArray]:
        """Normals (h, w, 3) in the OpenCV camera frame, and the mask (h, w), of a part."""
        with refusing_damage(self.path), normals_in(self.path) as array:
            values = np.asarray(array[window])
        colours = values[..., :3]
        check_alike(self.path, colours, self.encoding)
        decoded = Decoded(self.encoding.vectors(colours), self.encoding)
        inside = ~empty_pixels(colours, decoded)
        if self.mask is not None:
            with refusing_damage(self.mask), mask_in(self.mask) as own:
                kept = np.asarray(own[window])
            inside &= kept > 0 if self.ones else above_half(kept)
        if self.alpha:
            inside &= above_half(values[..., 3])
        if self.colours:
            inside &= ~decoded.far_from_unit
            if self.grey is not None:
                inside &= (colours != self.grey).any(axis=-1)
        return to_opencv(decoded.vectors, self.convention), inside

    def left_out(self) -> tuple[str, ...]:
        """Notes on pieces of zarr arrays that are not stored."""
        notes = []
        for path, opened in ((self.path, normals_in), (self.mask, mask_in)):
            if path is not None and path.is_dir():
                with refusing_damage(path), opened(path) as array:
                    told = array.left_out()
                notes += [f"{path.name}: {told}"] if told else []
        return tuple(notes)

    def files(self) -> dict[str, Path]:
        """Files and folders that it is read from, by what they hold."""
        return {"map": self.path} if self.mask is None else {"map": self.path, "mask": self.mask}


def _check_values(path: Path, array: Any) -> None:
    """Raise FileError for an array that is no map."""
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


def _check_piece(path: Path, array: Any, memory: int | None) -> None:
    """Raise FileError if what is decoded at once is much, beside the bytes of a worker."""
    if memory is not None and PIECE * array.piece_bytes > memory:
        rows, columns = array.piece[:2]
        raise FileError(
            f"{path} is stored in pieces of {rows} x {columns} pixels, each of which takes "
            f"{in_words(array.piece_bytes)} of the {in_words(memory)} of a worker, in every block",
            expected=f"pieces of at most {in_words(memory // PIECE)}",
            remedy="Store it in smaller ones, for example zarr in chunks of 512 x 512 pixels or "
            "TIFF or EXR in tiles of 256 x 256; or give more --memory",
        )


def _axes(path: Path, array: Any, convention: str | None) -> str:
    """Convention that was given, else that which is stored with the array."""
    stored = getattr(array, "attrs", {}).get("convention")
    if convention == AUTO or (convention is None and stored is None):
        raise InputError(
            "a map in blocks is not looked at as a whole, which auto needs"
            if convention == AUTO
            else f"the axes of {path} are not known",
            expected="a convention",
            remedy="Give it (--convention opengl, for example; with zarr also as the attribute "
            "'convention' of the array); rayrelief doctor finds it out from a crop",
        )
    return str(convention or stored)
