"""A look at a map before its blocks: how its numbers stand for vectors, decided once for all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import FileError
from rayrelief.io.encoding import LEAST, RINGING, SAMPLE, Encoding, unit_share
from rayrelief.io.normals import grey_around
from rayrelief.large.layout import Window

SIDE = 64  # pixels of a window that is looked at
ACROSS = (7, 14, 28)  # windows along a side: more where the first ones show hardly anything
SURE = 0.8  # share of unit vectors that leaves no doubt


def spread(height: int, width: int, side: int, across: int) -> Iterator[Window]:
    """Windows all over a map: so many along each of its sides, or fewer that are all of it."""
    tops, lefts = (
        np.unique(np.linspace(0, max(0, n - side), across).astype(int)) for n in (height, width)
    )
    for top in tops.tolist():
        for left in lefts.tolist():
            yield slice(top, min(top + side, height)), slice(left, min(left + side, width))


def sample_of(array: Any) -> npt.NDArray[Any]:
    """Values (h, w, ...) of windows all over an array, one below the other; all of a small one."""
    height, width = array.shape[:2]
    if height * width <= SAMPLE:
        return np.asarray(array[slice(0, height), slice(0, width)])
    for across in ACROSS:
        found = np.concatenate([np.asarray(array[w]) for w in spread(height, width, SIDE, across)])
        if np.count_nonzero(_content(found)) >= LEAST:
            break
    return found


def check_alike(path: Path, values: npt.NDArray[Any], encoding: Encoding) -> None:
    """Raise FileError for a part (h, w, 3) of a map that speaks against what its samples said."""
    if values.dtype.kind != "f":
        return
    told = values[np.isfinite(values).all(axis=-1) & values.any(axis=-1)].astype(np.float64)
    if not told.size:
        return
    least, most = float(told.min()), float(told.max())
    if encoding.coded:
        agrees = least > -RINGING and most < 1.0 + RINGING
    else:
        varied = told[np.ptp(told, axis=-1) > 0]
        agrees = (
            least < 0.0
            or len(varied) < LEAST
            or unit_share(varied) > 1.0 - SURE
            or unit_share(2.0 * varied - 1.0) < SURE
        )
    if not agrees:
        raise FileError(
            f"a part of {path} holds floats from {least:g} to {most:g}; by samples of other parts "
            f"they are read as {encoding.note!r}",
            expected="vectors between -1 and 1, or all of them encoded between 0 and 1",
            remedy="Decode the values to vectors (2 * value - 1), and save these",
        )


def grey_of(array: Any) -> int | None:
    """Grey that all corners of an image have, which then is its background; None if they differ."""
    height, width = array.shape[:2]
    rows, columns = ([slice(0, 1), slice(n - 1, n)] for n in (height, width))
    corners = np.concatenate(
        [np.concatenate([np.asarray(array[r, c]) for c in columns], axis=1) for r in rows]
    )[..., :3]
    return int(corners[0, 0, 0]) if grey_around(corners).all() else None


def _content(values: npt.NDArray[Any]) -> Any:
    """Where (h, w) there is neither black nor grey."""
    return np.ptp(values[..., :3], axis=-1) > 0 if values.ndim == 3 else values > 0
