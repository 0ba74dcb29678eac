"""Points of one plane, seen on another one that is turned against it."""

from __future__ import annotations

import numpy as np

from rayrelief.conventions import FloatArray

# Beyond this the two sides of the horizon of a turned plane are not told apart by pixels.
FARTHEST = 1e8


@np.errstate(over="ignore", invalid="ignore")
def through_homography(
    homography: FloatArray, x: FloatArray, y: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Points (n,) of a plane after a homography (3, 3); NaN from its two horizons on.

    At one of them the plane goes to infinity; to the other one comes what is there already.
    """
    u, v, w = homography @ np.stack((x, y, np.ones_like(x)))
    w = np.where((w > 1 / FARTHEST) & (w < FARTHEST), w, np.nan)
    return u / w, v / w
