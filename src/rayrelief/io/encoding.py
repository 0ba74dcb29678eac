"""How the numbers of a normal map stand for vectors: told by the lengths that they give."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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
STRAIGHT = 0.4  # share of vectors of unit length, less the curve of sRGB, in JPEG of any quality
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
PLAIN = (0, 1.0)
UNTOLD = "; whether the values were rounded or truncated when written, this map does not tell"


@dataclass(frozen=True)
class Encoding:
    """How the numbers of a map stand for vectors, once that is decided: for other parts of it, too.

    Attributes
    ----------
    note
        In words.
    step
        Of the components; 0 for floats.
    coded
        Whether they are colours: 0 stands for -1.
    unit
        Whether a length far from 1 is no normal. Vectors may be short, where they are means of
        others (but not from colours), but of unit vectors none is longer than 1.
    writer
        How 8 bits were written, a key of `WRITERS`.
    curve, two
        Whether the curve of sRGB is inverted, and whether z follows from x and y.
    """

    note: str
    step: float = 0.0
    coded: bool = True
    unit: bool = True
    writer: tuple[int, float] = PLAIN
    curve: bool = False
    two: bool = False

    def vectors(self, values: npt.NDArray[Any]) -> FloatArray:
        """Vectors (..., 3) from two or three channels, decoded as was decided."""
        if values.dtype.kind != "u":
            vectors = values.astype(np.float64)
            if self.coded:
                _spread(vectors)
        elif self.writer != PLAIN:
            vectors = np.empty(values.shape)
            _rewritten(values, self.writer, vectors)
        else:
            vectors = from_colours(values)
        if self.curve:
            vectors = _straight(vectors)
        return _with_z(vectors[..., :2]) if self.two else vectors


@dataclass(frozen=True, eq=False)
class Decoded:
    """Vectors (H, W, 3) of any length, and how they were decoded."""

    vectors: FloatArray
    encoding: Encoding

    @property
    def far_from_unit(self) -> BoolArray:
        """Where there is no normal: the colours black, white, grey, and what lies between."""
        far: BoolArray = np.zeros(self.vectors.shape[:2], np.bool_)
        if not self.encoding.unit:
            return far
        with np.errstate(invalid="ignore"):
            for row, vectors in zip(far, self.vectors, strict=True):  # all lengths take memory
                length = _lengths(vectors)
                row[:] = (length > LONGEST) | (self.encoding.coded & (length < SHORTEST))
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
        return _completed(vectors, _stored(vectors))
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
            return Decoded(vectors, _stored(vectors))
    _spread(vectors)
    check_two(path, vectors)
    return _linear(vectors, Encoding("floats between 0 and 1, decoded as 2 * value - 1"))


def _stored(vectors: FloatArray) -> Encoding:
    """Floats that are components; whether all are of unit length shows in the lengths."""
    some = vectors[:: max(1, vectors.shape[0] * vectors.shape[1] // SAMPLE)]
    unit = vectors.shape[-1] == 2 or unit_share(some) >= 0.5
    return Encoding("floats, as stored", coded=False, unit=unit)


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
    _spread(vectors)
    return vectors


def _spread(vectors: FloatArray) -> None:
    """Turn 0 ... 1 into -1 ... 1, in place: a map takes as much memory as it is large."""
    vectors *= 2.0
    vectors -= 1.0


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
    plain = Encoding(f"{bits}-bit, decoded as value / {top} * 2 - 1", 2.0 / top)
    decoded = _linear(vectors, plain)
    if bits != 8 or decoded.encoding != plain:  # changed already
        return decoded
    writer = _writer(vectors)
    if writer is None:
        return Decoded(vectors, replace(plain, note=plain.note + UNTOLD))
    if writer == PLAIN:
        return decoded
    _rewritten(values, writer, vectors)
    return Decoded(vectors, replace(plain, note=WRITERS[writer], writer=writer))


def _rewritten(values: npt.NDArray[Any], writer: tuple[int, float], vectors: FloatArray) -> None:
    """Put vectors of 8 bits that were written in one of `WRITERS` in the place of others."""
    offset, scale = writer
    # In this order the value that stands for zero gives zero, and no plane on edge.
    np.subtract(values, 127.5, out=vectors)
    vectors -= offset / 2
    vectors /= 127.5 * scale


def _linear(vectors: FloatArray, encoding: Encoding) -> Decoded:
    """Vectors of colours, where they are two components, or were stored with an sRGB curve."""
    if vectors.shape[-1] == 3 and (plain := unit_share(vectors)) < 0.5:
        blue = vectors[..., 2][_is_coloured(vectors)]
        if blue.size and blue.min() == blue.max() and _within_circle(vectors):
            return _completed(vectors[..., :2], encoding)
        sample = _sample(vectors)
        coloured = sample[np.ptp(sample, axis=-1) > UNIT]  # grey, less the curve, has length 1
        brighter = coloured.size and np.median(_lengths(coloured)) > 1.0  # which means never are
        if brighter and unit_share(_straight(coloured)) > max(STRAIGHT, 2 * plain):
            for row in vectors:
                row[:] = _straight(row)
            note = f"{encoding.note} after inverting the sRGB curve"
            return Decoded(vectors, replace(encoding, note=note, curve=True))
    return _completed(vectors, encoding)


def _straight(vectors: FloatArray) -> FloatArray:
    """Vectors of colours, less the curve of sRGB."""
    colours = (vectors + 1.0) / 2.0
    curve = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return 2.0 * curve - 1.0


def _completed(vectors: FloatArray, encoding: Encoding) -> Decoded:
    """Three components from two, or the three there are."""
    if vectors.shape[-1] == 3:
        return Decoded(vectors, encoding)
    note = f"{encoding.note}; two channels, z = sqrt(1 - x^2 - y^2) > 0"
    return Decoded(_with_z(vectors), replace(encoding, note=note, two=True))


def _with_z(vectors: FloatArray) -> FloatArray:
    """Three components (..., 3) of unit vectors from x and y."""
    rest = 1.0 - np.einsum("...i,...i->...", vectors, vectors)
    return np.concatenate([vectors, np.sqrt(np.maximum(rest, 0.0))[..., None]], axis=-1)


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


def _writer(vectors: FloatArray) -> tuple[int, float] | None:
    """Offset in half steps and scale with which 8 bits were written: a key of `WRITERS`, or None.

    |k n + b (1, 1, 1)|^2 = k^2 + 2 k b (n . (1, 1, 1)) + 3 b^2: a line over the sum of components.
    """
    sample = _sample(vectors)
    squared = np.einsum("ij,ij->i", sample, sample)
    unit = np.abs(squared - 1.0) < 2 * UNIT
    total, squared = sample[unit].sum(axis=-1), squared[unit]
    if total.size < LEAST or np.ptp(total) < 0.2 or np.unique(total).size < DISTINCT:
        return None
    (slope, constant), covariance = np.polyfit(total, squared, 1, cov=True)
    half_steps = float(slope) / 2 * 255
    unsure = math.sqrt(covariance[0, 0]) / 2 * 255
    noise = 3 * (2 / 255) ** 2 / 12
    scale = math.sqrt(max(float(constant) + 3 * (slope / 2) ** 2 - noise, 0.0))
    nearest = min(WRITERS, key=lambda key: abs(key[0] - half_steps) + 255 * abs(key[1] - scale))
    close = abs(nearest[0] - half_steps) < 0.35 and 255 * abs(nearest[1] - scale) < 0.5
    return nearest if close and unsure < 0.1 else None


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
