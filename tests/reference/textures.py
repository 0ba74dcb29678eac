"""A texture that repeats, with its true depth."""

from __future__ import annotations

import numpy as np

from rayrelief.conventions import FloatArray


def texture(height: int, width: int) -> tuple[FloatArray, FloatArray]:
    """Depth (H, W) in pixels of waves that repeat, and their normals (H, W, 3), in closed form."""
    v, u = np.mgrid[:height, :width].astype(np.float64)
    a, b = 2 * np.pi * u / width, 2 * np.pi * v / height
    depth = 3 * np.sin(a) + 2 * np.cos(2 * b) + 1.5 * np.sin(a + b + 1) + 0.5 * np.cos(3 * a - b)
    du = 3 * np.cos(a) + 1.5 * np.cos(a + b + 1) - 1.5 * np.sin(3 * a - b)
    dv = -4 * np.sin(2 * b) + 1.5 * np.cos(a + b + 1) + 0.5 * np.sin(3 * a - b)
    slopes = du * 2 * np.pi / width, dv * 2 * np.pi / height
    normals = np.stack((*slopes, -np.ones_like(depth)), axis=-1)
    return depth, normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def in_8_bits(normals: FloatArray) -> FloatArray:
    """Normals as a file with 8 bits stores them, cut off instead of rounded, decoded plainly."""
    values = np.floor((normals + 1) / 2 * 255)
    decoded: FloatArray = values / 255 * 2 - 1
    return decoded
