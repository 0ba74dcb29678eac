"""How the numbers of a normal map stand for vectors: told by the lengths that they give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import FileError

# By how much floats leave their range without a change of what they mean: where they were rounded,
# and where an image was resized.
ROUNDING, RINGING = 0.01, 0.1
UNIT = 0.06  # how far the length of a stored normal may be from 1
SHORTEST, LONGEST = 0.5, 1.35  # of vectors from colours: black and white have 1.73, grey has 0
SAMPLE = 200_000  # pixels that lengths are looked at
LEAST, DISTINCT = 300, 30  # pixels that tell how 8 bits were written, and different sums of theirs
# Whether the values of 8 bits were rounded or cut off, and around which zero: offset of the
# vectors in half steps, and their scale.
WRITERS: dict[tuple[int, float], str] = {
    (0, 1.0): "8-bit, decoded as value / 255 * 2 - 1",
    (-1, 1.0): "8-bit, truncated when written: decoded as (value + 0.5) / 255 * 2 - 1",
    (-1, 127 / 127.5): "8-bit with 127 as zero: decoded as value / 127 - 1",
    (1, 127 / 127.5): "8-bit with 128 as zero: decoded as (value - 128) / 127",
    (1, 128 / 127.5): "8-bit with 128 as zero: decoded as value / 128 - 1",
}


@dataclass(frozen=True, eq=False)
class Decoded:
    """Vectors (H, W, 3) of any length, a note on how they were decoded, and their step.

    ``coded`` says that they come from colours: a length far from 1 is then no normal. Vectors may
    be short, where they are means of others, but of unit vectors none is longer than 1.
    """

    vectors: FloatArray
    note: str
    step: float
    coded: bool = True

    @property
    def far_from_unit(self) -> BoolArray:
        """Where there is no normal: the colours black, white, grey, and what lies between."""
        height, width = self.vectors.shape[:2]
        some = self.vectors[:: max(1, height * width // SAMPLE)]
        if not self.coded and unit_share(some) < 0.5:
            return np.zeros((height, width), np.bool_)
        far: BoolArray = np.empty((height, width), np.bool_)
        with np.errstate(invalid="ignore"):
            for row, vectors in zip(far, self.vectors, strict=True):  # all lengths take memory
                length = _lengths(vectors)
                row[:] = (length > LONGEST) | (self.coded & (length < SHORTEST))
        return far


def decode(path: Path, values: npt.NDArray[Any]) -> Decoded:
    """Vectors from two or three channels (H, W, channels) of 8 or 16 bits, or floats."""
    if values.dtype in (np.uint8, np.uint16):
        vectors = from_colours(values)
        check_two(path, vectors)
        return _from_integers(values, vectors)
    if not np.issubdtype(values.dtype, np.floating):
        raise FileError(
            f"{path} holds values of the type {values.dtype}",
            expected="8- or 16-bit unsigned integers, or floats",
            remedy="Save the vectors as floats between -1 and 1",
        )
    vectors = values.astype(np.float64)
    least, most = _range(vectors)
    rings = values.shape[-1] == 3 and -RINGING < least < -ROUNDING and most < 1.0 + RINGING
    if (least < -ROUNDING and not rings) or least > most:  # or there is none
        check_two(path, vectors)
        return _completed(vectors, "floats, as stored", 0.0, coded=False)
    if most > 1.0 + ROUNDING and not rings:
        raise FileError(
            f"{path} holds floats from {least:g} to {most:g}",
            expected="components between -1 and 1, or encoded between 0 and 1",
            remedy="Decode the values to vectors, or save them as integers",
        )
    # A flat wall (0, 0, 1) also lies within [0, 1]: the length tells vectors from colours.
    if values.shape[-1] == 3:
        sample = _sample(vectors)
        sample = sample[np.ptp(sample, axis=-1) > 0]  # a grey background tells nothing
        if sample.size and length_error(sample) <= length_error(2.0 * sample - 1.0):
            return Decoded(vectors, "floats, as stored", 0.0, coded=False)
    vectors *= 2.0
    vectors -= 1.0
    check_two(path, vectors)
    return _linear(vectors, "floats between 0 and 1, decoded as 2 * value - 1", 0.0)


def check_two(path: Path, vectors: FloatArray) -> None:
    """Raise FileError for two components that are not x and y of unit vectors."""
    if vectors.shape[-1] == 2 and not _within_circle(vectors):
        raise FileError(
            f"{path} has two channels, which are not x and y of unit vectors",
            expected="x^2 + y^2 <= 1, or a normal map with three components",
            remedy="Save x, y and z",
        )


def from_colours(values: npt.NDArray[Any]) -> FloatArray:
    """Vectors of integers, as most programs write them: value / top * 2 - 1."""
    vectors: FloatArray = values / int(np.iinfo(values.dtype).max)
    vectors *= 2.0  # in place: a map takes as much memory as it is large
    vectors -= 1.0
    return vectors


def _range(vectors: FloatArray) -> tuple[float, float]:
    """Least and most of the components of vectors (H, W, n) that are finite and not zero."""
    least, most = math.inf, -math.inf
    for row in vectors:  # a copy of all of them would take as much memory again
        told = row[np.isfinite(row).all(axis=-1) & row.any(axis=-1)]
        if told.size:
            least, most = min(least, float(told.min())), max(most, float(told.max()))
    return least, most


def _from_integers(values: npt.NDArray[Any], vectors: FloatArray) -> Decoded:
    top, bits = int(np.iinfo(values.dtype).max), 8 * values.dtype.itemsize
    step = 2.0 / top
    note = f"{bits}-bit, decoded as value / {top} * 2 - 1"
    decoded = _linear(vectors, note, step)
    if bits != 8 or decoded.vectors is not vectors or decoded.note != note:  # changed already
        return decoded
    offset, scale = _writer(vectors)
    if (offset, scale) == (0, 1.0):
        return decoded
    # In this order the value that stands for zero gives zero, and no plane on edge.
    np.subtract(values, 127.5, out=vectors)
    vectors -= offset / 2
    vectors /= 127.5 * scale
    return Decoded(vectors, WRITERS[offset, scale], step)


def _linear(vectors: FloatArray, note: str, step: float) -> Decoded:
    """Vectors of colours, where they are two components, or were stored with an sRGB curve."""
    if vectors.shape[-1] == 3 and unit_share(vectors) < 0.5:
        if unit_share(_straight(_sample(vectors))) > 0.8:
            for row in vectors:
                row[:] = _straight(row)
            return Decoded(vectors, f"{note} after inverting the sRGB curve", step)
        blue = vectors[..., 2][_is_coloured(vectors)]
        if blue.size and blue.min() == blue.max() and _within_circle(vectors):
            return _completed(vectors[..., :2], note, step)
    return _completed(vectors, note, step)


def _straight(vectors: FloatArray) -> FloatArray:
    """Vectors of colours, less the curve of sRGB."""
    colours = (vectors + 1.0) / 2.0
    curve = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return 2.0 * curve - 1.0


def _completed(vectors: FloatArray, note: str, step: float, *, coded: bool = True) -> Decoded:
    """Three components from two, or the three there are."""
    if vectors.shape[-1] == 3:
        return Decoded(vectors, note, step, coded)
    rest = 1.0 - np.einsum("...i,...i->...", vectors, vectors)
    whole = np.concatenate([vectors, np.sqrt(np.maximum(rest, 0.0))[..., None]], axis=-1)
    return Decoded(whole, f"{note}; two channels, z = sqrt(1 - x^2 - y^2) > 0", step, coded)


def _is_coloured(vectors: FloatArray) -> BoolArray:
    """Where components (..., n) of colours are not black."""
    coloured: BoolArray = np.any(vectors > -1.0, axis=-1)
    return coloured


def _within_circle(vectors: FloatArray) -> bool:
    """Whether the first two of components (..., n) vary, and may be x and y of unit vectors."""
    across = vectors[_is_coloured(vectors)][..., :2]
    if not across.size:
        return False
    within = np.einsum("...i,...i->...", across, across) < 1.0 + UNIT
    varies = np.nanmax(across, axis=0) - np.nanmin(across, axis=0) > UNIT
    return bool(varies.all() and np.mean(within) > 0.95)


def _writer(vectors: FloatArray) -> tuple[int, float]:
    """Offset in half steps and scale with which 8 bits were written: a key of `WRITERS`.

    |k n + b (1, 1, 1)|^2 = k^2 + 2 k b (n . (1, 1, 1)) + 3 b^2: a line over the sum of components.
    """
    sample = _sample(vectors)
    squared = np.einsum("ij,ij->i", sample, sample)
    unit = np.abs(squared - 1.0) < 2 * UNIT
    if np.count_nonzero(unit) < LEAST:
        return 0, 1.0
    total, squared = sample[unit].sum(axis=-1), squared[unit]
    if np.ptp(total) < 0.2 or np.unique(total).size < DISTINCT:
        return 0, 1.0
    (slope, constant), covariance = np.polyfit(total, squared, 1, cov=True)
    half_steps = float(slope) / 2 * 255
    unsure = math.sqrt(covariance[0, 0]) / 2 * 255
    noise = 3 * (2 / 255) ** 2 / 12
    scale = math.sqrt(max(float(constant) + 3 * (slope / 2) ** 2 - noise, 0.0))
    nearest = min(WRITERS, key=lambda key: abs(key[0] - half_steps) + 255 * abs(key[1] - scale))
    close = abs(nearest[0] - half_steps) < 0.35 and 255 * abs(nearest[1] - scale) < 0.5
    return nearest if close and unsure < 0.1 else (0, 1.0)


def unit_share(vectors: FloatArray) -> float:
    """Share of the vectors (..., 3) with a length near 1, among those that are no background."""
    length = _lengths(_sample(vectors))
    content = (length > SHORTEST) & (length < LONGEST)
    near = np.abs(length - 1.0) < UNIT
    return float(near.sum()) / max(float(content.sum()), 1.0)


def _sample(vectors: FloatArray) -> FloatArray:
    """Some of the vectors (..., 3) that are finite, as (N, 3)."""
    rows = vectors.reshape(-1, 3)
    rows = rows[:: max(1, len(rows) // SAMPLE)]
    finite: FloatArray = rows[np.isfinite(rows).all(axis=-1)]
    return finite


def _lengths(vectors: FloatArray) -> FloatArray:
    lengths: FloatArray = np.einsum("...i,...i->...", vectors, vectors)
    np.sqrt(lengths, out=lengths)
    return lengths


def length_error(vectors: FloatArray) -> float:
    """Median distance of the lengths of vectors (N, 3) from 1."""
    return float(np.median(np.abs(np.linalg.norm(vectors, axis=-1) - 1.0)))
