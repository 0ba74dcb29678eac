"""Whether colours are normals at all, or those of a photo: told by the lengths of their vectors."""

from __future__ import annotations

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.io.encoding import SAMPLE, UNIT, length_error, unit_share

# Of normal maps, 0.4 and more of the vectors have a length near 1, also where each is the mean of
# 8 x 8 normals; of photos up to 0.27.
LIKE = 0.3
# Means are shorter than 1, but not by so much on average, and hardly any is longer.
UNLIKE, LONGER = 0.2, 0.1


def picture_told(vectors: FloatArray, mask: BoolArray) -> str:
    """Why vectors (H, W, 3) of colours are no normals where the mask is; empty if they may be."""
    rows = np.s_[:: max(1, mask.size // SAMPLE)]
    inside = vectors[rows][mask[rows]]
    inside = inside[np.isfinite(inside).all(axis=-1)]
    share = unit_share(inside)
    if not len(inside) or share >= LIKE:
        return ""
    lengths = np.linalg.norm(inside, axis=-1)
    if length_error(inside) <= UNLIKE and np.mean(lengths > 1.0 + UNIT) <= LONGER:
        return ""
    low, high = np.quantile(lengths, (0.1, 0.9))
    return (
        f"only {100 * share:.0f} % of its vectors have a length near 1 (most between {low:.2g} and "
        f"{high:.2g}), where nearly all of a normal map have"
    )
