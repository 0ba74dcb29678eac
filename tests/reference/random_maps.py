"""Random masks, rays and normals to try the numerical core on."""

from __future__ import annotations

import numpy as np

from rayrelief.cameras.base import pixel_grid


def random_mask(
    rng: np.random.Generator, height: int, width: int, *, density: float = 0.7
) -> np.ndarray:
    """Pixels at random, at least one of them."""
    mask = rng.random((height, width)) < density
    mask[rng.integers(height), rng.integers(width)] = True
    return mask


def random_rays(
    rng: np.random.Generator, height: int, width: int, *, unit: bool = False
) -> np.ndarray:
    """Rays of a wobbly central camera with z = 1, or of unit length."""
    centre = np.array((width - 1, height - 1)) / 2 + rng.normal(size=2)
    focal = rng.uniform(0.8, 2.0, 2) * max(height, width)
    plane = (
        pixel_grid(height, width) - centre + rng.uniform(-0.2, 0.2, (height, width, 2))
    ) / focal
    rays = np.concatenate((plane, np.ones((height, width, 1))), axis=-1)
    return rays / np.linalg.norm(rays, axis=-1, keepdims=True) if unit else rays


def facing_normals(rng: np.random.Generator, rays: np.ndarray, spread: float = 0.5) -> np.ndarray:
    """Unit normals that face the camera, around the direction against the rays."""
    against = -rays / np.linalg.norm(rays, axis=-1, keepdims=True)
    normals = against + spread * rng.uniform(-1, 1, rays.shape) / np.sqrt(3)
    return normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def plane_depth(normal: np.ndarray, rays: np.ndarray, offset: float = -1.0) -> np.ndarray:
    """Depth along rays (..., 3) of the plane normal . p = offset."""
    return offset / (rays @ normal)
