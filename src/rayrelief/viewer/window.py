"""Window: the part of an image that is shown, and every how many pixels of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, FloatArray


@dataclass(frozen=True)
class Window:
    """The part of the image that is shown: rows and columns, and every how many pixels of them."""

    rows: slice
    columns: slice
    stride: int

    @classmethod
    def around(cls, mask: BoolArray, longest_side: int) -> Window:
        """Bounding box of a mask (H, W) with a little margin, in at most so many samples."""
        spans = []
        for axis in (1, 0):
            inside = np.flatnonzero(mask.any(axis=axis))
            low, high = int(inside[0]), int(inside[-1]) + 1
            border = (high - low) // 40
            spans.append((max(0, low - border), min(mask.shape[1 - axis], high + border)))
        stride = -(-max(high - low for low, high in spans) // longest_side)
        rows, columns = (slice(*span, stride) for span in spans)
        return cls(rows, columns, stride)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of samples."""
        rows, columns = (
            len(range(side.start, side.stop, side.step)) for side in (self.rows, self.columns)
        )
        return rows, columns

    def samples(self, image: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Samples (h, w, ...) of an image (H, W, ...)."""
        return image[self.rows, self.columns]

    def largest(self, image: FloatArray) -> FloatArray:
        """(h, w): largest value between each sample and the next; NaN where there is none."""
        every = image[self.rows.start : self.rows.stop, self.columns.start : self.columns.stop]
        rows, columns = self.shape
        padded = np.full((rows * self.stride, columns * self.stride), np.nan)
        padded[: every.shape[0], : every.shape[1]] = every
        blocks = padded.reshape(rows, self.stride, columns, self.stride)
        values: FloatArray = np.fmax.reduce(np.fmax.reduce(blocks, axis=3), axis=1)
        return values
