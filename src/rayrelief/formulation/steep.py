"""Steep normals: where normals are noisy, those seen nearly edge-on are turned to what is credible.

Of a plane seen at less than the noise from its edge nobody knows whether its slope is 10 or 1000.
What such a pixel says weighs next to nothing, but at a rim nothing else is said about its place.
"""

from __future__ import annotations

import math

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.formulation.edge_equations import dot

LARGEST = 0.5  # cosine: what is flatter than 60 degrees is believed, however large the noise
RIM = 0.25  # share of the normals that may be steep: where more are, it is no rim that is wrong


def less_steep(
    normals: FloatArray, rays: FloatArray | None, noise: float
) -> tuple[FloatArray, int]:
    """Unit normals (N, 3) that face the camera by the noise (radians) at least, where they face it.

    Second, how many were turned. Of unit rays (N, 3), or of parallel ones along the axis. Normals
    that may be written are replaced in place.
    """
    least = min(noise, LARGEST)
    facing = -(normals[:, 2] if rays is None else dot(normals, rays))
    steep = np.flatnonzero((facing > 0.0) & (facing < least))
    if not 0 < steep.size <= RIM * len(normals):
        return normals, 0
    towards = np.array([[0.0, 0.0, -1.0]]) if rays is None else -rays[steep]
    across = normals[steep] - facing[steep, None] * towards
    across *= math.sqrt(1.0 - least**2) / np.sqrt(dot(across, across))[:, None]
    normals = normals if normals.flags.writeable else normals.copy()
    normals[steep] = across + least * towards
    return normals, steep.size
