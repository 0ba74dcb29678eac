"""Levels of half the size, of results that programs show at any scale, and sides of their tiles."""

from __future__ import annotations

import numpy as np

from rayrelief.conventions import SingleArray

TILE = 256  # pixels along a side, of TIFF and EXR


def halved(image: SingleArray) -> SingleArray:
    """Mean of 2 x 2 pixels, of those that have a value."""
    height, width = image.shape
    padded = np.pad(image, ((0, height % 2), (0, width % 2)), constant_values=np.nan)
    blocks = padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2)
    found = np.isfinite(blocks)
    count = found.sum(axis=(1, 3))
    total = np.where(found, blocks, 0.0).sum(axis=(1, 3), dtype=np.float64)
    mean: SingleArray = np.divide(
        total, count, out=np.full(count.shape, np.nan), where=count > 0
    ).astype(np.float32)
    return mean
