"""Whether colours are those of normals, or of a photo: told by the lengths of their vectors."""

from __future__ import annotations

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.io.encoding import LEAST, SAMPLE, UNIT, length_error, unit_share

# Of normal maps 0.4 and more of the vectors have a length near 1, also where each is the mean of
# 8 x 8 normals or compressed hard; of photos up to 0.35.
LIKE = 0.3
# Means are shorter than 1, but not by so much on average, and hardly any is longer.
SHORT, LONGER = 0.2, 0.1


def unlike_normals(vectors: FloatArray, mask: BoolArray) -> str:
    """What speaks against vectors (H, W, 3) of colours being normals; empty if nothing does."""
    inside = np.flatnonzero(mask)
    some = vectors.reshape(-1, 3)[inside[:: max(1, inside.size // SAMPLE)]]
    some = some[np.isfinite(some).all(axis=-1)]
    share = unit_share(some)
    if len(some) < LEAST or share >= LIKE:
        return ""
    lengths = np.linalg.norm(some, axis=-1)
    is_longer = bool(np.mean(lengths > 1.0 + UNIT) > LONGER)
    if not is_longer and length_error(some) <= SHORT:
        return ""
    low, high = np.quantile(lengths, (0.1, 0.9))
    return (
        f"only {100 * share:.0f} % of the vectors have a length near 1 (most are {low:.2g} to "
        f"{high:.2g} long), as of "
        + ("the colours of a photo" if is_longer else "normals that were averaged or weighted")
    )
