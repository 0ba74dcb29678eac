"""Colours of depth and error."""

from __future__ import annotations

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.evaluation.metrics import error_map
from rayrelief.result import Integration
from rayrelief.viewer.sheet import ColourScale, colour_table


def depth_scale(result: Integration) -> ColourScale:
    """Colours of the depth of a result, from near to far."""
    low, high = np.percentile(result.depth[result.mask], (1, 99))
    return ColourScale(colour_table("viridis"), float(low), float(high), ("near", "far"))


def error_of(result: Integration, truth: FloatArray) -> FloatArray:
    """Error (H, W) in the unit of the depth: the truth is aligned with it; NaN where unknown."""
    return error_map(truth, result.depth, "scale" if result.camera.central else "shift")


def error_scale(error: FloatArray) -> ColourScale:
    """Colours of an error (H, W), from none on."""
    most = float(np.percentile(error[np.isfinite(error)], 99))
    return ColourScale(colour_table("magma", 255, 0), 0.0, most)
