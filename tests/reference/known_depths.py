"""What is known of the scenes of the gallery, and how results compare with it."""

from __future__ import annotations

import numpy as np

import rayrelief
from rayrelief import BiNI, Ordered, RayPlane, Smooth
from rayrelief.prior import PriorFit

METHODS = [RayPlane(), BiNI(), Smooth(), Ordered()]


def some_depths(scene: rayrelief.Scene, count: int, seed: int = 0) -> np.ndarray:
    """True depths at a few random pixels."""
    chosen = np.random.default_rng(seed).choice(np.flatnonzero(scene.mask), count, replace=False)
    depth = np.full(scene.mask.shape, np.nan)
    depth.flat[chosen] = true_depth(scene).flat[chosen]
    return depth


def true_depth(scene: rayrelief.Scene) -> np.ndarray:
    """Depth of a scene of the gallery, which has one."""
    assert scene.depth is not None
    return scene.depth


def fit_of(result: rayrelief.Integration) -> PriorFit:
    """How the known depths agree with a surface that has some."""
    assert result.prior is not None
    return result.prior


def error(result: rayrelief.Integration, scene: rayrelief.Scene) -> float:
    """Mean absolute error over the mean depth, without any alignment."""
    return float(
        np.nanmean(np.abs(result.depth - true_depth(scene))) / np.nanmean(np.abs(true_depth(scene)))
    )
