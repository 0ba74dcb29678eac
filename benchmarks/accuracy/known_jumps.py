"""The oracle of Table 2: RayPlane that is told the discontinuities of the true depth."""

from __future__ import annotations

import rayrelief
from rayrelief.conventions import FloatArray
from rayrelief.methods.base import Method


def knowing_jumps(depth: FloatArray, iterations: int = 150) -> Method:
    """The published method with the jumps of a true depth (H, W) along the rays of its camera."""
    return rayrelief.RayPlane.published(iterations, known_depth=depth)
